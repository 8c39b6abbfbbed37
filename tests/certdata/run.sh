#!/bin/sh
# Mozilla's certdata.txt, read by the PKCS#11 token and by a reader of its own: the same certificates, names, purposes,
# distrust and days of distrust. And the certificates that Debian makes of it are those that are trusted for servers.
#
#   tests/certdata/run.sh         certdata.txt of the source package of this machine's ca-certificates
#   tests/certdata/run.sh FILE    another certdata.txt
#
# apt fetches the source package into target/certdata and checks its signature; nothing is installed. With
# WINDLASS_TEST_TARGET (default: target) it goes elsewhere. WINDLASS_PKCS11_LIBRARY names another build than
# target/release.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../.."
out=${WINDLASS_TEST_TARGET:-target}/certdata
out=$(mkdir -p "$out" && cd "$out" && pwd)
library=${WINDLASS_PKCS11_LIBRARY:-${CARGO_TARGET_DIR:-target}/release/libwindlass_pkcs11.so}
version=$(dpkg-query -W -f '${Version}' ca-certificates)

# An apt that knows the sources of this machine's release, and nothing else of its configuration of releases.
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
    [ ! -f "$out/$version/certdata.txt" ] || return 0
    codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
    # All suites of the release that this machine's apt knows, each from its own archive: -security has another one than
    # the rest. A point release moves packages between them, so -updates is asked for where the release itself comes
    # from, whatever apt knows.
    suites=$(apt-get indextargets --format '$(RELEASE) $(SITE)' 'Created-By: Packages' 'Origin: Debian' 2>/dev/null |
        sed -n -E "/^$codename(-updates|-security)? /p" | sort -u)
    mirror=$(echo "$suites" | sed -n "s/^$codename //p" | head -n 1)
    mkdir -p "$out/apt/lists/partial" "$out/apt/cache/archives/partial" "$out/new"
    { echo "$suites" && echo "$codename-updates $mirror"; } | sort -u | while read -r suite site; do
        echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $site $suite main"
    done >"$out/apt/sources.list"
    apt apt-get -o APT::Update::Error-Mode=any update
    (cd "$out/new" && rm -f ./*.tar.* && apt apt-get source --download-only "ca-certificates=$version" &&
        tar -xf ./*.tar.xz --wildcards '*/mozilla/certdata.txt' --strip-components 2)
    rm -rf "${out:?}/$version"
    mv "$out/new" "$out/$version"
}

if [ $# = 0 ]; then
    fetch
    certdata=$out/$version/certdata.txt
    # What Debian's own script has made of it.
    made=/usr/share/ca-certificates/mozilla
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
