# Publishes from a CI service, with the keys in a private bucket. Variables:
#   STATE        a PRIVATE bucket for publisher.keys and publisher.db, such as s3://news-example-state; never the one with the site
#   PASSPHRASE   of publisher.keys
#   TOKEN        of your key server, where there is one; "keyServerTokenFile" in wispr.json is "secrets/token"
#   COMMAND      publish, if left out; or rollback, withdraw
#   ALLOW_REMOVAL "yes" for the one run after which many documents are to be gone
#   AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION   for both buckets
#
# Once, from the machine where you ran "wispr init":  aws s3 cp publisher.keys s3://news-example-state/
# root.keys stays with you. Never put it here.
set -eu
umask 077

save() {
  for file in publisher.keys publisher.db; do
    [ ! -f "$file" ] || aws s3 cp --only-show-errors "$file" "$STATE/$file" || return 1
  done
}

aws s3 cp --only-show-errors --recursive "$STATE" . --exclude '*' --include publisher.keys --include publisher.db
trap 'code=$?; save || code=1; rm -rf secrets publisher.keys; exit $code' EXIT
trap 'exit 1' INT TERM

# Files, not arguments: every process of the machine can see those.
mkdir secrets
printf '%s' "$PASSPHRASE" > secrets/passphrase
[ -z "${TOKEN-}" ] || printf '%s' "$TOKEN" > secrets/token

case "${COMMAND:-publish}" in
publish)
  # The keys of new sets are saved before anything is encrypted under them that readers can see.
  wispr protect ${ALLOW_REMOVAL:+--allow-removal} --passphrase-file secrets/passphrase
  save
  wispr publish --passphrase-file secrets/passphrase
  ;;
rollback | withdraw) wispr "$COMMAND" --yes --passphrase-file secrets/passphrase ;;
*) echo "COMMAND is publish, rollback or withdraw" >&2 && exit 2 ;;
esac
