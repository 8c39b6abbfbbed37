#!/bin/sh
# Installs the Debian packages the tests need, and nothing if they are there.
# The lists are those that are named, else tests/*/packages.txt; one package a line, "#" for comments.
set -eu
cd "$(dirname "$0")/.."

[ $# -gt 0 ] || set -- tests/*/packages.txt
wanted=$(sed -e 's/#.*//' "$@" | sort -u | tr '\n' ' ')
missing=
for package in $wanted; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' ||
        missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" = 0 ]; then
    as_root=
elif command -v sudo >/dev/null 2>&1; then
    as_root=sudo
else
    echo "The tests need packages that are not installed here. As root, run:" >&2
    echo "    apt-get update && apt-get install -y$missing" >&2
    exit 2
fi
export DEBIAN_FRONTEND=noninteractive
$as_root apt-get update -qq
# No recommended packages and no started services: a web server on port 80 is not ours to start.
# shellcheck disable=SC2086
$as_root apt-get install -y -qq --no-install-recommends $missing </dev/null
