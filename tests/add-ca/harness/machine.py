"""The machine's own trust, in this mount namespace: as it is, and one CA that belongs to the tests."""

import pathlib
import shutil
import subprocess

from pki import LEAF_EXTENSIONS, Pki, openssl

CERTS = pathlib.Path("/etc/ssl/certs")


class Certificates(Pki):
    """As for the other end-to-end tests: `root` > good, `other` > untrusted; and `machine` > normal."""

    def __init__(self, folder):
        super().__init__(folder)
        self._root("machine", "/C=XX/O=Windlass Tests/CN=Windlass Machine Root")
        self._leaf("normal", "machine", "DNS:localhost,IP:127.0.0.1")
        self._key("alone")
        self._extensions("alone", LEAF_EXTENSIONS + "subjectAltName=DNS:localhost\n")
        self._request("alone", "/CN=alone")
        openssl("x509", "-req", "-in", self.path("alone.csr"), "-signkey", self.path("alone.key"), "-days", "30",
                "-extfile", self.path("alone.ext"), "-out", self.path("alone.crt"))
        openssl("x509", "-req", "-in", self.path("root.csr"), "-signkey", self.path("root.key"), "-days", "-1",
                "-extfile", self.path("root.ext"), "-out", self.path("expired.crt"))


def trust(pki, folder):
    """Makes `machine` one of the machine's CAs: in the bundle, the hashed directory and Java's store."""
    copy = folder / "certs"
    shutil.copytree(CERTS, copy, symlinks=True)
    root = pki.path("machine.crt")
    with open(copy / "ca-certificates.crt", "ab") as bundle:
        bundle.write(root.read_bytes())
    name = openssl("x509", "-in", root, "-noout", "-subject_hash").decode().strip()
    (copy / f"{name}.0").write_bytes(root.read_bytes())
    subprocess.run(["keytool", "-importcert", "-noprompt", "-keystore", copy / "java" / "cacerts", "-storepass",
                    "changeit", "-alias", "windlass-test", "-file", root], check=True, timeout=300,
                   stderr=subprocess.DEVNULL)
    subprocess.run(["mount", "--bind", copy, CERTS], check=True, timeout=60)
