"""Names that are written in other bytes than DER's, or with nothing in them, and are equal to those of roots for
libcrypto: whatever is asked for them is found, in a file, in memory and in a directory, shared with other roots or
not."""

from . import forge
from .der import oid, seq, tlv
from .forge import cert_pem, certificate, extensions, name

CA = ("Shared", "Single")


def rdn(text):
    return tlv(0x31, seq(oid("2.5.4.3"), tlv(0x0C, text.encode())))


def long_form(element):
    """The same element with a length of one byte more than it needs."""
    return element[:1] + b"\x81" + element[1:]


# How libcrypto reads them: an RDN without an entry is not there, and of lengths only their value counts.
ODD = {
    "empty-first": lambda text: seq(tlv(0x31), rdn(text)),
    "empty-last": lambda text: seq(rdn(text), tlv(0x31)),
    "long": lambda text: long_form(seq(rdn(text))),
    "long-inside": lambda text: seq(long_form(rdn(text))),
    "indefinite": lambda text: b"\x30\x80" + rdn(text) + b"\0\0",
}
NOTHING = {"nothing": seq(), "empty-rdn": seq(tlv(0x31))}


class Odd:
    """Roots of plain names, two of them of one and two of none, and for each way to write a name a leaf, an
    intermediate and a root that nobody knows."""

    def __init__(self, signer):
        self.signer = signer
        self.keys = {label: forge.Key(signer, f"odd {label}") for label in
                     ("Shared", "Single", "twin", "nothing", "nothing too", "directory", "stranger", "leaf")}
        self.der = {}
        for label, text in (("twin", "Shared"), ("Shared", "Shared"), ("Single", "Single"), ("directory", "Shared")):
            self.root(label, seq(rdn(text)), label)
        for label in ("nothing", "nothing too"):
            self.root(label, seq(), label)
        for text in CA:
            self.issue(f"leaf {text}", seq(rdn(text)), text)
            for how, written in ODD.items():
                self.issue(f"leaf {text} {how}", written(text), text)
                self.root(f"stranger {text} {how}", written(text), "stranger")
        for how, written in NOTHING.items():
            self.issue(f"leaf {how}", written, "nothing too")
            self.root(f"stranger {how}", written, "stranger")
        self.issue("leaf of the directory", ODD["empty-first"]("Shared"), "directory")
        self.order = list(self.der)

    def root(self, label, subject, key):
        k = self.keys[key]
        self.der[label] = certificate(subject, k, subject, k, 10 + len(self.der),
                                      extension_list=extensions(ca=True, ski=k.key_id, usage=forge.CERT_SIGN))

    def issue(self, label, issuer, key):
        """A leaf, and one more below an intermediate."""
        k, own, inter = self.keys[key], self.keys["leaf"], name(("CN", f"intermediate {label}"))
        dates, serial = ("20260101000000", "20270101000000"), 10 + len(self.der)
        self.der[label] = certificate(name(("CN", label)), own, issuer, k, serial, *dates,
                                      extensions(ca=False, aki=k.key_id, dns=("good.test",)))
        of_ca = extensions(ca=True, ski=own.key_id, aki=k.key_id, usage=forge.CERT_SIGN)
        self.der[f"{label}, its CA"] = certificate(inter, own, issuer, k, serial + 1, extension_list=of_ca)
        self.der[f"{label}, below"] = certificate(name(("CN", "below")), own, inter, own, serial + 2, *dates,
                                                  extensions(ca=False, dns=("good.test",)))

    def ref(self, label):
        return f"0:{self.order.index(label)}"

    def pem(self, *labels):
        return "".join(cert_pem(self.der[label]) for label in labels).encode()

    def files(self):
        value = self.signer.ask("hash", seq(rdn("Shared")).hex()).split()[0]
        plain = ("twin", "Shared", "Single")
        return {
            "all.pem": self.pem(*self.order), "roots.pem": self.pem(*plain),
            "nameless.pem": self.pem("nothing", *plain, "nothing too"),
            # A file that has such names itself.
            "odd.pem": self.pem("Shared", "stranger Single long", "stranger Shared empty-first", "Single"),
            "bare/README": b"no certificate\n", f"dir/{value}.0": self.pem("directory"),
        }

    def asked(self):
        """(leaf, what has its issuer's name as its own subject)."""
        for text in CA:
            yield f"leaf {text}", text
            for how in ODD:
                yield f"leaf {text} {how}", f"stranger {text} {how}"
        for how in NOTHING:
            yield f"leaf {how}", f"stranger {how}"


def asks(odd, place):
    """What is asked of a fresh store, in groups."""
    for leaf, same in odd.asked():
        issuer, verify, thing, crls, add, subject = (f"{verb} 0 {odd.ref(of)}" for verb, of in (
            ("issuer", leaf), ("verify", leaf), ("object", same), ("crls_of", same), ("add", same), ("subject", same)))
        below = f"verify 0 {odd.ref(leaf + ', below')} via={odd.ref(leaf + ', its CA')}"
        yield from ([verify, verify], [below, below], [issuer, verify], [thing, issuer], [subject, verify],
                    [crls, verify], [issuer, add, issuer, thing], [add, verify],
                    [crls, issuer, f"locations 0 - {place}", issuer])
    everything, last = [f"verify 0 {odd.ref(leaf)}" for leaf,
                        _ in odd.asked()], f"verify 0 {odd.ref('leaf of the directory')}"
    yield from ([*everything, last], [last, *everything[::-1]])


def cases(signer):
    odd = Odd(signer)
    for case, sources in (("file", ("roots.pem -", "nameless.pem -", "odd.pem -")),
                          ("directory", ("roots.pem bare", "roots.pem dir", "nameless.pem dir"))):
        lines = [line for source in sources for group in asks(odd, source.split()[1])
                 for line in ("store 0", f"locations 0 {source}", *group, "objects 0")]
        yield f"odd-{case}", odd.files(), ["bag 0 all.pem", *lines, "descriptors"], False, "*"
