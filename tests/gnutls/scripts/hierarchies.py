"""Generated hierarchies in which many anchors share a subject, and the
verifications run over them. The certificates are those of the OpenSSL tests;
GnuTLS compares names byte by byte, so most are spelled alike here."""

import re

from generate import forge
from generate.der import parse, write
from generate.forge import cert_pem, certificate, crl_pem, extensions, name
from generate.universe import Universe

# gnutls_certificate_verify_flags: the ones that change how a chain is built or judged, and profiles.
DISABLE_CA_SIGN, DO_NOT_ALLOW_SAME, ANY_V1_CA = 1, 4, 8
NO_TIME, NO_TRUSTED_TIME, NO_V1_CA, NO_CRL, UNSORTED, NOT_UNSORTED = 64, 128, 256, 512, 1024, 2048
HIGH, FUTURE, SUITE_B = 6 << 24, 8 << 24, 32 << 24
FLAGS = (0,) * 8 + (
    NO_TIME, NO_TRUSTED_TIME, NO_TIME | NO_TRUSTED_TIME, DO_NOT_ALLOW_SAME, ANY_V1_CA, NO_V1_CA, NO_CRL, UNSORTED,
    NOT_UNSORTED, DISABLE_CA_SIGN, DO_NOT_ALLOW_SAME | NOT_UNSORTED, ANY_V1_CA | NO_TIME, HIGH, FUTURE, SUITE_B,
)
# gnutls_trust_list_flags_t
VERIFY_CRL, USE_IN_TLS, NO_DUPLICATES, NO_DUPLICATE_KEY, GET_COPY = 1, 2, 4, 8, 16
TL_FLAGS = (0, 0, USE_IN_TLS, USE_IN_TLS, USE_IN_TLS, NO_DUPLICATES, NO_DUPLICATE_KEY, NO_DUPLICATE_KEY | USE_IN_TLS)
SIZES = ("", "", "", " 0", " 127", " 1", " 2", " 3")
IS_CA = re.compile(rb"\x06\x03\x55\x1d\x13\x01\x01\xff\x04.\x30.\x01\x01\xff", re.DOTALL)


def names_of(der):
    """Subject and issuer as they are in the certificate."""
    tbs = parse(der)[0][1][0][1]
    tbs = tbs[1:] if tbs[0][0] == 0xA0 else tbs
    return write([tbs[4]]), write([tbs[2]])


