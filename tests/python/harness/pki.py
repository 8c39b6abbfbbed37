"""A certification authority of our own, in a bundle with all of the machine's."""

import pathlib
import subprocess

BUNDLE = pathlib.Path("/etc/ssl/certs/ca-certificates.crt")


class Authority:
    """`bundle` has the machine's roots and ours; `other` the machine's alone."""

    def __init__(self, folder):
        folder.mkdir()
        self.folder = folder
        self.key, self.certificate = folder / "ca.key", folder / "ca.pem"
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30",
                "-subj", "/CN=Test authority", "-keyout", self.key, "-out", self.certificate,
                "-addext", "keyUsage=critical,keyCertSign,cRLSign")
        leaf, request, extensions = folder / "leaf.pem", folder / "leaf.csr", folder / "leaf.cnf"
        extensions.write_text("subjectAltName=DNS:localhost\nauthorityKeyIdentifier=keyid\n"
                              "basicConstraints=critical,CA:FALSE\n")
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=localhost",
                "-keyout", folder / "leaf.key", "-out", request)
        openssl("x509", "-req", "-in", request, "-CA", self.certificate, "-CAkey", self.key, "-days", "30",
                "-extfile", extensions, "-out", leaf)
        self.chain = folder / "chain.pem"
        self.chain.write_bytes(leaf.read_bytes() + (folder / "leaf.key").read_bytes())
        self.bundle, self.other = folder / "bundle.pem", folder / "other.pem"
        self.bundle.write_bytes(BUNDLE.read_bytes() + self.certificate.read_bytes())
        self.other.write_bytes(BUNDLE.read_bytes())


def openssl(*arguments):
    subprocess.run(["openssl", *map(str, arguments)], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   stderr=subprocess.PIPE)
