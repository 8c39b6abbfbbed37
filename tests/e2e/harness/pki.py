"""The certificates of the tests, made anew for each run with the openssl command."""

import os
import pathlib
import subprocess

SYSTEM_BUNDLE = pathlib.Path("/etc/ssl/certs/ca-certificates.crt")

ROOT_EXTENSIONS = ("basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign,cRLSign\n"
                   "subjectKeyIdentifier=hash\n")
LEAF_EXTENSIONS = "basicConstraints=critical,CA:FALSE\nextendedKeyUsage=serverAuth,clientAuth\n" \
    "subjectKeyIdentifier=hash\nauthorityKeyIdentifier=keyid\n"


class Pki:
    """Two hierarchies: `root` > `intermediate` > good, wrong, client; and `other` (not trusted) > untrusted, stranger.

    bundle     Debian's bundle with the trusted root appended
    capath     a hashed directory with the trusted root alone
    chains     <name>.pem holds leaf (and intermediate), <name>.key its key
    """

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir()
        self._root("root", "/C=XX/O=Windlass Tests/CN=Windlass Test Root")
        self._root("other", "/C=XX/O=Windlass Tests/CN=Windlass Untrusted Root")
        self._root("twin", "/C=XX/O=Windlass Tests/CN=Windlass Test Root")
        self._issue("intermediate", "root", "/C=XX/O=Windlass Tests/CN=Windlass Test Intermediate",
                    ROOT_EXTENSIONS + "authorityKeyIdentifier=keyid\n")
        self._leaf("good", "intermediate", "DNS:localhost,IP:127.0.0.1")
        self._leaf("wrong", "intermediate", "DNS:wrong.example")
        self._leaf("client", "intermediate", "DNS:client.example")
        self._leaf("untrusted", "other", "DNS:localhost,IP:127.0.0.1")
        self._leaf("stranger", "other", "DNS:stranger.example")
        root = self.path("root.crt").read_bytes()
        # As many as Debian's bundle has here, an administrator's own roots included; a store holds each once.
        self.system_count = len(set(SYSTEM_BUNDLE.read_bytes().split(b"-----BEGIN CERTIFICATE-----")[1:]))
        self.count = self.system_count + 1
        self.bundle = self.path("bundle.pem")
        self.bundle.write_bytes(SYSTEM_BUNDLE.read_bytes() + root)
        # A list of CA names holds each name once; some of Debian's releases have two certificates of one CA.
        self.name_count = len(subjects(self.bundle))
        self.capath = self.path("capath")
        self.capath.mkdir()
        (self.capath / "root.pem").write_bytes(root)
        openssl("rehash", self.capath)
        self.twins = self.path("twins.pem")
        # All but the last are of another key than the chains need: adding them one by one takes a moment.
        twin = ("x509", "-req", "-in", self.path("twin.csr"), "-signkey", self.path("twin.key"), "-days", "30",
                "-sha256", "-extfile", self.path("twin.ext"))
        self.twins.write_bytes(b"".join(openssl(*twin) for _ in range(40)) + root)
        self.broken = self.path("broken.pem")
        self.broken.write_bytes(SYSTEM_BUNDLE.read_bytes()[:60_000] + b"\n" + root)
        self.trusted_certificate = self.path("trusted-certificate.pem")
        openssl("x509", "-in", self.path("root.crt"), "-trustout", "-addtrust", "serverAuth",
                "-out", self.trusted_certificate)
        self.rejecting_certificate = self.path("rejecting-certificate.pem")
        openssl("x509", "-in", self.path("root.crt"), "-trustout", "-addreject", "serverAuth",
                "-out", self.rejecting_certificate)
        self.empty = self.path("empty.pem")
        self.empty.write_bytes(b"")

    def path(self, name):
        return self.folder / name

    def _root(self, name, subject):
        self._key(name)
        self._extensions(name, ROOT_EXTENSIONS)
        self._request(name, subject)
        openssl("x509", "-req", "-in", self.path(name + ".csr"), "-signkey", self.path(name + ".key"), "-days", "30",
                "-sha256", "-extfile", self.path(name + ".ext"), "-out", self.path(name + ".crt"))

    def _leaf(self, name, issuer, names):
        self._issue(name, issuer, "/C=XX/O=Windlass Tests/CN=" + name, LEAF_EXTENSIONS + f"subjectAltName={names}\n")
        chain = self.path(name + ".crt").read_bytes()
        if issuer == "intermediate":
            chain += self.path("intermediate.crt").read_bytes()
        self.path(name + ".pem").write_bytes(chain)

    def _issue(self, name, issuer, subject, extensions):
        self._key(name)
        self._extensions(name, extensions)
        self._request(name, subject)
        openssl("x509", "-req", "-in", self.path(name + ".csr"), "-CA", self.path(issuer + ".crt"),
                "-CAkey", self.path(issuer + ".key"), "-CAcreateserial", "-days", "30", "-sha256",
                "-extfile", self.path(name + ".ext"), "-out", self.path(name + ".crt"))

    def _key(self, name):
        openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", self.path(name + ".key"))

    def _extensions(self, name, text):
        self.path(name + ".ext").write_text(text)

    def _request(self, name, subject):
        openssl("req", "-new", "-key", self.path(name + ".key"), "-subj", subject, "-out", self.path(name + ".csr"))


def openssl(*arguments, input=b""):
    """What the command writes."""
    return subprocess.run(["/usr/bin/openssl", *map(os.fspath, arguments)], check=True, timeout=600, input=input,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={"PATH": os.environ["PATH"]}).stdout


def subjects(bundle):
    """The distinct subjects of a file of certificates."""
    collection = openssl("crl2pkcs7", "-nocrl", "-certfile", bundle)
    lines = openssl("pkcs7", "-print_certs", "-noout", input=collection).splitlines()
    return {line for line in lines if line.startswith(b"subject=")}
