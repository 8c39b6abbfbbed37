#!/bin/sh
# What Debian does not have: .NET and Deno, from PyPI, in target/field/packages. Versions and hashes are in
# tests/field/packages. Nothing is installed on the machine. A finished one leaves a stamp that names its inputs; a
# second call does nothing. With CARGO_TARGET_DIR the output goes elsewhere.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
mkdir -p "$target/field"
out=$(cd "$target/field" && pwd)/packages

fingerprint() {
    cat "$here/build.sh" "$here"/packages/* | cksum
    /usr/bin/python3 --version
}

get() {
    /usr/bin/python3 -m venv "$out/pip"
    for package in dotnet-3.1 dotnet-2.1 deno; do
        # Wheels only: nothing is built, and no package's own program runs.
        "$out/pip/bin/pip" install --no-deps --only-binary :all: --require-hashes --target "$out/$package" \
            -r "$here/packages/$package.txt" || return 1
    done
    chmod +x "$out"/dotnet-*/dotnetcore2/bin/dotnet
}

[ -f "$out/stamp" ] && [ "$(cat "$out/stamp")" = "$(fingerprint)" ] && exit 0
rm -rf "$out"
mkdir "$out"
get >"$out.log" 2>&1 || {
    echo "build.sh: FAIL: the packages of tests/field/packages are not there; the end of $out.log:" >&2
    tail -n 20 "$out.log" >&2
    exit 1
}
fingerprint >"$out/stamp"
