"""Files that are not as they should be, and files that change."""

import base64
import os

import pki
import sharing

ARGUMENT, MISSING, SYSTEM, NOT_A_FILE, UNSUPPORTED = 1, 2, 3, 4, 7
CRLS = 1


def refused(context):
    """What stock OpenSSL refuses is refused. So is what it reads and we don't; the error says what."""
    folder, program = context.fresh("refused"), context.test_program("load")
    good, root = context.pki.bundle.read_bytes(), context.pki.path("root.crt").read_bytes()
    crl = sharing.lists(context).split(b"-----END X509 CRL-----\n")[0] + b"-----END X509 CRL-----\n"
    body = crl.splitlines()
    short = b"\n".join([body[0], *body[2:]]) + b"\n"
    key = context.pki.path("root.key").read_bytes()
    trusted = context.pki.trusted_certificate.read_bytes()
    # name, content, flags, what stock returns, our code, a part of our text
    cases = [
        ("empty", b"", 0, 0, UNSUPPORTED, "no certificate in it"),
        ("text", b"nothing here\n", 0, 0, UNSUPPORTED, "no certificate in it"),
        ("cut off", good[:60_000], 0, 0, UNSUPPORTED, "a block that does not end"),
        ("not base64", root.replace(b"M", b"-", 1), 0, 0, UNSUPPORTED, "not plain base64"),
        ("cut certificate", pem(b"CERTIFICATE", root_der(root)[:-9]), 0, 0, UNSUPPORTED, "certificate 1: "),
        ("crl unwanted", root + crl, 0, 1, UNSUPPORTED, "a PEM block other than CERTIFICATE"),
        ("crl", root + crl, CRLS, 1, 0, "ok"),
        ("crl alone", crl, CRLS, 1, 0, "ok"),
        ("crl damaged", root + short, CRLS, 0, UNSUPPORTED, "CRL 1: "),
        ("crl cut off", root + crl[:-60], CRLS, 0, UNSUPPORTED, "a block that does not end"),
        ("crl without sense", root + pem(b"X509 CRL", b"\x30\x03\x02\x01\x01"), CRLS, 0, UNSUPPORTED, "CRL 1: "),
        # What only the TLS library reads: an entry whose number is a string.
        ("crl entry", root + pem(b"X509 CRL", pki.openssl("crl", "-outform", "DER", input=crl).replace(
            b"\x02\x01\x01\x17", b"\x0c\x01\x01\x17")), CRLS, 0, UNSUPPORTED, "can't parse all"),
        ("other end", root + crl.replace(b"END X509 CRL", b"END CERTIFICATE"), CRLS, 0, UNSUPPORTED, "base64"),
        ("trusted", root + trusted, CRLS, 1, UNSUPPORTED, "a PEM block other than CERTIFICATE"),
        ("rejected", context.pki.rejecting_certificate.read_bytes(), 0, 1, UNSUPPORTED, "other than CERTIFICATE"),
        ("key", root + key, CRLS, 1, UNSUPPORTED, "a PEM block other than CERTIFICATE"),
        ("mark", b"\xef\xbb\xbf" + root + root, CRLS, 1, UNSUPPORTED, "byte order mark"),
        ("unknown flag", root, 2, 1, ARGUMENT, "not allowed"),
    ]
    for name, content, flags, stock, code, text in cases:
        path = folder / name.replace(" ", "-")
        path.write_bytes(content)
        named = code not in (0, ARGUMENT) and name != "crl entry"
        expect(context, program, path, flags, stock, code, text, has_path=named)
    expect(context, program, folder / "missing", 0, 0, MISSING, "does not exist", 2)
    expect(context, program, folder, 0, 0, NOT_A_FILE, "is not a regular file")
    expect(context, program, "/dev/null", 0, 0, NOT_A_FILE, "is not a regular file")
    os.symlink("loop", folder / "loop")
    expect(context, program, folder / "loop", 0, 0, SYSTEM, "cannot", 40)
    os.mkfifo(folder / "fifo")
    said = context.run("timeout", "20", context.test_program("open"), folder / "fifo")
    assert said.startswith(f"{NOT_A_FILE} "), said
    long_name = folder / ("x" * 200) / ("y" * 200)
    said = context.run(program, long_name, 0).splitlines()
    assert said[2] == str(long_name)[:255] and said[0] == "0 2", said
    return f"{len(cases) + 6} files"


def expect(context, program, path, flags, stock, code, text, errno=0, has_path=True):
    loaded, number, named, said = context.run(program, path, flags).split("\n")[:4]
    assert loaded == f"{stock} {code}" and text in said, (path, loaded, said)
    assert named == (str(path) if code and has_path else "") and number == str(errno), (path, named, number)


def root_der(text):
    return pki.openssl("x509", "-outform", "DER", input=text)


def pem(label, der):
    return b"-----BEGIN %s-----\n%s-----END %s-----\n" % (label, base64.encodebytes(der), label)


def changing(context):
    """A new state for every change; a file that is gone is an error, not the last state."""
    folder = context.fresh("changing")
    said = context.run(context.test_program("changing"), folder / "live.pem", context.pki.bundle, context.pki.twins,
                       with_lists(context, folder, 0), with_lists(context, folder, 1))
    assert said == "all states were right\n", said


def with_lists(context, folder, number):
    """The same root, with another CRL each time."""
    path = folder / f"crl{number}.pem"
    lists = sharing.lists(context).split(b"-----BEGIN")[1:]
    path.write_bytes(context.pki.path("root.crt").read_bytes() + b"-----BEGIN" + lists[number])
    return path
