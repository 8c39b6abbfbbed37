#!/bin/sh
# Runs a command where the machine's default sources have been compiled into /var/cache/windlass, or where there is no
# such directory, whatever the machine has. Both in a mount namespace: nothing changes on the machine.
#
#   tests/stores.sh with make test-top
#   tests/stores.sh without tests/e2e/run.sh python
#
# As root. Other users get the machine's own state, and a line that says so. WINDLASS names another command than that of
# the release build.
set -eu
how=$1
shift
if [ "$how" != inside ]; then
    here=$(cd "$(dirname "$0")" && pwd)
    case $how in
    with) windlass=${WINDLASS:-${CARGO_TARGET_DIR:-target}/release/windlass} ;;
    without) [ -e /var/cache/windlass ] || exec "$@"; windlass= ;;
    *) echo "stores.sh: '$how' is neither with nor without" >&2; exit 2 ;;
    esac
    if [ "$(id -u)" != 0 ]; then
        echo "stores.sh: only root can run it $how compiled stores: with those of this machine, if it has any" >&2
        exec "$@"
    fi
    exec unshare --mount --propagation private "$here/stores.sh" inside "$windlass" "$@"
fi
windlass=$1
shift

# All of /var/cache but the stores, in a directory in memory.
old=$(mktemp -d)
mount --rbind /var/cache "$old"
mount -t tmpfs -o mode=755 tmpfs /var/cache
for entry in "$old"/* "$old"/.[!.]*; do
    name=${entry##*/}
    [ "$name" != windlass ] || continue
    if [ -L "$entry" ]; then
        cp -P "$entry" "/var/cache/$name"
    elif [ -d "$entry" ]; then
        mkdir "/var/cache/$name"
        mount --rbind "$entry" "/var/cache/$name"
    elif [ -f "$entry" ]; then
        : >"/var/cache/$name"
        mount --bind "$entry" "/var/cache/$name"
    fi
done
umount -R -l "$old"
rmdir "$old"
[ -z "$windlass" ] || env -u WINDLASS_STORE -u LD_PRELOAD "$windlass" compile >/dev/null
exec "$@"
