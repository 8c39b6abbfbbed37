"""Thousands of damaged, odd and hostile files for the loaders: PEM and DER level."""

import base64
import random

from . import forge
from .der import integer, octets, oid, parse, pem, seq, tlv, write
from .forge import cert_pem, certificate, extension, extensions, name

HEAD, TAIL = b"-----BEGIN CERTIFICATE-----", b"-----END CERTIFICATE-----"


def rewrap(der, width, newline=b"\n", head=HEAD, tail=TAIL):
    text = base64.b64encode(der)
    lines = [text[n : n + width] for n in range(0, len(text), width)]
    return newline.join([head, *lines, tail, b""])


def text_shapes(pki):
    """Deliberate shapes: label -> bytes."""
    one, two = pki.pem("r1"), pki.pem("r2")
    der = pki.der["r1"]
    body = one.split(b"\n")
    out = {"plain": one + two}
    for width in (1, 4, 60, 63, 65, 72, 75, 76, 77, 78, 79, 80, 100, 252, 253, 254, 255, 256, 1000,
                  5000):
        out[f"width-{width}"] = rewrap(der, width) + two
    for label, newline in (("crlf", b"\r\n"), ("cr", b"\r"), ("crcrlf", b"\r\r\n"),
                           ("lfcr", b"\n\r"), ("blanks", b" \n"), ("tabs", b"\t\n"),
                           ("many-blanks", b"   \n"), ("vt", b"\x0b\n"), ("nul", b"\0\n"),
                           ("double", b"\n\n"), ("leading", b"\n ")):
        out[f"newline-{label}"] = rewrap(der, 64, newline) + two
        out[f"newline-{label}-last"] = two + rewrap(der, 64, newline)
    for label, prefix in (("bom", b"\xef\xbb\xbf"), ("bom16", b"\xff\xfe"), ("blank", b"\n"),
                          ("nul", b"\0"), ("nul-line", b"\0\n"), ("space", b" "), ("text", b"text\n"),
                          ("dashes", b"-----\n"), ("dashed", b"----- comment\n"),
                          ("begin", b"-----BEGIN\n"), ("begin-x", b"-----BEGIN X-----\n"),
                          ("begin-word", b"x -----BEGIN CERTIFICATE-----\n"),
                          ("end", b"-----END CERTIFICATE-----\n"), ("equals", b"=====\n")):
        out[f"before-{label}"] = prefix + one + two
        out[f"between-{label}"] = one + prefix + two
        out[f"after-{label}"] = one + two + prefix
    for size in (198, 199, 200, 252, 253, 254, 255, 256, 257, 300, 508, 509, 510, 511, 1023, 5000):
        comment = b"#" * size
        out[f"comment-{size}"] = comment + b"\n" + one
        out[f"comment-{size}-joined"] = comment + one
        out[f"comment-{size}-head"] = b"#" * (size - len(HEAD)) + one
        out[f"comment-{size}-dashes"] = b"#" * size + b"-----BEGIN CERTIFICATE-----\n" + one
    for label, head, tail in (
        ("x509", b"-----BEGIN X509 CERTIFICATE-----", b"-----END X509 CERTIFICATE-----"),
        ("trusted", b"-----BEGIN TRUSTED CERTIFICATE-----", b"-----END TRUSTED CERTIFICATE-----"),
        ("old-end", HEAD, b"-----END X509 CERTIFICATE-----"),
        ("lower", b"-----BEGIN certificate-----", b"-----END certificate-----"),
        ("four", b"----BEGIN CERTIFICATE-----", TAIL), ("six", b"------BEGIN CERTIFICATE------", TAIL),
        ("trail4", b"-----BEGIN CERTIFICATE----", TAIL), ("space", HEAD + b" ", TAIL + b" "),
        ("tab", HEAD + b"\t", TAIL + b"\t"), ("text", HEAD + b" x", TAIL), ("end-text", HEAD, TAIL + b"x"),
        ("indent", b" " + HEAD, b" " + TAIL), ("pkcs7", b"-----BEGIN PKCS7-----", b"-----END PKCS7-----"),
        ("crl", b"-----BEGIN X509 CRL-----", b"-----END X509 CRL-----"),
        ("empty", b"-----BEGIN -----", b"-----END -----"), ("no-end", HEAD, b""),
        ("unknown", b"-----BEGIN SOMETHING-----", b"-----END SOMETHING-----"),
        ("key", b"-----BEGIN PRIVATE KEY-----", b"-----END PRIVATE KEY-----"),
        ("request", b"-----BEGIN CERTIFICATE REQUEST-----", b"-----END CERTIFICATE REQUEST-----"),
    ):
        out[f"label-{label}"] = rewrap(der, 64, head=head, tail=tail) + two
        out[f"label-{label}-last"] = two + rewrap(der, 64, head=head, tail=tail)
    for label, header in (("proc", b"Proc-Type: 4,ENCRYPTED\nDEK-Info: DES-EDE3-CBC,00\n\n"),
                          ("clear", b"Proc-Type: 4,MIC-CLEAR\n\n"), ("any", b"X: y\n\n"),
                          ("blank", b"\n"), ("colon", b"a:b\n"), ("comment", b"# c\n")):
        out[f"header-{label}"] = HEAD + b"\n" + header + b"\n".join(body[1:]) + two
    joined = b"".join(body[1:-2])
    for label, text in (
        ("no-newline", one[:-1]), ("cut-in-tail", one[:-5]), ("only-head", HEAD + b"\n"),
        ("nothing", b""), ("newline", b"\n"), ("nul", b"\0" * 100), ("der", der),
        ("empty-block", HEAD + b"\n" + TAIL + b"\n"), ("pad", HEAD + b"\n" + joined + b"=\n" + TAIL),
        ("pad-inside", HEAD + b"\n" + joined[:64] + b"==\n" + joined[64:] + b"\n" + TAIL + b"\n"),
        ("equals-line", HEAD + b"\n" + joined + b"\n=abc\n" + TAIL + b"\n"),
        ("short-line", b"\n".join([*body[:2], body[2][:40], body[2][40:], *body[3:]])),
        ("minus", one.replace(body[2], b"-" + body[2][1:])),
        ("star", one.replace(body[2], b"*" + body[2][1:])),
        ("high", one.replace(body[2], b"\xff" + body[2][1:])),
        ("inner-blank", one.replace(body[2], body[2][:9] + b" " + body[2][9:])),
        ("inner-nul", one.replace(body[2], body[2][:9] + b"\0" + body[2][9:])),
        ("end-joined", one.replace(b"\n-----END", b"-----END") + two),
        ("two-joined", one[:-1] + two), ("crl", pki.pem("r0") + forge.crl_pem(pki.crls[0]).encode()),
        ("key-first", pki.keys["r0"].pem().encode() + one),
        ("key-last", one + pki.keys["r0"].pem().encode()),
        ("key-between", one + pki.keys["r0"].pem().encode() + two),
        ("params", b"-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n" + one),
    ):
        out[f"shape-{label}"] = text
    for n in range(0, len(one), 23):
        out[f"cut-{n:04}"] = two + one[:n]
    return out


