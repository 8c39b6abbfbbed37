#!/bin/sh
# Real consumers of PKCS#11 trust: with libwindlass_pkcs11.so and with p11-kit-trust, which must do the same. As root:
# each side gets its own modules and its own bundle by a mount namespace.
#
#   tests/pkcs11/run.sh                  all cases
#   tests/pkcs11/run.sh java 'certutil'  the cases whose name contains one of these
#
# tests/pkcs11/build.sh must have run before. What the token saves is measured by bench/run.sh token.
# WINDLASS_PKCS11_LIBRARY names another build than target/release, WINDLASS_TEST_TARGET where build.sh has put its
# output.
set -eu
cd "$(dirname "$0")/../.."
library=${WINDLASS_PKCS11_LIBRARY:-${CARGO_TARGET_DIR:-target}/release/libwindlass_pkcs11.so}
newest=${WINDLASS_TEST_TARGET:-target}/pkcs11
exec env -i HOME="${HOME:-/}" PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 \
    TMPDIR="${TMPDIR:-/tmp}" /usr/bin/python3 -B tests/pkcs11/harness/main.py --library "$library" \
        --newest "$newest" "$@"
