#!/bin/sh
# Builds target/debian/windlass_VERSION_ARCHITECTURE.deb from the release build, with dpkg-deb alone. The same input
# makes the same bytes: times are those of the changelog (or SOURCE_DATE_EPOCH), owners root, order that of names.
#
#   packaging/debian/build.sh [DIRECTORY]      where the package goes; target/debian by default
set -eu
cd "$(dirname "$0")/../.."
umask 022
export LC_ALL=C TZ=UTC

target=${CARGO_TARGET_DIR:-target}
output=${1:-$target/debian}
windlass=${WINDLASS:-$target/release/windlass}
library=${WINDLASS_PRELOAD_LIBRARY:-$target/release/libwindlass_preload.so}
trace=${WINDLASS_TRACE_LIBRARY:-$target/release/libwindlass_trace.so}
token=${WINDLASS_PKCS11_LIBRARY:-$target/release/libwindlass_pkcs11.so}
here=packaging/debian

packaging/needs.sh "$library" "$trace" "$token"

architecture=$(dpkg --print-architecture)
multiarch=$(dpkg-architecture -a"$architecture" -qDEB_HOST_MULTIARCH)
version=$(dpkg-parsechangelog -l$here/changelog -SVersion)
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(dpkg-parsechangelog -l$here/changelog -STimestamp)}
export SOURCE_DATE_EPOCH
built=$("$windlass" --version)
if [ "windlass ${version%-*}" != "$built" ]; then
    echo "$here/changelog is for ${version%-*}, but this is $built" >&2
    exit 1
fi

mkdir -p "$output"
work=$(mktemp -d "$output/build.XXXXXX")
trap 'rm -rf "$work"' EXIT
root=$work/root
put() { # mode, file, path in the package
    install -D -m "$1" "$2" "$root/$3"
}

put 755 "$windlass" usr/bin/windlass
put 644 "$library" "usr/lib/$multiarch/windlass/libwindlass_preload.so"
put 644 "$trace" "usr/lib/$multiarch/windlass/libwindlass_trace.so"
# p11-kit's directory for modules. Nothing loads it there before somebody links the configuration file (docs/pkcs11.md).
put 644 "$token" "usr/lib/$multiarch/pkcs11/libwindlass_pkcs11.so"
put 644 packaging/p11-kit/p11-kit-trust.module usr/share/windlass/p11-kit/p11-kit-trust.module
# --strip-unneeded leaves what the dynamic linker needs, and the notes that say which build it was.
strip --strip-unneeded "$root/usr/bin/windlass" "$root/usr/lib/$multiarch/windlass/libwindlass_preload.so" \
    "$root/usr/lib/$multiarch/windlass/libwindlass_trace.so" "$root/usr/lib/$multiarch/pkcs11/libwindlass_pkcs11.so"
put 755 packaging/hook/windlass etc/ca-certificates/update.d/windlass
put 644 packaging/systemd/windlass-compile.path usr/lib/systemd/system/windlass-compile.path
put 644 packaging/systemd/windlass-compile.service usr/lib/systemd/system/windlass-compile.service

# Everything that is made from the command's own definition: pages and completions.
page() { # name, arguments of windlass
    name=$1
    shift
    "$windlass" "$@" >"$work/$name"
    gzip -9n "$work/$name"
    put 644 "$work/$name.gz" "usr/share/man/man1/$name.gz"
}
page windlass.1 man
subcommands=$("$windlass" man -h | tr -s ' \n' ' ' | sed -n 's/.*\[possible values: \([^]]*\)\].*/\1/p' | tr -d ,)
for subcommand in $subcommands; do
    page "windlass-$subcommand.1" man "$subcommand"
done
completions() { # shell, path
    "$windlass" completions "$1" >"$work/completions"
    put 644 "$work/completions" "$2"
}
completions bash usr/share/bash-completion/completions/windlass
completions zsh usr/share/zsh/vendor-completions/_windlass
completions fish usr/share/fish/vendor_completions.d/windlass.fish

put 644 $here/copyright usr/share/doc/windlass/copyright
# What README.md and SECURITY.md name beside them is there too, at the same place.
for page in README.md SECURITY.md ARCHITECTURE.md docs/*.md; do
    put 644 "$page" "usr/share/doc/windlass/$page"
done
gzip -9nc $here/changelog >"$work/changelog"
put 644 "$work/changelog" usr/share/doc/windlass/changelog.Debian.gz

# What the programs need, from the symbols that they use. dpkg-shlibdeps wants to stand in a source package.
mkdir "$work/debian" "$root/DEBIAN"
: >"$root/DEBIAN/control"
printf 'Source: windlass\n\nPackage: windlass\nArchitecture: any\n' >"$work/debian/control"
depends=$(cd "$work" && dpkg-shlibdeps -O -eroot/usr/bin/windlass \
    "-eroot/usr/lib/$multiarch/windlass/libwindlass_preload.so" \
    "-eroot/usr/lib/$multiarch/windlass/libwindlass_trace.so" \
    "-eroot/usr/lib/$multiarch/pkcs11/libwindlass_pkcs11.so" | sed -n 's/^shlibs:Depends=//p')
[ -n "$depends" ]

size=$(find "$root" -path "$root/DEBIAN" -prune -o -type f -printf '%s\n' |
    awk '{ n += int(($1 + 1023) / 1024) } END { print n }')
sed -e "s/@VERSION@/$version/" -e "s/@ARCHITECTURE@/$architecture/" -e "s/@SIZE@/$size/" -e "s/@DEPENDS@/$depends/" \
    $here/control.in >"$root/DEBIAN/control"
echo /etc/ca-certificates/update.d/windlass >"$root/DEBIAN/conffiles"
(cd "$root" && find usr -type f | sort | xargs md5sum) >"$root/DEBIAN/md5sums"
hook=$(sha256sum "$root/etc/ca-certificates/update.d/windlass" | cut -d ' ' -f 1)
for script in preinst postinst prerm postrm; do
    sed -e "s|@LIBRARY@|/usr/lib/$multiarch/windlass/libwindlass_preload.so|" -e "s|@HOOK@|$hook|" \
        $here/$script >"$root/DEBIAN/$script"
done
chmod 644 "$root/DEBIAN"/*
chmod 755 "$root/DEBIAN/preinst" "$root/DEBIAN/postinst" "$root/DEBIAN/prerm" "$root/DEBIAN/postrm"

package="$output/windlass_${version}_$architecture.deb"
dpkg-deb --root-owner-group -Zxz --build "$root" "$work/package.deb" >/dev/null
mv "$work/package.deb" "$package"
echo "$package"
