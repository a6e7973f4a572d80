#!/bin/bash
# A real systemd user manager in name spaces of its own: it sees its own processes only, and none of this machine's units run. Called by
# systemd-session.ts as `systemd-session.sh NAME`; says "ready" when the manager answers, and runs until it is killed.
set -euo pipefail
name=$1

# A control group of its own for everything below. Where each controller has its own tree, only systemd's is left to be seen.
if [ -d /sys/fs/cgroup/systemd ]; then
  mkdir "/sys/fs/cgroup/systemd/$name"
  echo 0 > "/sys/fs/cgroup/systemd/$name/cgroup.procs"
  mkdir /tmp/"$name"
  mount --bind /sys/fs/cgroup/systemd /tmp/"$name"
  mount -t tmpfs tmpfs /sys/fs/cgroup
  mkdir /sys/fs/cgroup/systemd
  mount --move /tmp/"$name" /sys/fs/cgroup/systemd
  rmdir /tmp/"$name"
else
  here=/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)
  mkdir "$here/$name"
  echo 0 > "$here/$name/cgroup.procs"
fi

mount -t tmpfs tmpfs /run
mkdir -p /run/systemd/system /run/systemd/user "$XDG_RUNTIME_DIR"
chmod 700 "$XDG_RUNTIME_DIR"
ln -s /dev/null /run/systemd/user/dbus.socket # no message bus: nothing is started on demand

/lib/systemd/systemd --user > /dev/null 2>&1 &
until systemctl --user is-system-running 2> /dev/null | grep -Eq 'running|degraded'; do
  kill -0 $! # it ended: so does this
  sleep 0.1
done
echo ready
wait
