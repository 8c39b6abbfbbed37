#!/bin/sh
# The newest that Debian has of what the token is compared and used with, in target/pkcs11:
#
# p11-kit-trust.so   p11-kit's trust module, built here
# nss/               NSS with its commands, and the C library that it wants; tests/pkcs11/harness/sides.py starts them
#
# All is Debian's own: the source package of p11-kit, the binary packages of NSS. apt fetches them and checks their
# signatures; nothing is installed. A finished build leaves a stamp that names its inputs; a second call does nothing.
# With WINDLASS_TEST_TARGET (default: target) the output goes elsewhere.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
out=${WINDLASS_TEST_TARGET:-$root/target}/pkcs11
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
# The archive that this machine itself uses.
mirror=$(. /etc/os-release && apt-get indextargets --format '$(RELEASE) $(SITE)' 'Created-By: Packages' 2>/dev/null |
    sed -n "s/^$VERSION_CODENAME //p" | grep -v security | head -n 1)

# What the result depends on: a change of any of it builds again.
fingerprint() {
    cksum <"$here/build.sh"
    cc --version | head -n 1
}

# An apt that knows the sources of unstable, and nothing of this machine's configuration of releases.
apt() { # command, arguments...
    tool=$1
    shift
    # apt drops root's rights to download, and the folder may be closed to that user.
    "$tool" -q -q -o Dir::Etc::SourceList="$out/apt/sources.list" -o Dir::Etc::SourceParts=- \
        -o Dir::Etc::Preferences=- \
        -o Dir::Etc::PreferencesParts=- -o Dir::State::Lists="$out/apt/lists" -o Dir::Cache="$out/apt/cache" \
        -o Acquire::Languages=none -o Acquire::Retries=3 -o APT::Sandbox::User=root "$@"
}

fetch() {
    mkdir -p "$out/apt/lists/partial" "$out/apt/cache/archives/partial" "$out/download"
    for kind in deb deb-src; do
        echo "$kind [signed-by=$keyring] $mirror sid main"
    done >"$out/apt/sources.list"
    apt apt-get -o APT::Update::Error-Mode=any update
    (cd "$out/download" && apt apt-get source --download-only p11-kit)
    # apt has checked the hashes of these files against the signed lists; dpkg-source would look for the uploader's key.
    dpkg-source --no-check -x "$out/download/"*.dsc "$out/source"
    (cd "$out/download" && apt apt-get download libnss3 libnss3-tools libnspr4 libsqlite3-0 libc6 zlib1g)
    for package in "$out/download/"*.deb; do
        dpkg-deb -x "$package" "$out/nss"
    done
}

build() {
    cd "$out/source"
    # Debian's options, but for what the trust module does not need.
    ./configure --disable-nls --disable-doc --disable-static --disable-maintainer-mode --without-systemd \
        --without-libffi \
        --with-trust-paths=/etc/ssl/certs/ca-certificates.crt CFLAGS=-O1
    make -j"${JOBS:-2}" p11-kit-trust.la
    cp .libs/p11-kit-trust.so "$out/p11-kit-trust.so"
}

[ -f "$out/stamp" ] && [ "$(cat "$out/stamp")" = "$(fingerprint)" ] && exit 0
[ -n "$mirror" ] || {
    echo "build.sh: FAIL: no apt source of this release of Debian on this machine: can't get the sources of p11-kit" >&2
    exit 1
}
rm -rf "$out"
mkdir -p "$out"
(fetch && build) >"$out/build.log" 2>&1 || {
    echo "build.sh: FAIL: p11-kit and NSS are not ready; the end of $out/build.log:" >&2
    tail -n 20 "$out/build.log" >&2
    exit 1
}
sed -n 's/^PACKAGE_VERSION=.\(.*\).$/\1/p' "$out/source/config.log" | sed 's/^/p11-kit /; s/$/ is ready/'
rm -rf "$out/source" "$out/apt" "$out/download"
fingerprint >"$out/stamp"
