"""A CA, a chain below it, and bundles in which it is trusted, distrusted, limited or absent. The machine's own roots
are in all."""

import os
import subprocess

from sides import BUNDLE

CA = ["basicConstraints=critical,CA:TRUE", "keyUsage=critical,keyCertSign,cRLSign"]


class Pki:
    def __init__(self, folder):
        self.folder = folder
        self.self_signed("ca", "/O=Windlass/CN=Windlass Test CA")
        self.self_signed("other", "/O=Windlass/CN=Windlass Other CA")
        with open(self.path("leaf.ext"), "w", encoding="ascii") as file:
            file.write("subjectAltName=DNS:localhost,IP:127.0.0.1\nbasicConstraints=CA:FALSE\n"
                       "extendedKeyUsage=serverAuth\n")
        openssl("req", "-new", *KEY, "-keyout", self.path("leaf.key"), "-out", self.path("leaf.csr"), "-subj",
                "/CN=localhost")
        openssl(
            "x509", "-req", "-in", self.path("leaf.csr"), "-CA", self.path("ca.pem"), "-CAkey", self.path("ca.key"),
            "-CAcreateserial", "-days", "300", "-extfile", self.path("leaf.ext"), "-out", self.path("leaf.pem"),
        )
        own = {
            "trusted": read(self.path("ca.pem")),
            "absent": read(self.path("other.pem")),
            "distrusted": openssl("x509", "-in", self.path("ca.pem"), "-trustout", "-addreject", "serverAuth"),
            "limited": openssl("x509", "-in", self.path("ca.pem"), "-trustout", "-addtrust", "emailProtection"),
            # The chain's own certificate is distrusted, its CA trusted.
            "revoked": read(self.path("ca.pem")) + openssl("x509", "-in", self.path("leaf.pem"), "-trustout",
                                                           "-addreject", "serverAuth"),
            "allowed": openssl("x509", "-in", self.path("ca.pem"), "-trustout", "-addtrust", "serverAuth"),
        }
        self.bundles = {}
        for name, text in own.items():
            self.bundles[name] = self.path(name + "-bundle.pem")
            with open(self.bundles[name], "w", encoding="ascii") as file:
                file.write(read(BUNDLE) + text)
        # p11-kit takes the whole chain's issuer from the token: only the leaf is shown to it.
        self.chain, self.key = self.path("leaf.pem"), self.path("leaf.key")

    def path(self, name):
        return os.path.join(self.folder, name)

    def self_signed(self, name, subject):
        extensions = [part for extension in CA for part in ("-addext", extension)]
        openssl(
            "req", "-x509", *KEY, "-days", "300", "-keyout", self.path(name + ".key"), "-out", self.path(name + ".pem"),
            "-subj", subject, *extensions,
        )


KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def openssl(*arguments):
    done = subprocess.run(["openssl", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
