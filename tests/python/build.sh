#!/bin/sh
# Builds Pythons that Debian has no package of, from Debian's sources, under target/pythons/:
#
# module/   the module _ssl of /usr/bin/python3 with OpenSSL linked in statically, its functions hidden
# static/   an interpreter with _ssl and OpenSSL linked in, as those of python-build-standalone that uv installs
# free/     an interpreter without the global lock ("free-threaded")
#
#   tests/python/build.sh         module: some seconds
#   tests/python/build.sh all     all of them: some minutes
#
# apt fetches the sources into target/pythons and checks their signatures; nothing is installed. A finished build leaves
# a stamp that names its inputs; a second call does nothing. With WINDLASS_TEST_TARGET (default: target) the output goes
# elsewhere, JOBS (default: 2) is the number of compilers.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
out=${WINDLASS_TEST_TARGET:-$root/target}/pythons
jobs=${JOBS:-2}
. "$here/../debian.sh"

# What the result depends on: a change of any of it builds again.
fingerprint() {
    cksum <"$here/build.sh"
    cc --version | head -n 1
    /usr/bin/python3 --version
    dpkg-query -W libssl-dev
}

build_module() {
    name=$(/usr/bin/python3 -c 'import sys; print("python%d.%d" % sys.version_info[:2])')
    lists deb-src "$(. /etc/os-release && echo "$VERSION_CODENAME")"
    unpack "$name" "$out/source"
    mkdir "$out/module"
    cc -shared -fPIC -O1 -w -DPy_BUILD_CORE_MODULE $(python3-config --includes) \
        -I"$(python3-config --includes | sed 's/^-I\([^ ]*\).*/\1/')/internal" "$out/source/Modules/_ssl.c" \
        -o "$out/module/_ssl$(python3-config --extension-suffix)" \
        -l:libssl.a -l:libcrypto.a -Wl,--exclude-libs,libssl.a:libcrypto.a
}

# The newest 3.14 or 3.13 that can be fetched: an archive's lists may name a version that is gone. Without Debian's
# patches: one of them gives a free-threaded interpreter no site-packages.
source_of_interpreters() {
    lists deb-src sid forky trixie
    for version in $(apt apt-cache showsrc python3.14 python3.13 | sed -n 's/^Version: //p' | sort -V -r); do
        case $version in
        3.14.*) unpack "python3.14=$version" "$out/source" --skip-patches && return ;;
        3.13.*) unpack "python3.13=$version" "$out/source" --skip-patches && return ;;
        esac
    done
    return 1
}

interpreter() { # name, option of configure...
    name=$1
    shift
    make -s -C "$out/source" distclean >/dev/null 2>&1 || true
    [ "$name" != static ] || printf '%s\n' '*static*' \
        '_ssl _ssl.c -l:libssl.a -l:libcrypto.a -Wl,--exclude-libs,libssl.a:libcrypto.a' \
        >"$out/source/Modules/Setup.local"
    # -O1 halves the time to compile; what is tested are results.
    (cd "$out/source" && ./configure --prefix="$out/$name" CFLAGS=-O1 --with-ensurepip=no "$@" &&
        make -j"$jobs" && make -j"$jobs" install)
    rm -f "$out/source/Modules/Setup.local"
}

build_static() {
    interpreter static
}

build_free() {
    interpreter free --disable-gil
}

finished() { # name
    [ -f "$out/$1/stamp" ] && [ "$(cat "$out/$1/stamp")" = "$(fingerprint)" ]
}

# In a process of its own: `set -e` does nothing in a function whose result is asked for.
case ${2:-} in
only)
    "build_$1"
    fingerprint >"$out/$1/stamp"
    exit
    ;;
fetch)
    source_of_interpreters
    exit
    ;;
esac

make_it() { # name, argument
    "$0" "$1" "$2" >"$out/$1.log" 2>&1 || {
        echo "build.sh: FAIL: $1; the end of $out/$1.log:" >&2
        tail -n 20 "$out/$1.log" >&2
        return 1
    }
}

mkdir -p "$out"
finished module || { rm -rf "$out/module" && make_it module only; }
[ "${1:-}" = all ] || exit 0
finished static && finished free && exit 0
make_it source fetch
for name in static free; do
    finished $name || { rm -rf "${out:?}/$name" && make_it $name only; }
    "$out/$name/bin/python3" -VV
done
rm -rf "$out/source" "$out/apt" "$out/"*.orig.tar.*
