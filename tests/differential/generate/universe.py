"""Generated hierarchies in which many anchors share a subject, and the
verifications run over them.

A universe has a handful of CA names and keys. Every pair is a possible CA; it
gets several certificates: self-signed, cross-signed by others, expired twins,
with right, wrong or no key identifiers, with spellings of the name that are
canonically equal. Stores are loaded from ever different choices of them.
"""

import random

from . import forge
from .forge import cert_pem, certificate, crl, crl_pem, extensions, name, trusted_pem

SPELLINGS = (
    lambda s: (s, "utf8"),
    lambda s: (s, "utf8"),
    lambda s: (s, "printable"),
    lambda s: (s.upper(), "printable"),
    lambda s: ("  " + s.replace(" ", "   ") + " ", "utf8"),
    lambda s: (s, "bmp"),
    lambda s: (s, "t61"),
)

# X509_V_FLAG_*: the ones that change how a chain is built or judged.
CRL_CHECK, CRL_CHECK_ALL, X509_STRICT = 0x4, 0x8, 0x20
TRUSTED_FIRST, PARTIAL_CHAIN, NO_ALT_CHAINS = 0x8000, 0x80000, 0x100000
CHECK_SS, NO_CHECK_TIME, USE_DELTAS = 0x4000, 0x200000, 0x2000
FLAGS = (
    0, 0, 0, TRUSTED_FIRST, PARTIAL_CHAIN, NO_ALT_CHAINS, PARTIAL_CHAIN | TRUSTED_FIRST,
    CRL_CHECK, CRL_CHECK | CRL_CHECK_ALL, CRL_CHECK | PARTIAL_CHAIN, X509_STRICT, CHECK_SS,
    NO_CHECK_TIME, NO_CHECK_TIME | PARTIAL_CHAIN, CRL_CHECK | CRL_CHECK_ALL | USE_DELTAS,
)


