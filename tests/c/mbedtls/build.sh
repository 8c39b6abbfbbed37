#!/bin/sh
# Builds mbedTLS 2.28 with MBEDTLS_X509_TRUSTED_CERTIFICATE_CALLBACK, which Debian's package is built without, as
# target/mbedtls/{include,lib/libmbedtls-all.a}. A finished build leaves a stamp that names its inputs; a second call
# does nothing.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=${WINDLASS_TEST_TARGET:-$here/../../../target}/mbedtls
stamp=$(cat "$here/build.sh" "$here/Cargo.lock" | cksum; cc --version | head -n 1)
[ -f "$out/stamp" ] && [ "$(cat "$out/stamp")" = "$stamp" ] && exit 0

sources=$(cargo metadata --locked --format-version 1 --manifest-path "$here/Cargo.toml" | tr ',' '\n' |
    sed -n 's/.*"manifest_path":"\([^"]*mbedtls-sys-auto-[^"]*\)\/Cargo\.toml".*/\1/p' | head -n 1)/vendor
rm -rf "$out"
mkdir -p "$out/lib" "$out/objects"
cp -R "$sources/include" "$out/include"
sed -i 's|^//\(#define MBEDTLS_X509_TRUSTED_CERTIFICATE_CALLBACK\)|\1|' "$out/include/mbedtls/config.h"
grep -q '^#define MBEDTLS_X509_TRUSTED_CERTIFICATE_CALLBACK' "$out/include/mbedtls/config.h"
ls "$sources"/library/*.c | xargs -P "${JOBS:-2}" -I {} sh -c \
    'cc -c -O1 -w -I"$1/include" -I"$(dirname "$2")" "$2" -o "$1/objects/$(basename "$2" .c).o"' build "$out" {}
ar rcs "$out/lib/libmbedtls-all.a" "$out"/objects/*.o
rm -r "$out/objects"
echo "$stamp" >"$out/stamp"
