#!/bin/sh
# The C library: installed into a folder, its headers and examples compiled against that, and run.
#
#   tests/c/run.sh               all cases
#   tests/c/run.sh fork verdict  the cases whose name contains one of these
set -eu
cd "$(dirname "$0")/../.."
tests/c/mbedtls/build.sh
exec env -i HOME="${HOME:-/}" PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 \
    TMPDIR="${TMPDIR:-/tmp}" CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}" \
    WINDLASS_TEST_TARGET="${WINDLASS_TEST_TARGET:-$PWD/target}" /usr/bin/python3 -B tests/c/harness/main.py "$@"
