#!/bin/sh
# build-agent.sh RELEASE OUT: the files of the image for nodes (`windlass top`), in OUT, ready for `docker build OUT`.
# RELEASE is a directory with the built command (target/release).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
release=$1
out=$2
rm -rf "$out"
mkdir -p "$out"
install -m 755 "$release/windlass" "$out/windlass"
install -m 644 "$here/agent/Dockerfile" "$out/Dockerfile"
