#!/bin/sh
# OpenSSL 3.5, 3.6 and 4.0 for `bench/run.sh peers`, as shared libraries with headers:
#
#     bench/peers/openssl/build.sh FOLDER    FOLDER/<version>/{lib,include}, and FOLDER/<version>.log
#
# With upstream's own optimisation; `make openssl` takes less, since it builds for tests. The sources are the crates
# openssl-src. A finished build leaves a stamp that names its inputs; a second call does nothing.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
tests=$here/../../../tests/openssl
mkdir -p "$1"
out=$(cd "$1" && pwd)

# The extracted sources of a crate, wherever this machine's cargo keeps them.
sources() { # crate's version, folder of the manifest that names it
    "${CARGO:-cargo}" metadata --locked --format-version 1 --manifest-path "$2/Cargo.toml" | tr ',' '\n' |
        sed -n 's/.*"manifest_path":"\([^"]*openssl-src-'"$1"'\)\/Cargo\.toml".*/\1/p' | head -n 1
}

fingerprint() {
    cksum <"$here/build.sh"
    cc --version | head -n 1
}

# no-shared: upstream's own shared link needs generator files that the crate leaves out. This runs where `set -e` does
# nothing.
compile() { # version, folder of the sources, folder to build in
    cp -R "$2/openssl/." "$3" && chmod -R u+w "$3" && cd "$3" || return
    perl ./Configure "linux-$(uname -m)" no-shared no-tests no-comp no-zlib no-module no-legacy no-docs no-apps -fPIC \
        "--prefix=$out/$1" "--openssldir=$out/$1/ssl" --libdir=lib &&
        make -j"${JOBS:-2}" build_libs && mkdir -p "$out/$1/lib" "$out/$1/ssl" && cp -R include "$out/$1/" || return
    so=${1%%.*}
    for library in crypto ssl; do
        sort -V -k3,3 "util/lib$library.num" | awk -f "$tests/version-script.awk" >"lib$library.map" || return
        # libssl has its own copy of a few of libcrypto's internal helpers, as in upstream's shared build.
        [ "$library" = crypto ] && also= || also="$out/$1/lib/libcrypto.so.$so libcrypto.a"
        # shellcheck disable=SC2086
        cc -shared -Wl,-z,defs -Wl,-z,nodelete -o "$out/$1/lib/lib$library.so.$so" -Wl,-soname,"lib$library.so.$so" \
            -Wl,--version-script="lib$library.map" -Wl,--whole-archive "lib$library.a" -Wl,--no-whole-archive $also \
            -ldl -pthread && ln -s "lib$library.so.$so" "$out/$1/lib/lib$library.so" || return
    done
}

build() { # version, crate's version, folder of the manifest
    [ -f "$out/$1/stamp" ] && [ "$(cat "$out/$1/stamp")" = "$(fingerprint)" ] && return
    from=$(sources "$2" "$3")
    [ -n "$from" ] || { echo "build.sh: cargo does not know the sources of OpenSSL $1" >&2; exit 1; }
    rm -rf "${out:?}/$1" "$out/build-$1"
    mkdir "$out/build-$1"
    (compile "$1" "$from" "$out/build-$1") >"$out/$1.log" 2>&1 || {
        echo "build.sh: OpenSSL $1 did not build; the end of $out/$1.log:" >&2
        tail -n 20 "$out/$1.log" >&2
        exit 1
    }
    rm -rf "$out/build-$1"
    fingerprint >"$out/$1/stamp"
}

build 3.5.5 300.5.5+3.5.5 "$tests/sources"
build 3.6.3 300.6.1+3.6.3 "$here"
build 4.0.3 400.0.2+4.0.3 "$tests/sources"