class Hierarchy(Universe):
    """One seed's certificates, files and script."""

    def spelling(self, title):
        if self.random.random() < 0.9:
            return name(("C", "XX", "printable"), ("CN", title))
        return super().spelling(title)

    def make(self):
        super().make()
        for _ in range(self.random.randint(2, 6)):
            self.add_relative()
        self.random.shuffle(self.cas)
        self.files["all.pem"] = "".join(cert_pem(c[0]) for c in self.cas + self.leaves).encode()
        self.names = [names_of(c[0]) for c in self.cas + self.leaves]

    def add_relative(self):
        """Of a CA that is there: version 1, issued anew, no CA, of another key, without key identifiers."""
        r = self.random
        _, title, key, subject, _ = r.choice(self.cas)
        serial = r.randint(1, 1 << 40)
        kind = r.choice(("v1", "v1", "reissue", "bare", "rekeyed", "plain", "leaf"))
        made = dict(subject=subject, key=key, issuer=subject, issuer_key=key, serial=serial)
        if kind == "v1":
            made.update(version=1)
        elif kind == "rekeyed":
            made.update(key=r.choice(self.keys), extension_list=extensions(ca=True))
        elif kind == "leaf":
            made.update(extension_list=extensions(ca=r.choice((None, False)), dns=("good.test",)))
        elif kind == "bare":
            made.update(extension_list=extensions(ca=True))
        else:
            end = r.choice(("20350101000000", "20250101000000", "20360101000000"))
            made.update(end=end, extension_list=extensions(ca=True, ski=key.key_id, usage=forge.CERT_SIGN))
        made["issuer_key"] = made["key"]
        self.cas.append((certificate(**made), title, made["key"], subject, serial))

    # --- files to load

    def bundle(self, path):
        """Mostly plain CAs, which can be served; at times anything else between them."""
        r = self.random
        if r.random() < 0.2:
            super().bundle(path)
            return
        cas = [c[0] for c in self.cas if IS_CA.search(c[0])] or [self.cas[0][0]]
        chosen = [der for der in cas if r.random() < 0.7] or cas[:1]
        chosen += [r.choice(chosen) for _ in range(r.choice((0, 0, 0, 1, 3)))]
        if r.random() < 0.15:
            chosen.append(r.choice(self.cas + self.leaves)[0])
        r.shuffle(chosen)
        self.files[path] = "".join(map(cert_pem, chosen)).encode()

    # --- the script

    def script(self, stores, verifications):
        r = self.random
        bundles = [f"bundle{n}.pem" for n in range(4)]
        directories = [f"dir{n}" for n in range(2)]
        for path in bundles:
            self.bundle(path)
        for path in directories:
            self.directory(path)
        self.files["one.crl"] = crl_pem(r.choice(self.crls)).encode() if self.crls else b""
        out = ["audit 1"] * (self.seed % 4 == 1) + ["bag 0 all.pem"]
        for n in range(stores):
            # Somebody begins to listen to what GnuTLS says of certificates that are no CAs, and stops again.
            out += [f"audit {n // 4 % 2}"] if self.seed % 4 == 2 and n % 4 == 0 else []
            out += [f"list 0{r.choice(SIZES)}"]
            steps = [self.load_step(bundles, directories) for _ in range(r.choice((1, 1, 1, 2, 3)))]
            change = self.change() if r.random() < 0.3 else None
            held_back = [steps.pop()] if len(steps) > 1 and r.random() < 0.3 else []
            steps += [change] if change and r.random() < 0.4 else []
            r.shuffle(steps)
            out += steps
            first_watched = r.choice((0, verifications, verifications, verifications - 4))
            for v in range(verifications):
                if v == verifications // 2:
                    out += held_back + ([change] if change and change not in steps else [])
                out.append(self.verification(v > first_watched))
                if r.random() < 0.1:
                    out.append(f"issuer 0 {self.any()} {GET_COPY}")
            out += [r.choice((f"issuer 0 {self.any()} 0", f"by_dn 0 {self.any()}",
                              f"by_key 0 {self.any()} {self.any()}", f"by_key 0 - {self.any()}")), self.verification(),
                    "next 0 0 1000", self.verification(True)]
        return out + ["list_free 0", "descriptors"]

    def any(self):
        return f"0:{self.random.randrange(len(self.names))}"

    def load_step(self, bundles, directories):
        r = self.random
        flags = r.choice(TL_FLAGS)
        if r.random() < 0.15:
            return f"dir 0 {r.choice(directories)} - pem {flags} 0"
        return f"{r.choice(('file', 'file', 'mem'))} 0 {r.choice(bundles)} - pem {flags} 0"

    def change(self):
        r = self.random
        kind = r.randrange(6)
        if kind == 0:
            return f"add_cas 0 {self.any()},{self.any()} {r.choice((NO_DUPLICATES, NO_DUPLICATE_KEY, USE_IN_TLS))}"
        if kind == 1 and self.crls:
            return f"add_crls 0 crls.pem {r.choice((0, NO_DUPLICATES, VERIFY_CRL))} 0"
        if kind == 2:
            return f"remove_cas 0 {self.any()},{self.any()},{self.any()}"
        if kind == 3:
            return f"named 0 0:{len(self.cas) + r.randrange(len(self.leaves))} good.test"
        if kind == 4:
            return f"getissuer 0 {','.join(self.any() for _ in range(6))}"
        return f"remove_file 0 bundle{r.randrange(4)}.pem pem"

    def chain(self):
        """A certificate and, mostly, what leads to a root; then odd orders, gaps, repetitions and strangers."""
        r = self.random
        at = r.choice([len(self.cas) + n for n in range(len(self.leaves))] * 6 + list(range(len(self.cas))))
        out = [at]
        while r.random() < 0.7 and len(out) < 5:
            above = [n for n in range(len(self.cas)) if self.names[n][0] == self.names[out[-1]][1] and n not in out]
            if not above:
                break
            out.append(r.choice(above))
        rest = out[1:] + [r.randrange(len(self.names)) for _ in range(r.choice((0, 0, 0, 1, 2)))]
        if rest and r.random() < 0.15:
            rest.append(r.choice(rest))
        if r.random() < 0.2:
            r.shuffle(rest)
        return ",".join(f"0:{n}" for n in out[:1] + rest)

    def verification(self, watched=False):
        r = self.random
        words = [f"verify 0 {self.chain()} flags={r.choice(FLAGS)}"]
        if r.random() < 0.3:
            words.append(r.choice(("host=good.test", "host=bad.test", "ip=1", "email=a@good.test")))
        if r.random() < 0.2:
            words.append(r.choice((f"purpose={forge.EKU['server']}", f"purpose={forge.EKU['client']}")))
        if r.random() < 0.15:
            words = words[:1] + ["old=1"]
        # A function that is shown every step sees certificates of the list itself, so the list has to be complete from
        # then on.
        if watched:
            words.append("events=1")
        return " ".join(words)


def cases(signer, count=60, stores=12, verifications=14):
    """(case name, files, script lines, writes) for each seed."""
    for seed in range(count):
        hierarchy = Hierarchy(signer, seed)
        hierarchy.make()
        yield f"hierarchy-{seed:03}", hierarchy.files, hierarchy.script(stores, verifications), False
