#!/bin/sh
# Fails, and says why, for libraries that would not load everywhere: that need a newer glibc than 2.17, another library
# than libc, or a symbol that nothing gives them. One such library, preloaded, keeps every program of an older machine
# from starting.
#
#   packaging/needs.sh FILE...
#
# READELF names another readelf; any reads the files of all architectures.
set -eu
newest=GLIBC_2.17
readelf=${READELF:-readelf}
export LC_ALL=C
status=0
say() {
    echo "needs.sh: $1" >&2
    status=1
}

for file; do
    versions=$("$readelf" --wide --version-info "$file" | sed -n '/^Version needs/,$ s/.* Name: \([^ ]*\) .*/\1/p')
    [ -n "$versions" ] || say "$file: no version needs are in it; is it one of the libraries?"
    for version in $versions; do
        case $version in
        GLIBC_[0-9]*)
            [ "$(printf '%s\n' "$version" "$newest" | sort -V | tail -n 1)" = "$newest" ] || say "$file needs $version"
            ;;
        *) say "$file needs $version" ;;
        esac
    done
    for library in $("$readelf" --wide --dynamic "$file" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'); do
        case $library in
        libc.so.6 | ld-linux-x86-64.so.2 | ld-linux-aarch64.so.1) ;;
        *) say "$file needs $library" ;;
        esac
    done
    # Not weak, and of no version: no libc of 2.17 is known to have it.
    for symbol in $("$readelf" --wide --dyn-syms "$file" |
        awk '$5 == "GLOBAL" && $7 == "UND" && $8 !~ /@/ { print $8 }'); do
        say "$file needs $symbol, which libc.so.6 did not have in $newest: \
adapters/glibc/src/shim.c is the place for it"
    done
done
exit "$status"
