"""The package under test."""

import os
import pathlib
import shutil
import subprocess
import tempfile


class Package:
    """Built from the release build, or what WINDLASS, WINDLASS_PRELOAD_LIBRARY, WINDLASS_TRACE_LIBRARY and
    WINDLASS_PKCS11_LIBRARY name."""

    def __init__(self, source, target):
        self.source = source
        self.target = target
        self.windlass = pathlib.Path(os.environ.get("WINDLASS") or target / "release/windlass")
        self.library = pathlib.Path(os.environ.get("WINDLASS_PRELOAD_LIBRARY")
                                    or target / "release/libwindlass_preload.so")
        self.trace = pathlib.Path(os.environ.get("WINDLASS_TRACE_LIBRARY") or target / "release/libwindlass_trace.so")
        self.token = pathlib.Path(os.environ.get("WINDLASS_PKCS11_LIBRARY") or target / "release/libwindlass_pkcs11.so")
        self.path = self.build(target / "debian")

    def build(self, folder):
        built = subprocess.run([self.source / "packaging/debian/build.sh", folder], check=True, capture_output=True,
                               text=True, env={**os.environ, "WINDLASS": str(self.windlass),
                                    "WINDLASS_PRELOAD_LIBRARY": str(self.library),
                                    "WINDLASS_TRACE_LIBRARY": str(self.trace),
                                               "WINDLASS_PKCS11_LIBRARY": str(self.token)})
        return pathlib.Path(built.stdout.strip())

    def field(self, name):
        return subprocess.run(["dpkg-deb", "--field", self.path, name], check=True, capture_output=True,
                              text=True).stdout.strip()

    def put(self, root):
        """Copies it where a root can install it from; the comparison of trees leaves that directory out."""
        (root / "srv/packages").mkdir(exist_ok=True)
        shutil.copy(self.path, root / "srv/packages")
        return f"/srv/packages/{self.path.name}"

    def install(self, root):
        return root.run("dpkg", "--install", self.put(root))

    def changed(self, change):
        """A copy of the package with something different in it: `change` gets the unpacked directory."""
        other = object.__new__(Package)
        other.__dict__.update(self.__dict__)
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.target / "packaging"))
        try:
            subprocess.run(["dpkg-deb", "-R", self.path, folder / "root"], check=True)
            change(folder / "root")
            other.path = folder.with_suffix(".deb")
            subprocess.run(["dpkg-deb", "--root-owner-group", "-Zgzip", "--build", folder / "root", other.path],
                           check=True, capture_output=True)
        finally:
            shutil.rmtree(folder)
        return other
