#!/bin/sh
# `windlass run --add-ca` with real programs against TLS servers on the loopback interface. As root: in a mount
# namespace of its own the machine gets a CA that belongs to the tests, so that it can be seen that what was trusted
# before still is.
#
#   tests/add-ca/run.sh                 all cases
#   tests/add-ca/run.sh java 'leaves'   the cases whose name contains one of these
#
# CARGO_TARGET_DIR, WINDLASS and WINDLASS_PRELOAD_LIBRARY name other builds than target/release.
set -eu
cd "$(dirname "$0")/../.."
tests/add-ca/build.sh
# The program itself: rustup's stand-in looks for it below HOME.
cargo=$(rustc --print sysroot)/bin/cargo
exec env -i HOME="${HOME:-/}" PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/go/bin \
    LC_ALL=C.UTF-8 \
    CARGO="$cargo" CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-}" WINDLASS="${WINDLASS:-}" \
    WINDLASS_PRELOAD_LIBRARY="${WINDLASS_PRELOAD_LIBRARY:-}" TMPDIR="${TMPDIR:-/tmp}" \
    unshare --mount --propagation private /usr/bin/python3 -B tests/add-ca/harness/main.py "$@"
