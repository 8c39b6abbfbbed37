#!/bin/sh
# The Debian package in a minimal Debian root: installed, used, removed, purged, with the tree compared; `windlass
# install` there, and the commands of docs/containers.md. Units and services in the same with systemd as process 1.
#
#   tests/packaging/run.sh                  all cases
#   tests/packaging/run.sh purge kill       the cases whose name contains one of these
#   tests/packaging/run.sh --prove          that the tests can fail: broken packages must be noticed
#
# Needs root. Everything happens in a mount namespace of its own and on a tmpfs, so that nothing is left on this machine
# but the base systems, which are kept as archives under target/packaging. CARGO_TARGET_DIR names another build than
# target/.
set -eu
cd "$(dirname "$0")/../.."

if [ "$(id -u)" != 0 ]; then
    echo "skipped: installing packages into a root directory needs root"
    echo "packaging: 0 passed, 0 failed"
    exit 0
fi
target=$(realpath "${CARGO_TARGET_DIR:-target}")
base=$(tests/packaging/base.sh "$target/packaging")
bootable=$(tests/packaging/base.sh "$target/packaging" systemd)
trust=$(tests/packaging/base.sh "$target/packaging" trust)
# A compiler for 32 bits is a package of Debian's amd64.
others=
[ "$(dpkg --print-architecture)" != amd64 ] || others=$(tests/packaging/base.sh "$target/packaging" others)
exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 HOME=/root \
    CARGO_TARGET_DIR="$target" WINDLASS="${WINDLASS:-}" WINDLASS_PRELOAD_LIBRARY="${WINDLASS_PRELOAD_LIBRARY:-}" \
    WINDLASS_TRACE_LIBRARY="${WINDLASS_TRACE_LIBRARY:-}" WINDLASS_PKCS11_LIBRARY="${WINDLASS_PKCS11_LIBRARY:-}" \
    unshare --mount --pid --fork --mount-proc --propagation private \
    /usr/bin/python3 -B tests/packaging/harness/main.py --base "$base" --bootable "$bootable" \
        --trust "$trust" --others "$others" "$@"
