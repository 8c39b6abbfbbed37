"""The certificates and files that the suites about loading have: those of the OpenSSL tests, and some more."""

import pathlib
import subprocess
import tempfile

from generate import forge
from generate.forge import certificate, crl_pem, extensions, name
from generate.pki import Pki, ca_name

from . import ocsp


class GnutlsPki(Pki):
    def __init__(self, signer):
        super().__init__(signer)
        r0, leaf = self.keys["r0"], self.keys["leaf"]
        self.add("v1", certificate(ca_name("Root 0"), r0, ca_name("Root 0"), r0, 400, version=1))
        self.add("no_ca", certificate(ca_name("Root 4"), self.keys["r4"], ca_name("Root 4"), self.keys["r4"], 401,
                                      extension_list=extensions(ca=False)))
        self.add("responder", certificate(
            name(("CN", "Responder")), self.keys["cross"], ca_name("Root 0"), r0, 402,
            extension_list=extensions(ca=False, extra=(ocsp.purpose(),))))
        self.add("alone", certificate(name(("CN", "alone")), leaf, name(("CN", "alone")), leaf, 403,
                                      extension_list=extensions(ca=False, dns=("good.test",))))

    def responses(self):
        """Responses about leaf0, serial 300 below Root 0."""
        r0, r1, twin, cross = (self.keys[n] for n in ("r0", "r1", "twin", "cross"))
        root, about = ca_name("Root 0"), (ca_name("Root 0"), self.keys["r0"], 300)
        responder = name(("CN", "Responder"))
        made = {
            "by-name": ocsp.response(*about, r0, root), "by-key": ocsp.response(*about, r0, r0),
            "with-cert": ocsp.response(*about, r0, root, [self.der["r0"]]),
            "with-cert-by-key": ocsp.response(*about, r0, r0, [self.der["r0"], self.der["r1"]]),
            "delegated": ocsp.response(*about, cross, responder, [self.der["responder"]]),
            "delegated-absent": ocsp.response(*about, cross, responder),
            "twin": ocsp.response(*about, twin, root), "twin-by-key": ocsp.response(*about, twin, twin),
            "twin-cert": ocsp.response(*about, twin, root, [self.der["twin"]]),
            "other": ocsp.response(*about, r1, ca_name("Root 1")),
            "wrong-key": ocsp.response(*about, r1, root), "unknown": ocsp.response(*about, r1, ca_name("Nobody")),
            "revoked": ocsp.response(*about, r0, root, status=0xA1),
            "old": ocsp.response(*about, r0, root, following="20260101000000", produced="20250101000000"),
        }
        return {f"ocsp-{label}.der": der for label, der in made.items()}

    def signatures(self):
        """PKCS#7 messages over data.txt, with and without the signer's certificate."""
        with tempfile.TemporaryDirectory() as place:
            place = pathlib.Path(place)
            (place / "data.txt").write_bytes(b"signed data\n")
            (place / "leaf.key").write_bytes(self.keys["leaf"].pem().encode())
            out = {"data.txt": b"signed data\n"}
            for leaf in ("leaf0", "leaf1", "alone"):
                (place / "leaf.pem").write_bytes(self.pem(leaf))
                for label, more in (("", ()), ("-bare", ("-nocerts",))):
                    out[f"{leaf}{label}.p7"] = subprocess.run(
                        ["/usr/bin/openssl", "smime", "-sign", "-binary", "-outform", "PEM", "-in", "data.txt",
                         "-signer", "leaf.pem", "-inkey", "leaf.key", *more], cwd=place, check=True, timeout=60,
                        stdout=subprocess.PIPE, stderr=subprocess.PIPE).stdout
            return out

    def files(self):
        """What every case finds in its folder."""
        files = super().files()
        good, other = self.pem("r0", "r1", "r2"), self.pem("r3")
        bad = other.replace(b"M", b"-", 1)
        cut = forge.cert_pem(self.der["r3"][:-20]).encode()
        files.update({
            "bad-start.pem": bad + good, "bad-middle.pem": self.pem("r0") + bad + self.pem("r1", "r2"),
            "bad-end.pem": good + bad, "cut-start.pem": cut + good,
            "cut-middle.pem": self.pem("r0") + cut + self.pem("r1", "r2"), "cut-end.pem": good + cut,
            "text.pem": b"no certificate at all\n", "half.pem": good[:700], "two.der": self.der["r1"] + self.der["r2"],
            "v1.pem": self.pem("v1", "r1"), "no-ca.pem": self.pem("r1", "no_ca", "r4"),
            "leaves.pem": self.pem("leaf0", "alone"),
            "key-first.pem": self.keys["r0"].pem().encode() + good, "intermediate.pem": self.pem("inter"),
            "bad-crl.pem": crl_pem(self.crls[0][:-9]).encode(),
            "chain.pem": self.pem("leaf_inter", "inter"), "chain-root.pem": self.pem("leaf_inter", "inter", "r0"),
            "leaf_twin.pem": self.pem("leaf_twin"), "revoked.pem": self.pem("revoked"), "alone.pem": self.pem("alone"),
            "names/b.pem": self.pem("r1"), "names/a.pem": self.pem("r0", "twin"), "names/c.txt": b"text",
            "names/d.pem": "../one.pem", "names/e": None, "names/f.pem": "nothing",
            "names/g.crl": crl_pem(self.crls[0]).encode(),
        })
        files.update(self.responses())
        files.update(self.signatures())
        return files

    def start(self, audited=False):
        """audited: somebody listens to what GnuTLS says of a certificate that is no CA."""
        return ["audit 1"] * audited + ["bag 0 all.pem"]
