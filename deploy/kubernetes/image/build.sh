#!/bin/sh
# build.sh RELEASE OUT: the files of the image that gives the library to pods, in OUT, ready for `docker build OUT`.
# RELEASE is a directory with the built libraries (target/release).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
release=$1
out=$2
rm -rf "$out"
mkdir -p "$out/root/bin"
library=$out/root/library
# What the loader of a distribution puts in place of $LIB: Debian's and Ubuntu's, Fedora's and SUSE's, Arch's and
# Wolfi's. musl's loader knows no $LIB, and finds nothing.
for directory in lib/x86_64-linux-gnu lib64 lib; do
    mkdir -p "$library/$directory"
done
install -m 755 "$release/libwindlass_preload.so" "$release/libwindlass_pkcs11.so" "$library"
ln -s ../../libwindlass_preload.so "$library/lib/x86_64-linux-gnu/libwindlass_preload.so"
ln -s ../libwindlass_preload.so "$library/lib64/libwindlass_preload.so"
ln -s ../libwindlass_preload.so "$library/lib/libwindlass_preload.so"
install -D -m 644 -t "$library/java" "$here/java/windlass.security" "$here/java/pkcs11.cfg"
install -m 755 "$here/install-library" "$out/root/bin/install-library"
install -m 644 "$here/Dockerfile" "$out/Dockerfile"
