"""The bars of the token, side by side. A benchmark: nothing here fails."""

import base64
import re
import statistics
import subprocess
import time

ROUNDS = 5


def report(ours, theirs, pki, programs):
    verify = programs["verify"]
    counts = {side.name: instructions(side, pki.bundles["trusted"], verify, pki.chain) for side in (ours, theirs)}
    print("instructions of a GnuTLS verification, whole process:", counts)
    print(f"  p11-kit / windlass = {counts['p11-kit'] / counts['windlass']:.1f}")
    bundle = pki.path("2400.pem")
    write_roots(pki, bundle, 2400)
    times = {}
    for side in (ours, theirs):
        rounds = ROUNDS if side is ours else 1
        times[side.name] = statistics.median(loading(side, bundle, verify, pki.chain) for _ in range(rounds))
    print("seconds to load 2,400 roots, whole process with an enumeration:", times)
    print(f"  p11-kit / windlass = {times['p11-kit'] / times['windlass']:.1f}")


def instructions(side, bundle, verify, chain):
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--log-fd=1", verify, "pkcs11:", chain]
    return int(re.search(r"Collected : (\d+)", side.run(bundle, *command)).group(1))


def loading(side, bundle, verify, chain):
    start = time.monotonic()
    out = side.run(bundle, verify, "pkcs11:", chain, "none")
    assert out.startswith("added 2400"), out
    return time.monotonic() - start


def write_roots(pki, path, count):
    """Roots that differ in name and number, signed by nobody: what is looked up is never verified."""
    template = subprocess.run(
        ["openssl", "x509", "-in", pki.path("ca.pem"), "-outform", "DER"], capture_output=True, check=True
    ).stdout
    mark = b"Windlass Test CA"
    with open(path, "wb") as file:
        for number in range(count):
            der = template.replace(mark, b"Windlass %07d" % number)
            lines = base64.b64encode(der).decode()
            lines = "\n".join(lines[start : start + 64] for start in range(0, len(lines), 64))
            file.write(f"-----BEGIN CERTIFICATE-----\n{lines}\n-----END CERTIFICATE-----\n".encode())
