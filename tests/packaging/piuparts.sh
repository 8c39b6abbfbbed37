#!/bin/sh
# piuparts(1) over the package: installed, removed and purged in the minimal system of the other packaging tests, and
# what is left is an error. It asks the archive that this machine's own release comes from.
set -eu
cd "$(dirname "$0")/../.."
if [ "$(id -u)" != 0 ]; then
    echo "skipped: piuparts needs root"
    echo "piuparts: 0 passed, 0 failed"
    exit 0
fi
. /etc/os-release
target=$(realpath "${CARGO_TARGET_DIR:-target}")
package=$(packaging/debian/build.sh "$target/debian")
base=$(tests/packaging/base.sh "$target/packaging")
# It unpacks nothing else.
[ "$base.gz" -nt "$base" ] || gzip -1 -k -f "$base"
# In either format of sources.list(5).
mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources 2>/dev/null |
    awk -v suite="$VERSION_CODENAME" '
        $1 == "URIs:" { uri = $2 }
        $1 == "Suites:" && (" " $0 " ") ~ (" " suite " ") { print uri; exit }
        $1 == "deb" { for (n = 2; n < NF; n++) if ($n ~ /:\/\// && $(n + 1) == suite) { print $n; exit } }')
log=$target/packaging/piuparts.log
if piuparts --basetgz="$base.gz" --distribution="$VERSION_CODENAME" --mirror="$mirror main" --no-upgrade-test \
    --log-level=info "$package" >"$log" 2>&1; then
    echo "ok     installing and purging under piuparts"
    echo "piuparts: 1 passed, 0 failed"
else
    grep -E ' (ERROR|WARN|FAIL)' -A 12 "$log" || cat "$log"
    echo "FAILED installing and purging under piuparts (all of it: $log)"
    echo "piuparts: 0 passed, 1 failed"
    exit 1
fi
