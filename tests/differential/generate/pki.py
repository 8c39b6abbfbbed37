"""A small fixed set of certificates for the suites about loading."""

from . import forge
from .forge import cert_pem, certificate, crl, crl_pem, extensions, name, trusted_pem


def ca_name(title, string="utf8"):
    return name(("C", "XX", "printable"), ("O", "Loading"), ("CN", title, string))


class Pki:
    """Roots r0..r5, twins and relatives of r0, a leaf below each, and CRLs.

    `order` fixes the indices scripts use ("0:N") once all.pem is bag 0.
    """

    def __init__(self, signer):
        self.signer = signer
        self.der, self.order = {}, []
        self.keys = {n: forge.Key(signer, f"pki {n}") for n in
                     ("r0", "r1", "r2", "r3", "r4", "r5", "twin", "cross", "leaf", "inter")}
        for n in range(6):
            self.root(f"r{n}", ca_name(f"Root {n}"), f"r{n}", 100 + n)
        # Relatives of r0: the orders in which these are tried decide chains.
        self.root("twin", ca_name("Root 0"), "twin", 200)
        self.root("renewed", ca_name("Root 0"), "r0", 201, start="20240101000000")
        self.root("expired", ca_name("Root 0"), "r0", 202, end="20250101000000")
        self.root("shouted", ca_name("ROOT  0"), "r0", 203)
        self.root("bmp", ca_name("Root 0", "bmp"), "r0", 204)
        self.issue("cross", ca_name("Root 0"), "r0", "Root 1", "r1", 205)
        self.issue("inter", ca_name("Intermediate"), "inter", "Root 0", "r0", 206)
        for n in range(6):
            self.leaf(f"leaf{n}", f"Root {n}", f"r{n}", 300 + n)
        self.leaf("leaf_twin", "Root 0", "twin", 310)
        self.leaf("leaf_inter", "Intermediate", "inter", 311)
        self.leaf("revoked", "Root 0", "r0", 312)
        self.crls = [
            crl(ca_name("Root 0"), self.keys["r0"], 1, [312]),
            crl(ca_name("Root 0"), self.keys["r0"], 2, [312], start="20260520000000"),
            crl(ca_name("Root 1"), self.keys["r1"], 1),
            crl(ca_name("Intermediate"), self.keys["inter"], 1),
        ]

    def add(self, label, der):
        self.der[label] = der
        self.order.append(label)

    def root(self, label, subject, key, serial, **dates):
        k = self.keys[key]
        self.add(label, certificate(
            subject, k, subject, k, serial,
            extension_list=extensions(ca=True, ski=k.key_id, usage=forge.CERT_SIGN), **dates))

    def issue(self, label, subject, key, issuer, issuer_key, serial):
        self.add(label, certificate(
            subject, self.keys[key], ca_name(issuer), self.keys[issuer_key], serial,
            extension_list=extensions(ca=True, ski=self.keys[key].key_id,
                                      usage=forge.CERT_SIGN)))

    def leaf(self, label, issuer, issuer_key, serial):
        self.add(label, certificate(
            name(("CN", label)), self.keys["leaf"], ca_name(issuer), self.keys[issuer_key], serial,
            "20260101000000", "20270101000000",
            extensions(ca=False, eku=("server", "client"), dns=("good.test",))))

    def ref(self, label):
        return f"0:{self.order.index(label)}"

    def pem(self, *labels):
        return "".join(cert_pem(self.der[label]) for label in labels).encode()

    def hash_of(self, title, old=False):
        return self.signer.ask("hash", ca_name(title).hex()).split()[old]

    def files(self):
        """What every case finds in its folder."""
        h0, h1, h2, h3, h4 = (self.hash_of(f"Root {n}") for n in range(5))
        crl_text = [crl_pem(c).encode() for c in self.crls]
        return {
            "all.pem": self.pem(*self.order),
            "crls.pem": b"".join(crl_text),
            "roots.pem": self.pem("r0", "r1", "twin", "r2", "renewed", "r3"),
            "other.pem": self.pem("r4", "cross", "r5", "shouted"),
            "relatives.pem": self.pem("expired", "bmp", "twin", "r0", "shouted", "renewed"),
            "one.pem": self.pem("r1"),
            "same.pem": self.pem("r1", "r1", "r0", "r1", "r0"),
            "inter.pem": self.pem("inter", "r0"),
            "with-crl.pem": self.pem("r0") + crl_text[0] + self.pem("r1") + crl_text[2],
            "crl-only.pem": crl_text[0] + crl_text[1],
            "trusted.pem": self.pem("r2") + trusted_pem(
                self.der["r0"], ("client",), ("server",), "alias 0").encode() + self.pem("r1"),
            "rejected.pem": trusted_pem(self.der["r0"], (), ("any",)).encode(),
            "comments.pem": b"# Root 1\n=====\nsubject: x\n\n" + self.pem("r1") + b"\ntext\n"
                            + self.pem("r2") + b"\n\n",
            "one.der": self.der["r1"],
            "crl.der": self.crls[0],
            "key.pem": self.keys["r0"].pem().encode(),
            "leaf0.pem": self.pem("leaf0"), "leaf1.pem": self.pem("leaf1"),
            "leaf_inter.pem": self.pem("leaf_inter"), "leaf.key": self.keys["leaf"].pem().encode(),
            "broken.pem": self.pem("r0") + self.pem("r1").replace(b"M", b"-", 1),
            "empty.pem": b"",
            "linked.pem": "roots.pem",
            "dangling.pem": "nothing-here.pem",
            # Hashed directories: plain; with strays; with gaps and links.
            f"dir/{h0}.0": self.pem("twin"), f"dir/{h0}.1": self.pem("r0"),
            f"dir/{h1}.0": self.pem("r1"), f"dir/{h0}.r0": crl_text[0],
            f"dir/{h2}.0": self.pem("r2"),
            f"strays/{h0}.0": self.pem("r3", "r0", "r4"), f"strays/{h1}.0": self.pem("r2"),
            f"strays/{h2}.0": self.pem("r2") + crl_text[2],
            f"strays/{h3}.0": trusted_pem(self.der["r3"], (), ("server",)).encode(),
            f"gaps/{h0}.1": self.pem("r0"), f"gaps/{h1}.0": "missing", f"gaps/{h1}.1": self.pem("r1"),
            f"gaps/{h2}.0": f"../dir/{h2}.0", f"gaps/{h3}.0": b"", f"gaps/{h3}.1": self.pem("r3"),
            f"gaps/{h4}.0": self.pem("r4")[:200], f"gaps/{h4}.1": self.pem("r4"),
            f"crldir/{h0}.r0": crl_text[0], f"crldir/{h0}.r1": crl_text[1],
            "bare": None,
        }

    def start(self):
        """The first lines of every script."""
        return ["bag 0 all.pem", "crls 0 crls.pem"]
