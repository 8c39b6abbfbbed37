"""Directories as p11-kit knows them, in which the CA of the tests is trusted, distrusted and limited in all ways."""

import base64
import hashlib
import os

HEAD = "[p11-kit-object-v1]\n"
# CKA_NSS_TRUST_SERVER_AUTH and _EMAIL_PROTECTION: p11-kit's releases have different names for them.
SERVER_AUTH, EMAIL_PROTECTION = 0xCE536358, 0xCE53635B
EXT_KEY_USAGE = "2.5.29.37"
EMAIL = bytes.fromhex("301306 03551d25 040c 300a 06082b06010505070304".replace(" ", ""))


class Place:
    """Paths of one or more places; whether a server's certificate below the CA is to be trusted, whether both modules
    must list the same objects and NSS's verdicts agree (None: NSS takes the first token that says anything), and what
    GnuTLS decides, which asks for no trust objects."""

    def __init__(self, paths, trusted, same=True, gnutls=None):
        self.paths, self.trusted, self.same = paths, trusted, same
        self.gnutls = trusted if gnutls is None else gnutls


def make(pki):
    """{"name": Place}"""
    pem = read(pki.path("ca.pem"))
    der = base64.b64decode("".join(line for line in pem.splitlines() if not line.startswith("-----")))
    serial, issuer, key = parts(der)
    number = (f"{HEAD}class: certificate\ncertificate-type: x-509\nissuer: {octets(issuer)}\nserial-number: "
              f"{octets(serial)}\n")

    def statement(word):
        return (
            f"{HEAD}class: nss-trust\nissuer: {octets(issuer)}\nserial-number: {octets(serial)}\n"
            f"nss-cert-sha1-hash: {octets(hashlib.sha1(der).digest())}\n{SERVER_AUTH}: {word}\n{EMAIL_PROTECTION}: "
            f"{word}\n"
        )

    email = (f"{HEAD}class: x-certificate-extension\nobject-id: {EXT_KEY_USAGE}\nvalue: {octets(EMAIL)}\n"
             f"public-key-info: {octets(key)}\n")
    ber = b"\x30\x80" + der[4:] + b"\x00\x00"
    assert der[:2] == b"\x30\x82"
    anchor = {"anchors/ca.pem": pem}
    said = f"{HEAD}x-distrusted: true\n{pem}"
    made = {
        "anchor": (anchor, True),
        "nothing said": ({"ca.pem": pem}, False),
        "said trusted": ({"ca.p11-kit": f"{HEAD}trusted: true\n{pem}"}, True),
        "blocked": ({**anchor, "blocklist/ca.pem": pem}, False),
        "blocked under the old name": ({**anchor, "blacklist/ca.pem": pem}, False, False),
        "blocked by number": ({**anchor, "blocklist/number.p11-kit": number}, False),
        "blocked in DER": ({**anchor, "blocklist/ca.der": der}, False),
        "blocked in BER": ({**anchor, "blocklist/ca.der": ber}, False, False),
        "said distrusted": ({"anchors/ca.p11-kit": said}, False),
        "said distrusted elsewhere": ({**anchor, "ca.p11-kit": said}, False, False),
        "distrusted by number": ({**anchor, "ca.p11-kit": number.replace("x-509\n", "x-509\nx-distrusted: true\n")},
                                 False, False),
        "statement against": ({**anchor, "blocklist/statement.p11-kit": statement("nss-not-trusted")}, False, False,
                              True),
        "statement for": ({"ca.pem": pem, "anchors/statement.p11-kit": statement("nss-trusted-delegator")}, False,
                          False),
        "statement for what is blocked": ({"statement.p11-kit": statement("nss-trusted-delegator"),
                                           "blocklist/ca.pem": pem}, False, False),
        "limited to mail": ({**anchor, "email.p11-kit": email}, False),
    }
    places = {}
    for name, (files, *rest) in made.items():
        places[name] = Place([write(pki, name, files)], *rest)
    roots = write(pki, "roots", anchor)
    places["two places"] = Place([roots, write(pki, "other", {"anchors/other.pem": read(pki.path("other.pem"))})], True)
    places["two places, one blocks"] = Place([roots, write(pki, "block", {"blocklist/ca.pem": pem})], None)
    places["two places, one blocks in BER"] = Place([roots, write(pki, "broken", {"blocklist/ca.der": ber})], False,
                                                    False)
    return places


def write(pki, name, files):
    folder = pki.path("place-" + name.replace(" ", "-"))
    for path, content in files.items():
        path = os.path.join(folder, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
    return folder


def parts(der):
    """Serial number, issuer and key of a certificate, whole elements."""
    tbs = elements(content(der))[0]
    found = elements(content(tbs))
    return found[1], found[3], found[6]


def header(der):
    if der[1] < 0x80:
        return 2, der[1]
    count = der[1] & 0x7F
    return 2 + count, int.from_bytes(der[2 : 2 + count], "big")


def content(der):
    start, length = header(der)
    return der[start : start + length]


def elements(rest):
    found = []
    while rest:
        start, length = header(rest)
        found.append(rest[: start + length])
        rest = rest[start + length :]
    return found


def octets(value):
    return '"' + "".join(f"%{byte:02x}" for byte in value) + '"'


def read(path):
    with open(path, encoding="ascii") as file:
        return file.read()
