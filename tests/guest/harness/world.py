"""What all cases share: the library, the programs, servers and places."""

import collections
import os
import pathlib
import shutil
import subprocess

import builds

HERE = pathlib.Path(__file__).resolve().parent.parent
ROOT = HERE.parent.parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target").resolve()
Program = collections.namedtuple("Program", "name path")
GNUTLS = ("system",)
# What `make test` runs: the entry points that most programs use, and all of the other suites but what is slow.
SAMPLE_ENTRIES = {"load_locations_both", "default_paths_both", "lookup_load_file", "client_ca", "trust_file",
                  "trust_dir"}
SAMPLE_BUILDS = {"system", "4.0.3-bsymbolic", "gnutls-system"}


class World:
    def __init__(self, folder, pki, places, sample):
        self.folder, self.pki, self.places, self.sample = folder, pki, places, sample
        self.library = pathlib.Path(os.environ.get("WINDLASS_PRELOAD_LIBRARY")
                                    or TARGET / "release/libwindlass_preload.so")
        self.windlass = pathlib.Path(os.environ.get("WINDLASS") or TARGET / "release/windlass")
        self.hosts = None

    def programs(self, source, *libraries):
        """A driver, one for each build of a library."""
        for build in builds.BUILDS:
            if build == "system" or builds.prefix(build).joinpath("stamp").exists():
                yield Program(build, self.c(source, "-lssl", "-lcrypto", *libraries, build=build))
        for build in GNUTLS:
            yield Program(f"gnutls-{build}", self.c(f"{source}_gnutls", "-lgnutls", *libraries))

    def c(self, name, *libraries, build="system", flags=()):
        """Everybody may read and run it, as nobody does."""
        output = TARGET / "guest" / f"{name}-{build}"
        builds.compile_c([HERE / "programs" / f"{name}.c"], output, build, extra=flags, libraries=libraries)
        copy = self.folder / output.name
        if not copy.exists():
            shutil.copy(output, copy)
        return copy

    def is_in_sample(self, name):
        kind, build, *rest = name.split(" ")
        if kind == "filter:":
            return build in {"system", "gnutls-system"}
        if kind == "chronyd:":
            return name in {"chronyd: -F 1 ntstrustedcerts", "chronyd: -F 1 refused", "chronyd: -F 2 ntstrustedcerts"}
        if kind == "program:":
            return not name.endswith(" compiled") and "untrusted file" not in name
        if kind != "entry:":
            return True
        mode, entry = rest
        return build in SAMPLE_BUILDS and mode != "young" and entry in SAMPLE_ENTRIES

    def main_mark(self):
        return self.c("main_mark", flags=("-shared", "-fPIC"))

    def compiled(self, place):
        """A directory with the compiled store of a place's bundle."""
        return self.compiled_of(place / "bundle.pem")

    def compiled_of(self, bundle):
        directory = self.folder / "compiled"
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir()
        subprocess.run([self.windlass, "compile", "--store", directory, bundle], check=True, timeout=600,
                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env={"PATH": "/usr/bin:/bin"})
        return directory

    @staticmethod
    def installed(directory):
        """Runs a command where this is the machine's own directory of compiled stores, and nothing else is changed."""
        assert os.geteuid() == 0, "needs root: sudo tests/guest/run.sh"
        script = ('set -e; mount -t tmpfs -o mode=755 none /var/cache; mkdir -m 755 /var/cache/windlass; '
                  'cp "$0"/* /var/cache/windlass; exec "$@"')
        return ["/usr/bin/unshare", "-m", "/bin/sh", "-c", script, directory]

    def stop(self):
        if self.hosts:
            self.hosts.stop()
