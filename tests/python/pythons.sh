#!/bin/sh
# All cases of tests/python, and all of CPython's own tests of modules that use TLS, in every interpreter:
#
# - those of Debian's releases, each in a minimal system with its own OpenSSL and C library;
# - a free-threaded one, and one with OpenSSL linked in, which build.sh makes.
#
#   tests/python/pythons.sh                      all of them
#   tests/python/pythons.sh trixie free          these
#   tests/python/pythons.sh bullseye -- gunicorn    the cases whose name contains "gunicorn", there
#
# Needs root. The systems run from a tmpfs in a mount namespace of their own; their archives, and the built
# interpreters, stay under target/pythons (WINDLASS_TEST_TARGET names another folder than target).
set -eu
cd "$(dirname "$0")/../.."
root=$(pwd -P)
target=$(realpath "${CARGO_TARGET_DIR:-target}")
kept=$(realpath -m "${WINDLASS_TEST_TARGET:-target}")/pythons

all="bullseye:3.9 bookworm:3.11 trixie:3.13 forky:3.14 free static"
wanted=
while [ $# -gt 0 ] && [ "$1" != -- ]; do
    wanted="$wanted $1"
    shift
done
[ $# = 0 ] || shift
[ "$(id -u)" = 0 ] || {
    echo "pythons.sh: making Debian systems needs root" >&2
    exit 1
}

harness="/usr/bin/python3 -B $root/tests/python/harness/main.py --wheels $target/wheels --pythons $kept
    --library $target/release/libwindlass_preload.so --own-tests"

# A shell in a namespace of its own; what it mounts is gone with it.
in_suite() { # archive, case...
    archive=$1
    shift
    unshare --mount --pid --fork --kill-child --propagation private sh -ec '
        archive=$1 root=$2 target=$3 kept=$4 harness=$5
        shift 5
        place=$(mktemp -d)
        mount -t tmpfs -o mode=755 tmpfs "$place"
        tar --numeric-owner --xattrs -xf "$archive" -C "$place"
        for folder in "$root" "$target" "$kept" /dev; do
            mkdir -p "$place$folder"
            mount --rbind "$folder" "$place$folder"
        done
        mount -t proc proc "$place/proc"
        echo "127.0.0.1 localhost" >"$place/etc/hosts"
        status=0
        env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 HOME=/root \
            chroot "$place" $harness "$@" || status=1
        umount -l "$place"
        rmdir "$place"
        exit $status' sh "$archive" "$root" "$target" "$kept" "$harness" "$@"
}

/usr/bin/python3 -B python/build.py "$target/release/libwindlass_preload.so" "$target/wheels" >/dev/null
failed=
for one in $all; do
    name=${one%:*}
    case " ${wanted:-$name} " in
    *" $name "*) ;;
    *) continue ;;
    esac
    echo "== $name"
    case $one in
    *:*)
        archive=$(tests/python/suite.sh "$name" "${one#*:}")
        in_suite "$archive" "$@" || failed="$failed $name"
        ;;
    *)
        tests/python/build.sh all
        # shellcheck disable=SC2086
        env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 HOME=/root \
            $harness --python "$kept/$name/bin/python3" "$@" || failed="$failed $name"
        ;;
    esac
done
[ -z "$failed" ] || {
    echo "pythons.sh: FAIL:$failed" >&2
    exit 1
}
