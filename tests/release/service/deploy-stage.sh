# The stage of tests/docs/deploy.test.ts: runs the commands of the page in FOLDER/commands, server and publisher on one machine. What they say
# comes out after a line with the command. Programs that the page expects, and that cannot run here, are played by functions.
folder=$1 wispr=$2 units=$3
set -e
ip link set lo up
echo 127.0.0.1 localhost news.example keys.news.example read.news.example pages.news.example > "$folder/hosts"
mount --bind "$folder/hosts" /etc/hosts
{ grep -v '^wispr:' /etc/passwd; echo wispr:x:997:997::/var/lib/wispr:/usr/sbin/nologin; } > "$folder/passwd"
mount --bind "$folder/passwd" /etc/passwd
chmod 755 "$folder"
for place in /srv /etc/wispr /etc/systemd/system /var/lib/wispr /var/lib/caddy /etc/caddy /var/backups; do
  mkdir -p "$place"
  mount -t tmpfs -o mode=755 none "$place"
done
install -d -o 997 /var/backups/wispr
chown 997:997 /var/lib/wispr
cp "$folder/keyserver.json" /etc/wispr/
ln -s /etc/wispr/keyserver.json /var/lib/wispr/
mkdir "$folder/bin"
export PATH="$folder/bin:$PATH" PASSPHRASE="$folder/passphrase"
(umask 077; echo 'correct horse battery staple' > "$PASSPHRASE")

# What is told of a host is done here.
cat > "$folder/bin/ssh" << 'END'
#!/bin/sh
while case $1 in -l) shift;; root@*|*.example) shift; false;; esac; do shift; done
exec sh -c "$*"
END
cat > "$folder/bin/scp" << 'END'
#!/bin/sh
exec cp "${1#*:}" "${2#*:}"
END
cat > "$folder/bin/sudo" << 'END'
#!/bin/sh
shift 2
exec setpriv --reuid 997 --regid 997 --clear-groups env HOME=/var/lib/wispr "$@"
END
# Caddy is its own certificate authority; and no unit can be started: the commands of two are run.
cat > "$folder/bin/systemctl" << END
#!/bin/bash
unit() { sed -n "s|^ExecStart=/usr/bin/wispr|$wispr|p" "$units/\$1.service"; }
case "\$*" in
  daemon-reload) exit ;;
  'start wispr-keyserver') cd /var/lib/wispr; umask 077; sudo -u wispr \$(unit wispr-keyserver) > "$folder/keyserver.log" 2>&1 & exit ;;
  'start wispr-backup') cd /var/lib/wispr; umask 077; sudo -u wispr \$(unit wispr-backup); exit ;;
esac
printf '%s\n' "\$(sed 's/^\tadmin off/&\n\tlocal_certs\n\tskip_install_trust/' /etc/caddy/Caddyfile)" > /etc/caddy/Caddyfile
cat "$folder/front" >> /etc/caddy/Caddyfile
HOME=/var/lib/caddy caddy run --adapter caddyfile --config /etc/caddy/Caddyfile > "$folder/caddy.log" 2>&1 &
for try in \$(seq 100); do
  sleep 0.2
  cp /var/lib/caddy/storage/pki/authorities/local/root.crt "$folder/root.crt" 2> /dev/null &&
    curl -sf --cacert "$folder/root.crt" https://keys.news.example/healthz > /dev/null && exit
done
cat "$folder/caddy.log"
exit 1
END
cat > "$folder/bin/curl" << END
#!/bin/sh
exec /usr/bin/curl --cacert "$folder/root.crt" "\$@"
END
cat > "$folder/bin/wispr" << END
#!/bin/sh
case "\$1 \$2" in
  init*|protect*|publish*) exec "$wispr" "\$@" --passphrase-file "$PASSPHRASE" ;;
esac
exec "$wispr" "\$@"
END
for program in apt-get; do ln -s /bin/true "$folder/bin/$program"; done
chmod 755 "$folder"/bin/*
export NODE_EXTRA_CA_CERTS="$folder/root.crt"

mkdir "$folder/reader"
cd "$folder/publisher"
exec 2>&1
while IFS= read -r line; do
  case $line in
    '# server') cd /var/lib/wispr ;;
    '# publisher') cd "$folder/publisher" ;;
    *'&&'|*' \') lines="$lines$line
" ;;
    *)
      echo "+ ${line:-}"
      eval "$lines$line"
      lines=''
      ;;
  esac
  case $line in '(umask'*) sed -i 's|^{|{ "keyServerTokenFile": "token",|' wispr.json ;; esac
done < "$folder/commands"
echo '+ wispr verify https://news.example/'
wispr verify https://news.example/
link=$(ssh root@news.example 'cd /var/lib/wispr && sudo -u wispr wispr invite ben --json' | sed 's/.*"link":"\([^"]*\)".*/\1/')
echo '+ wispr bind'
wispr bind "$link" --yes --allow-local 127.0.0.1 --data "$folder/reader" --key-file "$folder/reader/key"
echo '+ ls'
ls -l /var/backups/wispr /srv/news/.well-known/wispr