class Universe:
    """One seed's certificates, files and script."""

    def __init__(self, signer, seed):
        self.random = random.Random(f"universe {seed}")
        self.seed = seed
        self.signer = signer
        self.titles = [f"Test CA {letter}" for letter in "ABCD"[: self.random.randint(2, 4)]]
        self.keys = [forge.Key(signer, f"{seed} ca key {n}") for n in range(self.random.randint(3, 6))]
        self.cas = []  # (der, title, key, subject, serial)
        self.leaves = []
        self.crls = []
        self.files = {}

    def spelling(self, title):
        return name(("C", "XX", "printable"), ("CN", *self.random.choice(SPELLINGS)(title)))

    def make(self):
        r = self.random
        entities = [(t, k) for t in self.titles for k in self.keys if r.random() < 0.6]
        entities = entities or [(self.titles[0], self.keys[0])]
        for _ in range(r.randint(14, 26)):
            self.add_ca(entities)
        for n in range(9):
            self.add_leaf(entities, n)
        for title, key in entities:
            for n in range(r.choice((0, 1, 1, 2))):
                revoked = [c[4] for c in self.leaves + self.cas if r.random() < 0.08]
                self.crls.append(crl(
                    self.spelling(title), key, n + 1, revoked,
                    end=r.choice(("20270101000000",) * 4 + ("20260520000000",)),
                    aki=r.choice((None, key.key_id)),
                ))
        r.shuffle(self.cas)
        self.files["all.pem"] = "".join(
            cert_pem(c[0]) for c in self.cas + self.leaves).encode()
        self.files["crls.pem"] = "".join(crl_pem(c) for c in self.crls).encode()

    def issuer_fields(self, issuer, key, issuer_serial):
        """AKI of every sort: right, wrong, with issuer and serial, absent."""
        r = self.random
        kind = r.random()
        if kind < 0.35:
            return {}
        if kind < 0.8:
            return {"aki": key.key_id}
        if kind < 0.87:
            return {"aki": r.choice(self.keys).key_id}
        return {"aki": r.choice((None, key.key_id)), "aki_issuer": (issuer, issuer_serial)}

    def add_ca(self, entities):
        r = self.random
        title, key = r.choice(entities)
        subject = self.spelling(title)
        serial = r.randint(1, 1 << 40)
        if r.random() < 0.5 or not self.cas:
            issuer, issuer_key, issuer_serial = subject, key, serial
        else:
            _, other, issuer_key, issuer, issuer_serial = r.choice(self.cas)
            if r.random() < 0.3:
                issuer = self.spelling(other)
        start, end = r.choice((
            ("20200101000000", "20350101000000"), ("20210101000000", "20340101000000"),
            ("20190101000000", "20360101000000"), ("20200101000000", "20360101000000"),
            ("20200101000000", "20250101000000"), ("20210101000000", "20260101000000"),
            ("20280101000000", "20350101000000"),
        ))
        fields = self.issuer_fields(issuer, issuer_key, issuer_serial)
        ca = r.choice((True,) * 30 + (False, None))
        der = certificate(
            subject, key, issuer, issuer_key, serial, start, end,
            extensions(
                ca=ca, pathlen=r.choice((None,) * 8 + (0, 1)) if ca else None,
                ski=r.choice((key.key_id,) * 5 + (None, None, r.choice(self.keys).key_id)),
                usage=r.choice((None,) * 5 + (forge.CERT_SIGN,) * 14 + (forge.DIGITAL_SIGNATURE,)),
                eku=r.choice(((),) * 14 + (("server",), ("client",))),
                permitted=r.choice(((),) * 12 + (("good.test",), ("other.test",))),
                **fields,
            ) if r.random() < 0.97 else b"",
            version=3, tamper=r.random() < 0.03,
        )
        self.cas.append((der, title, key, subject, serial))

    def add_leaf(self, entities, n):
        r = self.random
        key = forge.Key(self.signer, f"{self.seed} leaf {n % 3}")
        subject = name(("CN", f"leaf {n}"))
        serial = r.randint(1, 1 << 40)
        if n == 0:
            issuer, issuer_key, issuer_serial = subject, key, serial
        else:
            _, title, issuer_key, issuer, issuer_serial = r.choice(self.cas)
            if r.random() < 0.4:
                issuer = self.spelling(title)
        der = certificate(
            subject, key, issuer, issuer_key, serial, "20260101000000", "20270101000000",
            extensions(
                ca=r.choice((None, False)), ski=r.choice((None, key.key_id)),
                eku=r.choice(((), ("server",), ("client",), ("server", "client"))),
                dns=("good.test",), **self.issuer_fields(issuer, issuer_key, issuer_serial),
            ),
        )
        self.leaves.append((der, None, key, subject, serial))

    # --- files to load

    def block(self, der):
        """Mostly a plain certificate, at times one with trust settings."""
        r = self.random
        if not self.aux or r.random() < 0.8:
            return cert_pem(der)
        kinds = r.choice(((("server",), ()), ((), ("server",)), (("client",), ("email",)),
                          (("any",), ()), ((), ("any",)), ((), ())))
        return trusted_pem(der, *kinds, alias=r.choice((None, "an alias")))

    def bundle(self, path):
        r = self.random
        self.aux = r.random() < 0.25
        chosen = [r.choice(self.cas + self.leaves[:2])[0] if r.random() < 0.1 else c[0]
                  for c in self.cas if r.random() < 0.55]
        r.shuffle(chosen)
        blocks = [self.block(der) for der in chosen] or [cert_pem(self.cas[0][0])]
        if self.crls and r.random() < 0.3:
            blocks += [crl_pem(c) for c in self.crls if r.random() < 0.7]
            r.shuffle(blocks)
        self.files[path] = "".join(blocks).encode()

    def directory(self, path):
        """A hashed directory; hash.N counts up within one subject hash."""
        r = self.random
        self.aux = r.random() < 0.2
        used = {}
        chosen = [c for c in self.cas if r.random() < 0.55]
        r.shuffle(chosen)
        for der, _, _, subject, _ in chosen:
            value = self.signer.ask("hash", subject.hex()).split()[0]
            n = used.get(value, 0)
            used[value] = n + 1
            self.files[f"{path}/{value}.{n}"] = self.block(der).encode()
        for title in self.titles:
            value = self.signer.ask("hash", self.spelling(title).hex()).split()[0]
            for n, der in enumerate(c for c in self.crls if r.random() < 0.4):
                self.files[f"{path}/{value}.r{n}"] = crl_pem(der).encode()
        self.files.setdefault(f"{path}/README", b"hashed\n")

    # --- the script

    def script(self, stores, verifications):
        r = self.random
        bundles = [f"bundle{n}.pem" for n in range(3)]
        directories = [f"dir{n}" for n in range(2)]
        for path in bundles:
            self.bundle(path)
        for path in directories:
            self.directory(path)
        total = len(self.cas) + len(self.leaves)
        out = ["bag 0 all.pem", "crls 0 crls.pem"]
        for n in range(stores):
            out += ["store 0", "ctx 0"]
            if r.random() < 0.3:
                out.append("ctx_store 0 0")
            steps = [self.load_step(bundles, directories) for _ in range(r.choice((1, 1, 2, 3)))]
            for _ in range(r.choice((0, 0, 0, 1, 2))):
                steps.append([f"add 0 0:{r.randrange(total)}"])
            if self.crls and r.random() < 0.3:
                steps.append([f"add_crl 0 0 {r.randrange(len(self.crls))}"])
            if r.random() < 0.1:
                steps.append(["objects 0"])
            r.shuffle(steps)
            held_back = [steps.pop()] if len(steps) > 1 and r.random() < 0.3 else []
            for step in steps:
                out += step
            for v in range(verifications):
                if v == verifications // 2:
                    for step in held_back:
                        out += step
                out.append(self.verification(total))
                if r.random() < 0.1:
                    what = r.choice(("subject", "issuer", "object", "crls_of"))
                    out.append(f"{what} 0 0:{r.randrange(total)}")
            out.append("objects 0")
            out.append(r.choice(("objects1 0", "all 0", f"find 0 0:{r.randrange(total)}")))
            out.append(self.verification(total))
        return out

    def load_step(self, bundles, directories):
        r = self.random
        bundle, directory = r.choice(bundles), r.choice(directories)
        return r.choice((
            [f"locations 0 {bundle} -"], [f"locations 0 {bundle} -"], [f"locations 0 {bundle} -"],
            [f"locations 0 - {directory}"], [f"locations 0 {bundle} {directory}"],
            [f"env SSL_CERT_FILE {bundle}", f"env SSL_CERT_DIR {directory}", "default 0"],
            [f"env SSL_CERT_FILE {bundle}", "env SSL_CERT_DIR nowhere", "default 0"],
            ["lookup 0 0 file", f"ctrl 0 file {bundle} pem"],
            ["lookup 1 0 dir", f"ctrl 1 dir {directory} pem"],
            [f"file 0 {bundle}"],
        ))

    def verification(self, total):
        r = self.random
        leaf = r.choice([len(self.cas) + n for n in range(len(self.leaves))] * 8
                        + list(range(len(self.cas))))
        words = [f"verify 0 0:{leaf}", f"flags={r.choice(FLAGS)}"]
        via = [f"0:{n}" for n in range(len(self.cas)) if r.random() < r.choice((0, 0.15, 0.4))]
        if via:
            r.shuffle(via)
            words.append("via=" + ",".join(via))
        if r.random() < 0.4:
            words.append(f"purpose={r.choice((1, 2, 4, 7))}")
        if r.random() < 0.1:
            words.append(f"trust={r.choice((1, 2, 3, 4))}")
        if r.random() < 0.15:
            words.append(f"depth={r.randint(0, 2)}")
        if r.random() < 0.3:
            words.append("cb=1")
        if r.random() < 0.2:
            words.append(f"host={r.choice(('good.test', 'bad.test'))}")
        if r.random() < 0.05:
            words.append("trusted=" + ",".join(f"0:{r.randrange(total)}" for _ in range(4)))
        if r.random() < 0.05:
            words.append("seclevel=2")
        return " ".join(words)


def cases(signer, count, stores, verifications):
    """(case name, files, script lines) for each seed."""
    for seed in range(count):
        universe = Universe(signer, seed)
        universe.make()
        script = universe.script(stores, verifications)
        yield f"universe-{seed:03}", universe.files, script
