#!/bin/sh
# What programs with a system call filter would notice: each call of the kernel that the library makes is one that
# OpenSSL or GnuTLS makes for the same work, and programs in filters do what they do without it.
#
#   tests/guest/run.sh                  all cases
#   tests/guest/run.sh --sample         a part of them, in about two minutes
#   tests/guest/run.sh 'entry: system'  the cases whose name contains one of these
#   tests/guest/run.sh --list           the names
#
# CARGO_TARGET_DIR, WINDLASS and WINDLASS_PRELOAD_LIBRARY name other builds than target/release.
set -eu
cd "$(dirname "$0")/../.."
exec env -i HOME="${HOME:-/}" PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 \
    CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-}" WINDLASS="${WINDLASS:-}" \
    WINDLASS_PRELOAD_LIBRARY="${WINDLASS_PRELOAD_LIBRARY:-}" TMPDIR="${TMPDIR:-/tmp}" \
    /usr/bin/python3 -B tests/guest/harness/main.py "$@"
