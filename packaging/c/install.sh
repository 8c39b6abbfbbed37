#!/bin/sh
# Installs the C library from the release build. `make install-c` calls it.
#
#   packaging/c/install.sh PREFIX [LIBDIR]      LIBDIR is PREFIX/lib by default
#
# Both are absolute paths, as windlass.pc names them. Everything goes below DESTDIR, if that is set. The preload library
# lies beside libwindlass.so, which loads it from there (windlass_attach).
set -eu
prefix=$1
libdir=${2:-$prefix/lib}
root=${DESTDIR:-}
absolute() { # what it is, path
    case $2 in /*) return ;; esac
    echo "install-c: $1 '$2' is not an absolute path" >&2
    exit 2
}
absolute PREFIX "$prefix"
absolute LIBDIR "$libdir"
case $root in ''|/*) ;; *) root=$PWD/$root ;; esac
cd "$(dirname "$0")/../.."
umask 022
release=${CARGO_TARGET_DIR:-target}/release
version=$(sed -n '/^\[workspace.package\]/,/^$/ s/^version = "\(.*\)"/\1/p' Cargo.toml)

packaging/needs.sh "$release/libwindlass_c.so" "$release/libwindlass_preload.so"
put() { # mode, file, path
    install -D -m "$1" "$2" "$root$3"
}
put 755 "$release/libwindlass_c.so" "$libdir/libwindlass.so.$version"
ln -sf "libwindlass.so.$version" "$root$libdir/libwindlass.so.0"
ln -sf libwindlass.so.0 "$root$libdir/libwindlass.so"
put 755 "$release/libwindlass_preload.so" "$libdir/windlass/libwindlass_preload.so"
put 644 adapters/c/include/windlass.h "$prefix/include/windlass.h"
put 644 adapters/c/include/windlass_openssl.h "$prefix/include/windlass_openssl.h"
mkdir -p "$root$libdir/pkgconfig"
sed -e "s|@PREFIX@|$prefix|" -e "s|@LIBDIR@|$libdir|" -e "s|@VERSION@|$version|" packaging/c/windlass.pc.in \
    >"$root$libdir/pkgconfig/windlass.pc"
