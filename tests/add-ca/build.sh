#!/bin/sh
# Programs from PyPI (requirements.txt) in a virtual environment, target/add-ca/packages. Nothing is installed on the
# machine. A finished one leaves a stamp that names its inputs; a second call does nothing. With CARGO_TARGET_DIR the
# output goes elsewhere.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
mkdir -p "$target/add-ca"
out=$(cd "$target/add-ca" && pwd)/packages

# What the result depends on; its programs hold the path of the environment.
fingerprint() {
    cat "$here/build.sh" "$here/requirements.txt" | cksum
    /usr/bin/python3 --version
    echo "$out"
}

[ -f "$out/stamp" ] && [ "$(cat "$out/stamp")" = "$(fingerprint)" ] && exit 0
rm -rf "$out"
# Wheels only: nothing is built, and no package's own program runs.
(/usr/bin/python3 -m venv "$out" &&
    "$out/bin/pip" install --no-deps --only-binary :all: --require-hashes \
        -r "$here/requirements.txt") >"$out.log" 2>&1 || {
    echo "build.sh: FAIL: the packages of requirements.txt are not there; the end of $out.log:" >&2
    tail -n 20 "$out.log" >&2
    exit 1
}
fingerprint >"$out/stamp"
