#!/bin/sh
# with_compiled.sh WINDLASS FOLDER BUNDLE CHANGED PROGRAM…
#
# Runs PROGRAM where Debian's bundle is a copy of BUNDLE and has been compiled into /var/cache/windlass. If CHANGED is
# not "-", the bundle has it as its content by then. To be run in a mount namespace of its own.
set -eu
windlass=$1 folder=$2 bundle=$3 changed=$4
shift 4
unset WINDLASS_STORE
(
    unset LD_PRELOAD
    mount -t tmpfs -o mode=755 none /var/cache
    cp "$bundle" "$folder/live.pem"
    mount --bind "$folder/live.pem" /etc/ssl/certs/ca-certificates.crt
    "$windlass" compile >/dev/null
    if [ "$changed" != - ]; then cat "$changed" >"$folder/live.pem"; fi
)
exec "$@"
