#!/bin/sh
# The benchmarks: stock, limit and Windlass side by side on this machine.
#
#   bench/run.sh                 all rows; raw samples go to bench/results/, the table to standard output
#   bench/run.sh context memory  these rows only; nothing is written
#   bench/run.sh --keep context  this row only; its samples go to a file of their own in bench/results/
#   bench/run.sh python          HTTP clients of Python, stock, attached, and with a shared context
#   bench/run.sh peers           beside other ecosystems; bench/peers/README.md says what that needs
#   bench/run.sh --quick         fewer samples, for trying things out; nothing is written
#
# Needs what tests/e2e/packages.txt names, and the release build (`make build`); the example it measures is built here.
# CARGO_TARGET_DIR names a build other than target/.
set -eu
cd "$(dirname "$0")/.."
case " $* " in
*" -h "* | *" --help "*) ;;
*) "${CARGO:-cargo}" build --release --quiet -p windlass --example cold_index ;;
esac
exec env -i HOME="${HOME:-/}" PATH="$PATH" LC_ALL=C.UTF-8 CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-}" \
    TMPDIR="${TMPDIR:-/tmp}" /usr/bin/python3 -B bench/harness/main.py "$@"
