#!/bin/sh
# What `windlass doctor` finds in images with a fault each, and what OpenSSL itself and the trust token make of the same
# files.
#
#   tests/doctor/run.sh          all cases
#   tests/doctor/run.sh gap      the cases whose name contains one of these
#
# WINDLASS names another build of the command than target/release, WINDLASS_PKCS11_LIBRARY another one of the token.
set -eu
cd "$(dirname "$0")/../.."
windlass=${WINDLASS:-${CARGO_TARGET_DIR:-target}/release/windlass}
library=${WINDLASS_PKCS11_LIBRARY:-${CARGO_TARGET_DIR:-target}/release/libwindlass_pkcs11.so}
exec env -i HOME="${HOME:-/}" PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 \
    TMPDIR="${TMPDIR:-/tmp}" /usr/bin/python3 -B tests/doctor/faults.py --windlass "$windlass" --token "$library" "$@"