def der_shapes(pki):
    """Certificates with unusual but deliberate DER."""
    key, good = pki.keys["r0"], extensions(ca=True)
    plain = dict(subject=name(("CN", "Odd")), key=key, issuer=name(("CN", "Odd")), issuer_key=key,
                 serial=7, extension_list=good)

    def made(**changes):
        return certificate(**{**plain, **changes})

    def with_name(*rdns):
        return made(subject=name(*rdns), issuer=name(*rdns))

    def raw_name(*attributes):
        value = seq(*(tlv(0x31, seq(oid("2.5.4.3"), a)) for a in attributes))
        return made(subject=value, issuer=value)

    out = {
        "v1": made(version=1, extension_list=b""), "v2": made(version=2), "v4": made(version=4),
        "v1-ext": made(version=1), "no-ext": made(extension_list=b""),
        "serial-0": made(serial=0), "serial-negative": made(serial=-5),
        "serial-big": made(serial=1 << 400), "empty-name": with_name(),
        "upper": with_name(("CN", "ODD  name")), "multi": with_name([("CN", "a"), ("O", "b")]),
        "many": with_name(*(("OU", f"unit {n}") for n in range(60))),
        "long": with_name(("CN", "x" * 5000)), "blank": with_name(("CN", "   ")),
        "no-value": with_name(("CN", "")), "umlaut": with_name(("CN", "Käse  Ä")),
        "bmp": with_name(("CN", "Käse", "bmp")), "t61": with_name(("CN", "Käse", "t61")),
        "ia5": with_name(("CN", "a b", "ia5")), "printable": with_name(("CN", "a*_@", "printable")),
        "odd-bmp": raw_name(tlv(0x1E, b"\0a\0")), "bad-utf8": raw_name(tlv(0x0C, b"a\xff\xfe")),
        "long-utf8": raw_name(tlv(0x0C, b"\xc0\x80")), "surrogate": raw_name(tlv(0x1E, b"\xd8\x00\xdc\x00")),
        "universal": raw_name(tlv(0x1C, b"\0\0\0a")), "bad-universal": raw_name(tlv(0x1C, b"\0\0a")),
        "visible": raw_name(tlv(0x1A, b"a  B")), "numeric": raw_name(tlv(0x12, b"12 3")),
        "videotex": raw_name(tlv(0x15, b"a B")), "general": raw_name(tlv(0x1B, b"a B")),
        "bits-name": raw_name(tlv(0x03, b"\0a")), "octets-name": raw_name(tlv(0x04, b"a")),
        "int-name": raw_name(tlv(0x02, b"\5")), "seq-name": raw_name(seq(integer(1))),
        "nul-name": raw_name(tlv(0x0C, b"a\0b")), "tab-name": raw_name(tlv(0x0C, b"\ta\n b\x0b\x0cc ")),
        "nbsp": raw_name(tlv(0x0C, "\u00a0a\u2003b".encode())), "empty-set": made(subject=seq(tlv(0x31))),
        "t61-high": raw_name(tlv(0x14, b"a\xe9B")), "ia5-high": raw_name(tlv(0x16, b"a\xe9")),
        "bmp-upper": raw_name(tlv(0x1E, "ÄB  c".encode("utf-16-be"))),
        "email": with_name(("1.2.840.113549.1.9.1", "A@B.test", "ia5")),
        "unknown-attribute": with_name(("1.3.6.1.4.1.99999.1", "A b")),
        "general-time": made(start="20550101000000", end="20990101000000"),
        "backwards": made(start="20350101000000", end="20200101000000"),
        "twice": made(extension_list=seq(extension("2.5.29.19", seq()), extension("2.5.29.19", seq()))),
        "critical-unknown": made(extension_list=seq(extension("1.2.3.4", b"\x05\0", True))),
        "broken-bc": made(extension_list=seq(extension("2.5.29.19", b"\xff"))),
        "broken-san": made(extension_list=seq(extension("2.5.29.17", seq(tlv(0x82, b"\xff"))))),
        "empty-list": made(extension_list=seq()), "bad-pathlen": made(
            extension_list=seq(extension("2.5.29.19", seq(b"\x01\x01\xff", integer(-1)), True))),
        "false-critical": made(extension_list=seq(
            seq(oid("2.5.29.19"), b"\x01\x01\x00", octets(seq())))),
        "big": made(extension_list=seq(extension("1.2.3.5", bytes(100000)))),
    }
    swap = lambda old, new: made().replace(old, new)  # noqa: E731
    for label, old, new in (
        ("bad-time", b"\x17\x0d200101000000Z", b"\x17\x0d209901000000Z"),
        ("no-z", b"\x17\x0d200101000000Z", b"\x17\x0d200101000000 "),
        ("time-type", b"\x17\x0d200101000000Z", b"\x18\x0d200101000000Z"),
        ("curve", bytes.fromhex("2a8648ce3d030107"), bytes.fromhex("2a8648ce3d0301ff")),
        ("algorithm", bytes.fromhex("2a8648ce3d0201"), bytes.fromhex("2a8648ce3d02ff")),
        ("signature-algorithm", bytes.fromhex("2a8648ce3d040302"), bytes.fromhex("2a8648ce3d0403ff")),
        ("point", b"\x00\x04", b"\x00\x05"), ("unused-bits", b"\x03\x42\x00", b"\x03\x42\x07"),
        ("unused-9", b"\x03\x42\x00", b"\x03\x42\x09"),
    ):
        out[label] = swap(old, new)
    trailing = made()
    out["trailing"] = trailing + b"\0"
    out["trailing-cert"] = trailing + trailing
    out["indefinite"] = b"\x30\x80" + trailing[4:] + b"\0\0"
    out["long-length"] = b"\x30\x83\x00" + trailing[2:]
    out["huge-length"] = b"\x30\x84\x7f\xff\xff\xff" + trailing[4:]
    out["crl"] = pki.crls[0]
    out["utc-seconds"] = made().replace(b"\x17\x0d200101000000Z", b"\x17\x0b2001010000Z")
    out["time-offset"] = write_time(pki)
    return out


