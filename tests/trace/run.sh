#!/bin/sh
# `windlass trace` on real programs against a TLS server on the loopback interface, its findings against those of strace
# and grep; and its page in a headless Chromium.
#
#   tests/trace/run.sh                  all cases
#   tests/trace/run.sh page 'trace: ruby'  the cases whose name contains one of these
#   tests/trace/run.sh --list           the names
#   tests/trace/run.sh --pictures DIR   writes screenshots of the page to DIR, for somebody to look at
#
# CARGO_TARGET_DIR, WINDLASS, WINDLASS_TRACE_LIBRARY and WINDLASS_PRELOAD_LIBRARY name other builds than target/release.
set -eu
cd "$(dirname "$0")/../.."
exec env -i HOME="${HOME:-/}" PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 \
    CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-}" WINDLASS="${WINDLASS:-}" \
    WINDLASS_TRACE_LIBRARY="${WINDLASS_TRACE_LIBRARY:-}" \
    WINDLASS_PRELOAD_LIBRARY="${WINDLASS_PRELOAD_LIBRARY:-}" TMPDIR="${TMPDIR:-/tmp}" \
    /usr/bin/python3 -B tests/trace/harness/main.py "$@"
