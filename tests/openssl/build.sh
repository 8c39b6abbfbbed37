#!/bin/sh
# Builds the OpenSSL releases the tests compare against, as shared libraries with
# headers, under target/openssl/<version>/{lib,include}:
#
#     tests/openssl/build.sh            all of them
#     tests/openssl/build.sh 3.5.5      one (its -bsymbolic twin comes with it)
#
# <version>            linked like Debian's and Ubuntu's packages: no -Bsymbolic
# <version>-bsymbolic  the same objects linked like upstream's default
#
# A finished build leaves a stamp naming the inputs; a second call does nothing.
# WINDLASS_TEST_TARGET (default: target) moves the output, JOBS (default: 2) the
# number of compilers.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
target=${WINDLASS_TEST_TARGET:-$root/target}
out=$target/openssl
jobs=${JOBS:-2}

# Every version, and the directory its crate has in the registry.
all_versions="1.1.1w 3.5.5 4.0.3"

crate_of() {
    case $1 in
        1.1.1w) echo 111.28.2+1.1.1w ;;
        3.5.5) echo 300.5.5+3.5.5 ;;
        4.0.3) echo 400.0.2+4.0.3 ;;
        *) echo "build.sh: unknown OpenSSL version $1 (known: $all_versions)" >&2; exit 2 ;;
    esac
}

soversion_of() {
    case $1 in
        1.1.1*) echo 1.1 ;;
        *) echo "${1%%.*}" ;;
    esac
}

# The extracted sources of one crate, wherever this machine's cargo keeps them.
sources_of() {
    cargo metadata --locked --format-version 1 --manifest-path "$here/sources/Cargo.toml" \
        | tr ',' '\n' \
        | sed -n 's/.*"manifest_path":"\([^"]*openssl-src-'"$(crate_of "$1")"'\)\/Cargo\.toml".*/\1/p' \
        | head -n 1
}

# What the result depends on: a change of any of it builds again.
fingerprint() {
    cat "$here/build.sh" "$here/version-script.awk" "$here/sources/Cargo.lock" | cksum
    echo "$1"
    cc --version | head -n 1
}

compile() { # version, build directory
    src=$(sources_of "$1")
    [ -n "$src" ] || { echo "build.sh: cargo does not know the sources of OpenSSL $1" >&2; exit 1; }
    rm -rf "$2"
    mkdir -p "$2"
    cp -R "$src/openssl/." "$2"
    chmod -R u+w "$2"
    # no-shared: upstream's own shared link needs generator files that the crate
    # leaves out, so the position independent archives are linked below.
    # -O1 halves the compile time; the comparison is about results.
    options="no-shared no-tests no-comp no-zlib no-ssl3 no-weak-ssl-ciphers -fPIC -O1"
    case $1 in
        1.1.1*) ;;
        *) options="$options no-module no-legacy no-docs no-apps" ;;
    esac
    case $(uname -m) in
        x86_64) platform=linux-x86_64 ;;
        aarch64) platform=linux-aarch64 ;;
        *) platform=linux-generic64 ;;
    esac
    # shellcheck disable=SC2086
    (cd "$2" && perl ./Configure "$platform" $options \
        "--prefix=$out/$1" "--openssldir=$out/$1/ssl" --libdir=lib &&
        make -j"$jobs" build_libs) >"$2.log" 2>&1 || {
        echo "build.sh: OpenSSL $1 did not build; the end of $2.log:" >&2
        tail -n 20 "$2.log" >&2
        exit 1
    }
}

link() { # version, build directory, name below target/openssl, extra linker flags
    version=$1 build=$2 prefix=$out/$3
    so=$(soversion_of "$version")
    rm -rf "$prefix"
    mkdir -p "$prefix/lib" "$prefix/include" "$prefix/ssl"
    cp -R "$build/include/openssl" "$prefix/include/"
    for library in crypto ssl; do
        sort -V -k3,3 "$build/util/lib$library.num" | awk -f "$here/version-script.awk" \
            >"$build/lib$library.map"
    done
    flags="-shared -Wl,-z,defs -Wl,-z,nodelete $4"
    # shellcheck disable=SC2086
    cc $flags -o "$prefix/lib/libcrypto.so.$so" -Wl,-soname,"libcrypto.so.$so" \
        -Wl,--version-script="$build/libcrypto.map" \
        -Wl,--whole-archive "$build/libcrypto.a" -Wl,--no-whole-archive -ldl -pthread
    ln -s "libcrypto.so.$so" "$prefix/lib/libcrypto.so"
    # The archive after the shared object: libssl carries its own copy of a few
    # internal helpers (packet.c, time.c), as in upstream's shared build.
    # shellcheck disable=SC2086
    cc $flags -o "$prefix/lib/libssl.so.$so" -Wl,-soname,"libssl.so.$so" \
        -Wl,--version-script="$build/libssl.map" \
        -Wl,--whole-archive "$build/libssl.a" -Wl,--no-whole-archive \
        "$prefix/lib/libcrypto.so.$so" "$build/libcrypto.a" -ldl -pthread
    ln -s "libssl.so.$so" "$prefix/lib/libssl.so"
    fingerprint "$3" >"$prefix/stamp"
}

finished() { # name below target/openssl
    [ -f "$out/$1/stamp" ] && [ "$(cat "$out/$1/stamp")" = "$(fingerprint "$1")" ]
}

[ $# -gt 0 ] || set -- $all_versions
mkdir -p "$out"
for version in "$@"; do
    crate_of "$version" >/dev/null
    if finished "$version" && finished "$version-bsymbolic"; then
        continue
    fi
    echo "building OpenSSL $version (log: ${out#"$root"/}/build-$version.log)"
    compile "$version" "$out/build-$version"
    link "$version" "$out/build-$version" "$version" ""
    link "$version" "$out/build-$version" "$version-bsymbolic" "-Wl,-Bsymbolic"
    rm -rf "$out/build-$version"
    echo "OpenSSL $version is ready"
done
