#!/bin/sh
# Mozilla's certdata.txt, read by the PKCS#11 token and by a reader of its own: the same certificates, names, purposes,
# distrust and days of distrust. And the certificates that Debian makes of it are those that are trusted for servers.
#
#   tests/certdata/run.sh         certdata.txt of the source package of this machine's ca-certificates
#   tests/certdata/run.sh FILE    another certdata.txt
#
# apt fetches the source package into target/certdata and checks its signature; nothing is installed. If the archive no
# longer has the source of the installed version, it is the newest source that can be fetched, and what Debian makes of
# it is not compared. With WINDLASS_TEST_TARGET (default: target) it goes elsewhere. WINDLASS_PKCS11_LIBRARY names
# another build than target/release.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../.."
out=${WINDLASS_TEST_TARGET:-target}/certdata
out=$(mkdir -p "$out" && cd "$out" && pwd)
library=${WINDLASS_PKCS11_LIBRARY:-${CARGO_TARGET_DIR:-target}/release/libwindlass_pkcs11.so}
. "$here/../debian.sh"

# All suites of the release that this machine's apt knows, each from its own archive: -security has another one than the
# rest. A point release moves packages between them, so -updates is asked for where the release itself comes from,
# whatever apt knows.
update() {
    codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
    suites=$(apt-get indextargets --format '$(RELEASE) $(SITE)' 'Created-By: Packages' 'Origin: Debian' 2>/dev/null |
        sed -n -E "/^$codename(-updates|-security)? /p" | sort -u)
    mirror=$(echo "$suites" | sed -n "s/^$codename //p" | head -n 1)
    mkdir -p "$out/apt/lists/partial" "$out/apt/cache/archives/partial"
    { echo "$suites" && echo "$codename-updates $mirror"; } | sort -u | while read -r suite site; do
        echo "deb-src [signed-by=$keyring] $site $suite main"
    done >"$out/apt/sources.list"
    apt apt-get -o APT::Update::Error-Mode=any update
}

fetch() { # version
    [ ! -f "$out/$1/certdata.txt" ] || return 0
    rm -rf "$out/new" && mkdir "$out/new" &&
        (cd "$out/new" && apt apt-get source --download-only "ca-certificates=$1" &&
            tar -xf ./*.tar.xz --wildcards '*/mozilla/certdata.txt' --strip-components 2) &&
        rm -rf "${out:?}/$1" && mv "$out/new" "$out/$1"
}

# Sets `version`. The archive's lists may name a version that is gone, too.
fetch_newest() {
    for version in $(apt apt-cache showsrc --only-source ca-certificates | sed -n 's/^Version: //p' | sort -V -r -u); do
        ! fetch "$version" || return 0
    done
    echo "$0: no source of ca-certificates can be fetched from the archives in $out/apt/sources.list; with a" \
        "certdata.txt of your own: $0 FILE" >&2
    return 1
}

if [ $# = 0 ]; then
    installed=$(dpkg-query -W -f '${Version}' ca-certificates)
    version=$installed
    # What Debian's own script has made of it.
    made=/usr/share/ca-certificates/mozilla
    if [ ! -f "$out/$version/certdata.txt" ]; then
        update
        fetch "$version" || fetch_newest
    fi
    if [ "$version" != "$installed" ]; then
        made=
        echo "The source of the installed ca-certificates, $installed, can't be fetched. The newest that can be is" \
            "$version; it is not compared with /usr/share/ca-certificates."
    fi
    echo "certdata.txt of ca-certificates $version"
    certdata=$out/$version/certdata.txt
else
    certdata=$(realpath "$1")
    made=
fi
/usr/bin/python3 -B "$here/reading.py" "$certdata" ${made:+"$made"} >"$out/expected"
status=0
WINDLASS_CERTDATA=$certdata WINDLASS_CERTDATA_EXPECTED=$out/expected WINDLASS_PKCS11_LIBRARY=$(realpath "$library") \
    cargo test -q -p windlass-pkcs11 --test mozilla_certdata -- --ignored --nocapture >"$out/output" 2>&1 || status=$?
grep -v '^certdata:' "$out/output" || true
grep '^certdata:' "$out/output" || echo 'certdata: 0 passed, 1 failed'
exit "$status"
