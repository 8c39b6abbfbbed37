#!/bin/sh
# Makes the archive of a minimal system of this machine's own release, from this machine's own apt sources, and prints
# its path. Made once; remove the file to have a newer one.
#
#   tests/packaging/base.sh DIRECTORY              without systemd, as in most containers
#   tests/packaging/base.sh DIRECTORY systemd      with it, ready to boot
#   tests/packaging/base.sh DIRECTORY trust        with p11-kit and GnuTLS's commands
#   tests/packaging/base.sh DIRECTORY others       with compilers for programs of musl, of 32 bits and with sanitizers
set -eu
. /etc/os-release
variant=${2:-}
case $variant in
systemd) more=systemd-sysv ;;
trust) more=gnutls-bin,p11-kit,p11-kit-modules ;;
others) more=gcc,gcc-multilib,libc6-dev,musl-tools ;;
*) more= ;;
esac
archive=$1/base-${variant:+$variant-}$VERSION_CODENAME-$(dpkg --print-architecture).tar
if [ ! -e "$archive" ]; then
    mkdir -p "$1"
    # The release's own archives, and no third party's: those whose suite is of this release.
    sources=$(grep -l -s -E "^(deb .*|Suites:.*) $VERSION_CODENAME(-updates|-security)?( |\$)" \
        /etc/apt/sources.list /etc/apt/sources.list.d/*.list \
        /etc/apt/sources.list.d/*.sources || true)
    if [ -z "$sources" ]; then
        echo "no apt source of $VERSION_CODENAME on this machine:" \
            "can't make a minimal system for the packaging tests" >&2
        exit 1
    fi
    # shellcheck disable=SC2086
    mmdebstrap --quiet --mode=root --variant=essential --include=apt,ca-certificates,openssl${more:+,$more} \
        --format=tar "$VERSION_CODENAME" "$archive.new" $sources >&2
    mv "$archive.new" "$archive"
fi
echo "$archive"
