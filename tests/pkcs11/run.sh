#!/bin/sh
# Real consumers of PKCS#11 trust: with libwindlass_pkcs11.so and with p11-kit-trust, which must do the same. As root: each
# side gets its own modules and its own bundle by a mount namespace.
#
#   tests/pkcs11/run.sh                  all cases
#   tests/pkcs11/run.sh java 'certutil'  the cases whose name contains one of these
#   tests/pkcs11/run.sh --measure        the bars: instructions of a verification, time to load 2,400 roots
#
# WINDLASS_PKCS11_LIBRARY names another build than target/release.
set -eu
cd "$(dirname "$0")/../.."
library=${WINDLASS_PKCS11_LIBRARY:-${CARGO_TARGET_DIR:-target}/release/libwindlass_pkcs11.so}
exec env -i HOME="${HOME:-/}" PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 \
    TMPDIR="${TMPDIR:-/tmp}" /usr/bin/python3 -B tests/pkcs11/harness/main.py --library "$library" "$@"
