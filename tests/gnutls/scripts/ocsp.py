"""OCSP responses: whoever signs them, with and without its certificate."""

import hashlib

from generate.der import bits, explicit, integer, octets, oid, seq, tlv
from generate.forge import ECDSA_SHA256, extension

BASIC, SIGNING = "1.3.6.1.5.5.7.48.1.1", "1.3.6.1.5.5.7.3.9"
SHA1 = seq(oid("1.3.14.3.2.26"), tlv(0x05))


def purpose():
    """The extended key usage of a responder that isn't the CA itself."""
    return extension("2.5.29.37", seq(oid(SIGNING)))


def time(text):
    return tlv(0x18, (text + "Z").encode())


def response(issuer_name, issuer_key, serial, signer_key, responder, certs=(), status=0x80,
             produced="20260531000000", following="20261201000000"):
    """DER of a response about one serial number. responder: the signer's name, or its key as a Key."""
    about = seq(SHA1, octets(hashlib.sha1(issuer_name).digest()), octets(issuer_key.key_id), integer(serial))
    state = bytes([status, 0]) if status == 0x80 else tlv(0xA1, time("20260501000000"))
    single = seq(about, state, time(produced), explicit(0, time(following)))
    who = explicit(1, responder) if isinstance(responder, bytes) else explicit(2, octets(responder.key_id))
    data = seq(who, time(produced), seq(single))
    basic = seq(data, ECDSA_SHA256, bits(signer_key.sign(data)), explicit(0, seq(*certs)) if certs else b"")
    return seq(tlv(0x0A, b"\0"), explicit(0, seq(oid(BASIC), octets(basic))))
