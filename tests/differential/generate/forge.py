"""Certificates, CRLs and trust settings of any shape, signed by signer.c."""

import hashlib
import subprocess

from .der import bits, boolean, explicit, integer, octets, oid, pem, seq, tlv, utc_time

ECDSA_SHA256 = seq(oid("1.2.840.10045.4.3.2"))
EC_P256 = seq(oid("1.2.840.10045.2.1"), oid("1.2.840.10045.3.1.7"))
ATTRIBUTES = {"C": "2.5.4.6", "O": "2.5.4.10", "OU": "2.5.4.11", "CN": "2.5.4.3"}
STRING_TAGS = {"utf8": 0x0C, "printable": 0x13, "t61": 0x14, "ia5": 0x16, "bmp": 0x1E}
EKU = {
    "server": "1.3.6.1.5.5.7.3.1",
    "client": "1.3.6.1.5.5.7.3.2",
    "email": "1.3.6.1.5.5.7.3.4",
    "any": "2.5.29.37.0",
}


class Signer:
    """The running signer program."""

    def __init__(self, program):
        self.process = subprocess.Popen(
            [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, *words):
        self.process.stdin.write(" ".join(words) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError(f"the signer stopped at: {words[0]}")
        return answer.strip()

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Key:
    """A P-256 key that follows from its label."""

    def __init__(self, signer, label):
        self.signer = signer
        digest = hashlib.sha256(label.encode()).digest()
        # Below the group order, whatever the digest is.
        self.scalar = "00" + digest[:31].hex()
        self.point = bytes.fromhex(signer.ask("pub", self.scalar))
        self.key_id = hashlib.sha1(self.point).digest()

    def spki(self):
        return seq(EC_P256, bits(self.point))

    def sign(self, tbs):
        return bytes.fromhex(self.signer.ask("sign", self.scalar, tbs.hex()))

    def pem(self):
        key = seq(integer(1), octets(bytes.fromhex(self.scalar)[:32].rjust(32, b"\0")),
                  explicit(0, oid("1.2.840.10045.3.1.7")), explicit(1, bits(self.point)))
        return pem("EC PRIVATE KEY", key)


def name(*attributes):
    """A DER name from (type, value) or (type, value, string type) tuples.

    A list of such tuples in place of one is a multi-valued RDN.
    """
    rdns = []
    for rdn in attributes:
        members = []
        for kind, value, *string in rdn if isinstance(rdn, list) else [rdn]:
            string = string[0] if string else "utf8"
            codec = {"bmp": "utf-16-be", "utf8": "utf-8"}.get(string, "latin-1")
            members.append(
                seq(oid(ATTRIBUTES.get(kind, kind)), tlv(STRING_TAGS[string], value.encode(codec)))
            )
        rdns.append(tlv(0x31, *sorted(members)))
    return seq(*rdns)


def extension(number, value, critical=False):
    return seq(oid(number), boolean(True) if critical else b"", octets(value))


def extensions(
    ca=None, pathlen=None, ski=None, aki=None, aki_issuer=None, usage=None, eku=(), dns=(),
    permitted=(), crl_reason=None, extra=(),
):
    """The DER of an extension list. aki_issuer is (issuer name, serial)."""
    out = []
    if ca is not None:
        limit = integer(pathlen) if pathlen is not None else b""
        out.append(extension("2.5.29.19", seq(boolean(True) if ca else b"", limit), True))
    if ski is not None:
        out.append(extension("2.5.29.14", octets(ski)))
    if aki is not None or aki_issuer is not None:
        parts = tlv(0x80, aki) if aki is not None else b""
        if aki_issuer is not None:
            general = tlv(0xA1, tlv(0xA4, aki_issuer[0]))
            parts += general + tlv(0x82, integer(aki_issuer[1])[2:])
        out.append(extension("2.5.29.35", seq(parts)))
    if usage is not None:
        out.append(extension("2.5.29.15", tlv(0x03, usage), True))
    if eku:
        out.append(extension("2.5.29.37", seq(*(oid(EKU[e]) for e in eku))))
    if dns:
        out.append(extension("2.5.29.17", seq(*(tlv(0x82, d.encode()) for d in dns))))
    if permitted:
        subtrees = (seq(tlv(0x82, d.encode())) for d in permitted)
        out.append(extension("2.5.29.30", seq(tlv(0xA0, *subtrees)), True))
    out.extend(extra)
    return seq(*out) if out else b""


CERT_SIGN = b"\x01\x06"  # keyCertSign and cRLSign, one unused bit
DIGITAL_SIGNATURE = b"\x07\x80"


def certificate(
    subject, key, issuer, issuer_key, serial, start="20200101000000", end="20350101000000",
    extension_list=b"", version=3, tamper=False,
):
    """A DER certificate; tamper breaks its signature."""
    tbs = seq(
        explicit(0, integer(version - 1)) if version > 1 else b"",
        integer(serial), ECDSA_SHA256, issuer, seq(utc_time(start), utc_time(end)), subject,
        key.spki(), explicit(3, extension_list) if extension_list else b"",
    )
    signature = issuer_key.sign(tbs + b"\0" if tamper else tbs)
    return seq(tbs, ECDSA_SHA256, bits(signature))


def crl(issuer, issuer_key, number, revoked=(), start="20260501000000", end="20270101000000",
        aki=None):
    """A DER CRL that revokes the given serial numbers."""
    entries = seq(*(seq(integer(s), utc_time("20260510000000")) for s in revoked))
    listed = (extension("2.5.29.35", seq(tlv(0x80, aki))) if aki else b"")
    listed += extension("2.5.29.20", integer(number))
    tbs = seq(
        integer(1), ECDSA_SHA256, issuer, utc_time(start), utc_time(end),
        entries if revoked else b"", explicit(0, seq(listed)),
    )
    return seq(tbs, ECDSA_SHA256, bits(issuer_key.sign(tbs)))


def trusted_pem(der, trust=(), reject=(), alias=None):
    """A TRUSTED CERTIFICATE block: the certificate and X509_CERT_AUX after it."""
    aux = seq(
        seq(*(oid(EKU[t]) for t in trust)) if trust else b"",
        tlv(0xA0, *(oid(EKU[r]) for r in reject)) if reject else b"",
        tlv(0x0C, alias.encode()) if alias else b"",
    )
    return pem("TRUSTED CERTIFICATE", der + aux)


def cert_pem(der):
    return pem("CERTIFICATE", der)


def crl_pem(der):
    return pem("X509 CRL", der)
