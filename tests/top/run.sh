#!/bin/sh
# `windlass top` watches real programs, and what it counts is compared with what strace counts in the same run. As root.
#
#   tests/top/run.sh                all cases
#   tests/top/run.sh ruby terminal  the cases whose name contains one of these
#   tests/top/run.sh --measure          what watching costs, for the one who watches and for those who are watched
#   tests/top/run.sh --measure-metrics   what an agent with metrics costs: CPU, and memory with 10,000 containers
#
# WINDLASS names another build than target/release.
set -eu
cd "$(dirname "$0")/../.."
windlass=${WINDLASS:-${CARGO_TARGET_DIR:-target}/release/windlass}
library=${WINDLASS_PRELOAD_LIBRARY:-$(dirname "$windlass")/libwindlass_preload.so}
exec env -i HOME="${HOME:-/}" PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 \
    TMPDIR="${TMPDIR:-/tmp}" /usr/bin/python3 -B tests/top/harness/main.py --windlass "$windlass" \
        --library "$library" "$@"
