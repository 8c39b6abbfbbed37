#!/bin/sh
# `cargo check` of each member of the workspace by itself: with its own features, not with those that its neighbours
# turn on in the dependencies that they share.
set -eu
cd "$(dirname "$0")/.."
cargo=${CARGO:-cargo}
members=$("$cargo" metadata --format-version 1 --no-deps --locked |
    /usr/bin/python3 -c 'import json, sys; print(*(p["name"] for p in json.load(sys.stdin)["packages"]))')
failed=
for member in $members; do
    echo "== $member"
    "$cargo" check --quiet --locked -p "$member" --all-targets || failed="$failed $member"
done
[ -z "$failed" ] || { echo "these do not build by themselves:$failed" >&2; exit 1; }
