"""The certificates of these tests: those of the end-to-end tests, and a smaller bundle, as each case loads it dozens of
times."""

from pki import SYSTEM_BUNDLE, Pki, openssl

BEGIN = b"-----BEGIN CERTIFICATE-----"
CONFIG = """[ca]
default_ca = this
[this]
database = {folder}/index.txt
default_md = sha256
default_crl_days = 30
"""


class Certificates(Pki):
    """few       a dozen of Debian's roots and the trusted root, with another of the same subject before it
    crl       of the trusted root
    ocsp      the trusted root says that `intermediate` is good
    """

    def __init__(self, folder):
        super().__init__(folder)
        some = [BEGIN + text for text in SYSTEM_BUNDLE.read_bytes().split(BEGIN)[1:13]]
        twin = self.twins.read_bytes().split(BEGIN)[1]
        self.few = self.path("few.pem")
        self.few.write_bytes(b"".join(some[:6]) + BEGIN + twin + b"".join(some[6:])
                             + self.path("root.crt").read_bytes())
        self.few_broken = self.path("few-broken.pem")
        self.few_broken.write_bytes(self.few.read_bytes()[:9_000] + b"\n" + self.path("root.crt").read_bytes())
        config, index = self.path("ca.cnf"), self.path("index.txt")
        config.write_text(CONFIG.format(folder=self.folder))
        index.write_text("")
        root = ("-keyfile", self.path("root.key"), "-cert", self.path("root.crt"))
        self.crl = self.path("root.crl")
        openssl("ca", "-gencrl", "-config", config, *root, "-out", self.crl)
        openssl("ca", "-valid", self.path("intermediate.crt"), "-config", config, *root)
        self.ocsp = self.path("intermediate.ocsp")
        openssl("ocsp", "-index", index, "-CA", self.path("root.crt"), "-rsigner", self.path("root.crt"), "-rkey",
                self.path("root.key"), "-issuer", self.path("root.crt"), "-cert", self.path("intermediate.crt"),
                "-noverify", "-ndays", "30", "-respout", self.ocsp)

    def env(self):
        """What the scripts load."""
        named = {"BUNDLE": self.few, "CAPATH": self.capath, "CAPATH_FILE": self.capath / "root.pem",
                 "CHAIN": self.path("good.crt"), "UNTRUSTED": self.path("untrusted.crt"),
                 "INTERMEDIATE": self.path("intermediate.crt"), "ROOT": self.path("root.crt"),
                 "TWIN": self.twins, "BROKEN": self.few_broken, "CRL": self.crl, "OCSP": self.ocsp,
                 "URI": f"file:{self.few}"}
        return {"SSL_CERT_FILE": self.few, "SSL_CERT_DIR": self.capath,
                **{f"FIELD_{name}": path for name, path in named.items()}}
