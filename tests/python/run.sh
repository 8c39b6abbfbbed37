#!/bin/sh
# The Python packages in real interpreters. Builds the wheels, installs them into a virtual environment of each
# interpreter, and runs programs there.
#
#   tests/python/run.sh                      all cases, with /usr/bin/python3
#   tests/python/run.sh auto fork            the cases whose name contains one of these
#   tests/python/run.sh --python PYTHON ...  with these interpreters
#   tests/python/run.sh --own-tests ...      with all of CPython's own tests of modules that use TLS, not a sample
set -eu
cd "$(dirname "$0")/../.."
target=${CARGO_TARGET_DIR:-target}
/usr/bin/python3 -B python/build.py "$target/release/libwindlass_preload.so" "$target/wheels" >/dev/null
exec env -i HOME="${HOME:-/}" PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 \
    TMPDIR="${TMPDIR:-/tmp}" /usr/bin/python3 -B tests/python/harness/main.py --wheels "$target/wheels" \
        --pythons "${WINDLASS_TEST_TARGET:-target}/pythons" --library "$target/release/libwindlass_preload.so" "$@"
