#!/bin/sh
# End-to-end tests: real programs, stock and under Windlass, against TLS servers on the loopback interface.
#
#   tests/e2e/run.sh                  all cases
#   tests/e2e/run.sh python 'curl: '  the cases whose name contains one of these
#   tests/e2e/run.sh --list           the names
#   tests/e2e/run.sh --prove          that the tests can fail: every case must fail once under a broken library
#
# CARGO_TARGET_DIR, WINDLASS and WINDLASS_PRELOAD_LIBRARY name other builds than target/release.
set -eu
cd "$(dirname "$0")/../.."
exec env -i HOME="${HOME:-/}" PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 \
    CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-}" WINDLASS="${WINDLASS:-}" \
    WINDLASS_PRELOAD_LIBRARY="${WINDLASS_PRELOAD_LIBRARY:-}" TMPDIR="${TMPDIR:-/tmp}" \
    /usr/bin/python3 -B tests/e2e/harness/main.py "$@"