def write_time(pki):
    """A UTCTime with an offset in place of Z, lengths put right."""
    tree = parse(pki.der["r5"])
    tree[0][1][0][1][4][1][0] = [0x17, b"200101000000+0100"]
    return write(tree)


def nodes(tree):
    for n, element in enumerate(tree):
        yield tree, n
        if isinstance(element, list) and isinstance(element[1], list):
            yield from nodes(element[1])


def der_mutant(r, der):
    """One random change of structure or content, with all lengths put right."""
    tree = parse(der)
    for _ in range(r.choice((1, 1, 1, 2))):
        if not tree:
            break  # the first change removed everything
        where, n = r.choice(list(nodes(tree)))
        element = where[n]
        if isinstance(element, bytes):
            continue
        tag, content = element
        kind = r.randrange(9)
        if kind == 0:
            element[0] = r.randrange(256) & ~0x20 | (tag & 0x20)
        elif kind == 1:
            del where[n]
        elif kind == 2:
            where.insert(n, [tag, content])
        elif kind == 3 and len(where) > 1:
            where[n], where[n - 1] = where[n - 1], where[n]
        elif kind == 4 and isinstance(content, bytes) and content:
            at = r.randrange(len(content))
            element[1] = content[:at] + bytes([content[at] ^ 1 << r.randrange(8)]) + content[at + 1 :]
        elif kind == 5 and isinstance(content, bytes):
            element[1] = content[: r.randrange(len(content) + 1)]
        elif kind == 6 and isinstance(content, bytes):
            element[1] = r.choice((b"\0", b"\xff", b"")) + content + r.choice((b"", b"\0"))
        elif kind == 7:
            body = content if isinstance(content, bytes) else write(content)
            size = len(body).to_bytes(3, "big")
            where[n] = bytes([tag, 0x83]) + size + body
        elif kind == 8:
            body = content if isinstance(content, bytes) else write(content)
            where[n] = bytes([tag, 0x80]) + body + b"\0\0"
    return write(tree)


