#!/bin/sh
# Builds the newest GnuTLS 3.8 that Debian has, with the nettle it wants, as shared libraries with headers, under
# target/gnutls/<name>/{lib,include}:
#
# 3.8                       linked as Debian's package is
# 3.8-bsymbolic-functions   the same objects linked as Ubuntu's package is: calls inside of the library can't be seen
#
# The sources are Debian's own packages. apt fetches them into target/gnutls and checks their signatures; nothing
# is installed. A finished build leaves a stamp that names its inputs; a second call does nothing. With
# WINDLASS_TEST_TARGET (default: target) the output goes elsewhere, JOBS (default: 2) is the number of compilers.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
out=${WINDLASS_TEST_TARGET:-$root/target}/gnutls
jobs=${JOBS:-2}
prefix=$out/3.8

# Where apt looks: unstable has the newest 3.8 (for as long as it has one), stable keeps one for years.
releases="sid trixie"
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
# The archive that this machine itself uses.
mirror=$(. /etc/os-release && apt-get indextargets --format '$(RELEASE) $(SITE)' 'Created-By: Packages' 2>/dev/null |
    sed -n "s/^$VERSION_CODENAME //p" | grep -v security | head -n 1)

# What the result depends on: a change of any of it builds again.
fingerprint() {
    cksum <"$here/build.sh"
    cc --version | head -n 1
}

finished() {
    for name in 3.8 3.8-bsymbolic-functions; do
        [ -f "$out/$name/stamp" ] && [ "$(cat "$out/$name/stamp")" = "$(fingerprint)" ] || return 1
    done
}

# An apt that knows the sources of these releases, and nothing of this machine's configuration of releases.
apt() { # command, arguments...
    tool=$1
    shift
    # apt drops root's rights to download, and the folder may be closed to that user.
    "$tool" -q -q -o Dir::Etc::SourceList="$out/apt/sources.list" -o Dir::Etc::SourceParts=- \
        -o Dir::Etc::Preferences=- \
        -o Dir::Etc::PreferencesParts=- -o Dir::State::Lists="$out/apt/lists" -o Dir::Cache="$out/apt/cache" \
        -o Acquire::Languages=none -o Acquire::Retries=3 -o APT::Sandbox::User=root "$@"
}

lists() {
    mkdir -p "$out/apt/lists/partial" "$out/apt/cache/archives/partial"
    for release in $releases; do
        echo "deb-src [signed-by=$keyring] $mirror $release main"
    done >"$out/apt/sources.list"
    apt apt-get -o APT::Update::Error-Mode=any update
}

# The versions of a source package that begin in one way, the newest first.
versions() { # package, beginning
    apt apt-cache showsrc "$1" | sed -n 's/^Version: //p' | grep "^$2" | sort -V -r
}

fetch() { # package, version, folder
    rm -rf "$3" "$out/download" && mkdir "$out/download" &&
        (cd "$out/download" && apt apt-get source --download-only "$1=$2") &&
        # apt has checked the hashes of these files against the signed lists; dpkg-source would look for the uploader's
        # key.
        dpkg-source --no-check -x "$out/download/"*.dsc "$3" >"$3.log" && rm -r "$out/download"
}

# These run where `set -e` does nothing.
build_nettle() {
    cd "$out/nettle" || return
    # Else make would ask for autoheader.
    touch stamp-h.in config.h.in
    # Static and position independent: it becomes a part of libgnutls, and the system's nettle is not in its way.
    ./configure --prefix="$out/nettle/installed" --libdir="$out/nettle/installed/lib" --disable-shared --enable-pic \
        --disable-openssl --disable-documentation --disable-assembler CFLAGS="-O1 -fPIC" &&
        make -j"$jobs" SUBDIRS= &&
        make SUBDIRS= install-static install-headers install-pkgconfig
}

build_gnutls() {
    cd "$out/gnutls" || return
    export PKG_CONFIG_PATH="$out/nettle/installed/lib/pkgconfig"
    # Debian's options but for what is not libgnutls itself. -O1 halves the compile time; the comparison is about
    # results.
    ./configure --prefix="$prefix" --libdir="$prefix/lib" --enable-ld-version-script --disable-static --disable-cxx \
        --disable-libdane \
        --disable-tools --disable-tests --disable-doc --disable-nls --disable-maintainer-mode --disable-gcc-warnings \
        --without-tpm \
        --without-tpm2 --without-brotli --without-zstd --disable-rpath \
        --with-default-trust-store-file=/etc/ssl/certs/ca-certificates.crt CFLAGS="-O1" ||
        return
    for tool in ACLOCAL AUTOCONF AUTOHEADER AUTOMAKE MAKEINFO; do
        set -- "$@" "$tool=:"
    done
    make -j"$jobs" -C gl "$@" &&
        make -j"$jobs" -C lib "$@" &&
        make -C lib "$@" install &&
        cp -R "$prefix" "$prefix-bsymbolic-functions" &&
        rm lib/libgnutls.la &&
        make -C lib "$@" libgnutls.la LDFLAGS=-Wl,-Bsymbolic-functions &&
        cp lib/.libs/libgnutls.so.30.*.* "$prefix-bsymbolic-functions/lib/"
}

logged() { # what, command
    "$2" >"$out/build-$1.log" 2>&1 || {
        echo "build.sh: $1 did not build; the end of $out/build-$1.log:" >&2
        tail -n 20 "$out/build-$1.log" >&2
        return 1
    }
}

build() { # version of GnuTLS, version of nettle
    echo "building GnuTLS $1 with nettle $2 (log: ${out#"$root"/}/build-*.log)"
    rm -rf "$prefix" "$prefix-bsymbolic-functions"
    fetch nettle "$2" "$out/nettle" && fetch gnutls28 "$1" "$out/gnutls" &&
        (logged nettle build_nettle) && (logged gnutls build_gnutls)
}

finished && exit 0
[ -n "$mirror" ] || {
    echo "build.sh: FAIL: no apt source of this release of Debian on this machine: can't get the sources of GnuTLS" >&2
    exit 1
}
rm -rf "$out"
mkdir -p "$out"
lists || {
    echo "build.sh: FAIL: the sources of GnuTLS can't be downloaded: apt gets no lists of $releases from $mirror" >&2
    exit 1
}
nettle=$(versions nettle '3\.1[0-9]' | head -n 1)
# What is too new for this machine's tools is passed over, and said.
for gnutls in $(versions gnutls28 '3\.8\.'); do
    if [ -n "$nettle" ] && build "$gnutls" "$nettle"; then
        for name in 3.8 3.8-bsymbolic-functions; do
            echo "$gnutls" >"$out/$name/version"
            fingerprint >"$out/$name/stamp"
        done
        rm -rf "$out/gnutls" "$out/gnutls.log" "$out/nettle" "$out/nettle.log" "$out/apt" "$out/"*.orig.tar.*
        echo "GnuTLS $gnutls is ready"
        exit 0
    fi
done
echo "build.sh: FAIL: no GnuTLS 3.8 of Debian's $releases was built (nettle ${nettle:--})" >&2
exit 1
