#!/bin/sh
# Builds the fuzz targets with coverage instrumentation and runs them one after the other, by an equal part of the time
# each. Stable Rust is enough: what `cargo fuzz` adds to it is these flags, and AddressSanitizer, which safe code does
# not need.
#
#   fuzz/run.sh [SECONDS [TARGET…]]
#
# The corpus is kept in fuzz/corpus/TARGET, an input that fails in fuzz/artifacts/TARGET.
set -eu
cd "$(dirname "$0")"

seconds=${1:-600}
[ $# = 0 ] || shift
[ $# -gt 0 ] || set -- store_reader store_round_trip trust_reader
each=$((seconds / $#))

# With a target named, cargo leaves the flags away for build scripts and macros.
host=$(rustc -vV | sed -n 's/^host: //p')
RUSTFLAGS="--cfg fuzzing
    -C passes=sancov-module
    -C llvm-args=-sanitizer-coverage-level=4
    -C llvm-args=-sanitizer-coverage-inline-8bit-counters
    -C llvm-args=-sanitizer-coverage-pc-table
    -C llvm-args=-sanitizer-coverage-trace-compares"
RUSTFLAGS=$(echo $RUSTFLAGS) "${CARGO:-cargo}" build --release --target "$host"
binaries=${CARGO_TARGET_DIR:-target}/$host/release

for target in "$@"; do
    mkdir -p "corpus/$target" "artifacts/$target"
    # -timeout: an input that takes longer has found a loop. -rss_limit_mb: or a number that memory follows.
    WINDLASS_FUZZ_SEEDS=corpus/$target "$binaries/$target" "corpus/$target" -max_total_time="$each" -max_len=8192 \
        -artifact_prefix="artifacts/$target/" -timeout=5 -rss_limit_mb=1024 -print_final_stats=1 -verbosity=1
done