def text_mutant(r, text):
    """A few random byte and line edits."""
    text = bytearray(text)
    for _ in range(r.choice((1, 1, 2, 4))):
        kind, at = r.randrange(8), r.randrange(len(text))
        if kind == 0:
            text[at] ^= 1 << r.randrange(8)
        elif kind == 1:
            del text[at]
        elif kind == 2:
            text.insert(at, r.choice(b"\n\r \t\0-=A\xff:"))
        elif kind == 3:
            text[at : at + r.randrange(1, 40)] = b""
        elif kind == 4:
            lines = text.split(b"\n")
            n = r.randrange(len(lines))
            lines.insert(n, lines[r.randrange(len(lines))])
            text = bytearray(b"\n".join(lines))
        elif kind == 5:
            lines = text.split(b"\n")
            del lines[r.randrange(len(lines))]
            text = bytearray(b"\n".join(lines) or b"\n")
        elif kind == 6:
            lines = text.split(b"\n")
            a, b = r.randrange(len(lines)), r.randrange(len(lines))
            lines[a], lines[b] = lines[b], lines[a]
            text = bytearray(b"\n".join(lines))
        else:
            text[at:at] = r.choice((b"\r\n", b"\n\n", b"-----", b"=\n", b"\n-----END CERTIFICATE-----\n",
                                    b"\n-----BEGIN CERTIFICATE-----\n", b"#" * 254, b"\n \n"))
        text = text or bytearray(b"\n")
    return bytes(text)


def all_files(pki, random_text, random_der):
    r = random.Random("mutants")
    files = {f"text-{k}.pem": v for k, v in text_shapes(pki).items()}
    two = pki.pem("r2")
    for label, der in der_shapes(pki).items():
        files[f"der-{label}.pem"] = cert_pem(der).encode() + two
        files[f"der-{label}-last.pem"] = two + cert_pem(der).encode()
    for n in range(random_text):
        files[f"random-text-{n:04}.pem"] = text_mutant(r, pki.pem("r1", "leaf0"))
    for n in range(random_der):
        files[f"random-der-{n:04}.pem"] = two + pem(
            "CERTIFICATE", der_mutant(r, pki.der[r.choice(("r1", "leaf0"))])).encode()
    return files


def script(path, older):
    """Loads one file in every way that matters; content seen by subject and as a whole."""
    keep = ["keep older_errors 2"] if older else []
    return [
        "store 0", *keep, f"locations 0 {path} -", "verify 0 0:14", "subject 0 0:2", "objects 0",
        "store 0", *keep, f"path 0 {path}", f"file 0 {path}", "objects 0",
        "store 0", "lookup 0 0 file", *keep, f"ctrl 0 file {path} pem", "objects 0",
        *keep, f"certfile 0 {path} pem", "names 0", *keep, f"ca_file 0 {path}",
        "names 0", *keep, f"subjects_file 0 {path}",
        "ctx 0", f"env SSL_CERT_FILE {path}", *keep, "ctx_default 0", "ctx_store 0 0",
        "issuer 0 0:14", "objects 0", "env SSL_CERT_FILE -",
    ]


def cases(pki):
    files = all_files(pki, random_text=1500, random_der=1500)
    paths = sorted(files)
    for n in range(0, len(paths), 125):
        chosen = paths[n : n + 125]
        lines = pki.start()
        for i, path in enumerate(chosen):
            lines += script(path, older=i % 3 == 0)
        inside = {path: files[path] for path in chosen}
        inside["all.pem"] = pki.pem(*pki.order)
        inside["crls.pem"] = b""
        yield f"mutants-{n // 125:02}", inside, lines + ["descriptors"], False, "*"
