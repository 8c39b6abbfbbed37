#!/bin/sh
# What `windlass doctor` finds in images with a fault each, and what OpenSSL itself and the trust token make of the same
# files. Its SARIF logs against the standard's schema, and the action for hosted CI.
#
#   tests/doctor/run.sh          all cases
#   tests/doctor/run.sh gap      the cases whose name contains one of these
#
# WINDLASS names another build of the command than target/release, WINDLASS_PKCS11_LIBRARY another one of the token.
set -eu
cd "$(dirname "$0")/../.."
windlass=${WINDLASS:-${CARGO_TARGET_DIR:-target}/release/windlass}
library=${WINDLASS_PKCS11_LIBRARY:-${CARGO_TARGET_DIR:-target}/release/libwindlass_pkcs11.so}
# The program itself: rustup's stand-in looks for it below HOME.
cargo=$(rustc --print sysroot)/bin/cargo
target=$(realpath "${CARGO_TARGET_DIR:-target}")
exec env -i HOME="${HOME:-/}" CARGO="$cargo" CARGO_HOME="${CARGO_HOME:-}" CARGO_TARGET_DIR="$target" \
    PATH="${cargo%/*}":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    LC_ALL=C.UTF-8 TMPDIR="${TMPDIR:-/tmp}" /usr/bin/python3 -B tests/doctor/faults.py --windlass "$windlass" \
        --token "$library" "$@"
