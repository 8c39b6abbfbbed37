"""The sources of trust that the entry points are shown."""

import os
import pathlib
import shutil
import subprocess
import time

NOBODY = 65534


class Places:
    """`fresh()` is a directory of its own for each run, as entries.c wants it. All files in it are older than what
    counts as just written, unless they shall not be."""

    def __init__(self, pki, folder):
        self.pki, self.folder, self.count = pki, pathlib.Path(folder), 0
        self.model = self.folder / "model"
        model = self.model
        model.mkdir(parents=True)
        (model / "bundle.pem").write_bytes(pki.bundle.read_bytes())
        (model / "next.pem").write_bytes(pki.path("other.crt").read_bytes())
        (model / "secret.pem").write_bytes(pki.path("root.crt").read_bytes())
        (model / "secret.pem").chmod(0)
        (model / "empty.pem").write_bytes(b"")
        (model / "leaf.pem").write_bytes(pki.path("root.crt").read_bytes())
        (model / "other.pem").write_bytes(pki.path("other.crt").read_bytes())
        for name, certificate in (("hashed.1", "root.crt"), ("hashed.2", "other.crt"), ("locked", "root.crt")):
            (model / name).mkdir()
            (model / name / "a.pem").write_bytes(pki.path(certificate).read_bytes())
            subprocess.run(["/usr/bin/openssl", "rehash", model / name], check=True, stdout=subprocess.DEVNULL)
        (model / "empty").mkdir()
        (model / "locked").chmod(0)
        for link, target in (("hashed", "hashed.1"), ("hashed.next", "hashed.2"), ("none.dir", "none")):
            (model / link).symlink_to(target)

    def fresh(self, young=False, name="place"):
        place = self.folder / name
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(self.model, place, symlinks=True)
        for folder, _, files in os.walk(place):
            for path in (folder, *(os.path.join(folder, file) for file in files)):
                if os.geteuid() == 0:
                    os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
        if not young:
            time.sleep(0.15)
        return place
