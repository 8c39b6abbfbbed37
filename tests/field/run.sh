#!/bin/sh
# The ways in which programs come to call OpenSSL and GnuTLS, stock and under Windlass: wrappers, plugins, copies,
# dlsym, what the dynamic linker does with slots, and what happens before a program's first instruction.
#
#   tests/field/run.sh                    all cases
#   tests/field/run.sh --sample           about a tenth of them
#   tests/field/run.sh 'openssl system'   the cases whose name contains one of these
#   tests/field/run.sh --stock            both sides without Windlass: what differs then is a fault of the tests
#   tests/field/run.sh --list             the names
#
# CARGO_TARGET_DIR, WINDLASS and WINDLASS_PRELOAD_LIBRARY name other builds than target/release; WINDLASS_TEST_TARGET
# has the builds of OpenSSL and GnuTLS.
set -eu
cd "$(dirname "$0")/../.."
tests/field/build.sh
exec env -i HOME="${HOME:-/}" PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 \
    CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-}" WINDLASS="${WINDLASS:-}" WINDLASS_TEST_TARGET="${WINDLASS_TEST_TARGET:-}" \
    WINDLASS_PRELOAD_LIBRARY="${WINDLASS_PRELOAD_LIBRARY:-}" TMPDIR="${TMPDIR:-/tmp}" \
    /usr/bin/python3 -B tests/field/harness/main.py "$@"
