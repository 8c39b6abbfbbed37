# shellcheck shell=sh
# For scripts that build what the tests need from Debian's own packages. To be sourced with `out` set to a folder: apt's
# lists go below it, and nothing is installed.

keyring=/usr/share/keyrings/debian-archive-keyring.gpg
# The archive that this machine itself uses.
mirror=$(. /etc/os-release && apt-get indextargets --format '$(RELEASE) $(SITE)' 'Created-By: Packages' 2>/dev/null |
    sed -n "s/^$VERSION_CODENAME //p" | grep -v security | head -n 1)

# An apt that knows the sources in $out/apt/sources.list, and nothing of this machine's configuration of releases.
apt() { # command, arguments...
    tool=$1
    shift
    # apt drops root's rights to download, and the folder may be closed to that user.
    "$tool" -q -q -o Dir::Etc::SourceList="$out/apt/sources.list" -o Dir::Etc::SourceParts=- \
        -o Dir::Etc::Preferences=- \
        -o Dir::Etc::PreferencesParts=- -o Dir::State::Lists="$out/apt/lists" -o Dir::Cache="$out/apt/cache" \
        -o Acquire::Languages=none -o Acquire::Retries=3 -o APT::Sandbox::User=root "$@"
}

# Asks Debian for the lists of these releases.
lists() { # "deb", "deb-src" or both, release...
    kinds=$1
    shift
    mkdir -p "$out/apt/lists/partial" "$out/apt/cache/archives/partial"
    for release in "$@"; do
        for kind in $kinds; do
            echo "$kind [signed-by=$keyring] $mirror $release main"
        done
    done >"$out/apt/sources.list"
    apt apt-get -o APT::Update::Error-Mode=any update
}

# Unpacks a source package, "name" or "name=version", into a folder, with Debian's patches.
unpack() { # package, folder, option of dpkg-source...
    package=$1
    folder=$2
    shift 2
    rm -rf "$folder" "$out/download" && mkdir "$out/download" &&
        (cd "$out/download" && apt apt-get source --download-only "$package") &&
        # apt has checked the hashes of these files against the signed lists; dpkg-source would look for the uploader's
        # key.
        dpkg-source --no-check "$@" -x "$out/download/"*.dsc "$folder" && rm -r "$out/download"
}
