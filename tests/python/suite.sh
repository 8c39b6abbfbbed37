#!/bin/sh
# Makes the archive of a minimal Debian with its Python, CPython's own tests, and what tests/python needs, and prints
# its path. Made once for a list of packages, under target/pythons; remove the file to have a newer one.
#
#   tests/python/suite.sh SUITE VERSION      as in "bookworm 3.11"
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
out=${WINDLASS_TEST_TARGET:-$root/target}/pythons
. "$here/../debian.sh"

archive=$out/$1.tar
packages=apt,ca-certificates,gcc,gunicorn,libc6-dev,libcap2-bin,mount,openssl,python3,python3-venv
packages=$packages,uwsgi-plugin-python3,libpython$2-testsuite
if [ ! -e "$archive" ] || [ "$(cat "$archive.packages" 2>/dev/null)" != "$packages" ]; then
    mkdir -p "$out"
    # As this machine's own apt does: its archive may be a snapshot.
    until=
    eval "$(apt-config shell until Acquire::Check-Valid-Until)"
    mmdebstrap --quiet --mode=root --variant=essential --format=tar --keyring="$keyring" \
        ${until:+--aptopt="Acquire::Check-Valid-Until $until"} \
        --include="$packages" "$1" "$archive.new" \
        "deb [signed-by=$keyring] $mirror $1 main" >&2
    mv "$archive.new" "$archive"
    echo "$packages" >"$archive.packages"
fi
echo "$archive"
