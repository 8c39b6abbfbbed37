"""Many contexts with the same CRLs: xrootd/xrootd#2873, where copies of them took 200 GB."""

import pki
from generate import forge
from generate.forge import cert_pem, certificate, crl, crl_pem, extensions, name

ENTRIES = 45_000


def authority(context):
    key = forge.Key(context.signer, "transfers")
    subject = name(("C", "XX", "printable"), ("CN", "Authority with a long list"))
    root = certificate(subject, key, subject, key, 1,
                       extension_list=extensions(ca=True, ski=key.key_id, usage=forge.CERT_SIGN))
    return key, subject, root


def leaf(context, serial):
    key, subject, _ = authority(context)
    own = forge.Key(context.signer, "transfer")
    return certificate(name(("CN", f"leaf {serial}")), own, subject, key, serial, "20260101000000", "20280101000000",
                       extensions(ca=False, ski=own.key_id, aki=key.key_id, eku=("server",)))


def lists(context):
    """Three CRLs, one of them without a date for the next."""
    key, subject, _ = authority(context)
    return "".join(crl_pem(crl(subject, key, number, [number], end="20280101000000")) for number in (1, 2, 3)).encode()


def write_files(context):
    folder = context.folder / "transfers"
    if folder.exists():
        return folder
    folder.mkdir()
    key, subject, root = authority(context)
    (folder / "key.pem").write_text(key.pem())
    # More than the signer takes at once.
    key.sign = lambda text: pki.openssl("dgst", "-sha256", "-sign", folder / "key.pem", input=text)
    long_list = crl(subject, key, 1, [7, *((1 << 80) + number for number in range(ENTRIES))], end="20280101000000",
                    aki=key.key_id)
    assert len(long_list) > 1 << 20
    (folder / "bundle.pem").write_bytes(context.pki.bundle.read_bytes() + cert_pem(root).encode()
                                        + crl_pem(long_list).encode())
    for label, serial in (("good", 8), ("revoked", 7)):
        (folder / f"{label}.pem").write_text(cert_pem(leaf(context, serial)))
    return folder


def compare(context, program, contexts, stock):
    """Many contexts with the library take less memory than few of stock, and give the same verdicts."""
    folder = write_files(context)

    def run(mode, count):
        *verdicts, memory = context.run(program, mode, folder / "bundle.pem", folder / "good.pem",
                                        folder / "revoked.pem", count).splitlines()
        assert verdicts == [f"good: {count} times 0", f"revoked: {count} times 23"], (mode, verdicts)
        return int(memory.split()[1])

    few, one, many = run("stock", stock), run("windlass", 1), run("windlass", contexts)
    assert many < few, f"{contexts} contexts take {many} KiB, {stock} of stock {few} KiB"
    each = (many - one) / (contexts - 1)
    # A context of its own takes some 25 to 70 KiB. The list takes a hundred times as much.
    assert each < 120, f"{each:.0f} KiB for each context"
    return f"{contexts} contexts {many // 1024} MiB, {stock} of stock {few // 1024} MiB"


def transfers(context):
    notes = [f"{build}: " + compare(context, context.test_program("transfers", build), contexts=1000, stock=40)
             for build in ("1.1.1w", "system", "3.5.5", "4.0.3")]
    return "; ".join(notes)
