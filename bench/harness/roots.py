"""Makes bundles of any number of distinct roots from one template: \
nobody checks a trust anchor's own signature at load."""

import base64
import os
import subprocess
import time

NAME, SERIAL = b"Bench Root 00000000", "0x4200000000000000"


def write_bundle(path, count, folder):
    """`count` self-signed P-256 roots with subjects, serial numbers and key identifiers of their own."""
    with open(path, "wb") as bundle:
        for der in roots(template(folder), count):
            bundle.write(pem(der))


def pem(der):
    text = base64.b64encode(der)
    lines = b"\n".join(text[at:at + 64] for at in range(0, len(text), 64))
    return b"-----BEGIN CERTIFICATE-----\n" + lines + b"\n-----END CERTIFICATE-----\n"


def write_directory(path, leaves, count, leaf_count, folder):
    """A hashed directory of `count` roots, a file each; and a file of some of them, evenly chosen, to be verified."""
    path.mkdir()
    texts = []
    for number, der in enumerate(roots(template(folder), count)):
        texts.append(pem(der))
        (path / f"root-{number}.pem").write_bytes(texts[-1])
    run("rehash", path)
    leaves.write_bytes(b"".join(texts[::count // leaf_count][:leaf_count]))


def template(folder):
    """A real self-signed certificate, as DER."""
    key, made = os.path.join(folder, "template.key"), os.path.join(folder, "template.der")
    run("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", key)
    run("req", "-x509", "-new", "-key", key, "-subj", "/C=XX/O=Windlass Bench/CN=" + NAME.decode(), "-days", "3650",
        "-set_serial", SERIAL, "-out", made, "-outform", "DER")
    with open(made, "rb") as file:
        return file.read()


def roots(der, count):
    """The template with what makes a root distinct replaced, length for length."""
    serial = bytes.fromhex(SERIAL[2:])
    marker = bytes.fromhex("0603551d0e04160414")  # subjectKeyIdentifier: OID, OCTET STRING of OCTET STRING
    at = der.index(marker) + len(marker)
    key_id = der[at:at + 20]
    assert der.count(serial) == 1 and der.count(NAME) == 2
    for number in range(count):
        yield der.replace(serial, serial[:4] + number.to_bytes(4, "big")) \
            .replace(NAME, NAME[:-8] + b"%08d" % number).replace(key_id, number.to_bytes(20, "big"))


def run(*arguments):
    subprocess.run(["/usr/bin/openssl", *arguments], check=True, timeout=60, stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env={"PATH": os.environ["PATH"]})


def let_age():
    """The cache does not believe the times of a file that was written just now."""
    time.sleep(3)
