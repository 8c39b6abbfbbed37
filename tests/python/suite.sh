#!/bin/sh
# Makes the archive of a minimal Debian with its Python, CPython's own tests, and what tests/python needs, and prints its
# path. Made once, under target/pythons; remove the file to have a newer one.
#
#   tests/python/suite.sh SUITE VERSION      as in "bookworm 3.11"
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
out=${WINDLASS_TEST_TARGET:-$root/target}/pythons
. "$here/../debian.sh"

archive=$out/$1.tar
if [ ! -e "$archive" ]; then
    mkdir -p "$out"
    packages=$(sed 's/#.*//' "$here/packages.txt" | grep -v '^libpython' | tr -s '\n' ',')
    # As this machine's own apt does: its archive may be a snapshot.
    until=
    eval "$(apt-config shell until Acquire::Check-Valid-Until)"
    mmdebstrap --quiet --mode=root --variant=essential --format=tar --keyring="$keyring" \
        ${until:+--aptopt="Acquire::Check-Valid-Until $until"} \
        --include="apt,ca-certificates,libpython$2-testsuite$packages" "$1" "$archive.new" \
        "deb [signed-by=$keyring] $mirror $1 main" >&2
    mv "$archive.new" "$archive"
fi
echo "$archive"
