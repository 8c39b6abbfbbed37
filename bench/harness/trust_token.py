"""The trust token beside p11-kit-trust: the same GnuTLS program, each module alone on the machine \
(tests/pkcs11/harness/sides.py)."""

import base64
import os
import pathlib
import re
import subprocess
import sys
import time

from measure import Row, ratio, run

HARNESS = pathlib.Path(__file__).resolve().parents[2] / "tests" / "pkcs11" / "harness"
VERIFY = HARNESS.parent / "programs" / "verify.c"
ROOTS = 2400


def token(world):
    """A verification in instructions, and the loading of many roots in time."""
    if os.geteuid() != 0:
        print("token: left out: mount namespaces need root", file=sys.stderr)
        return []
    sys.path.append(str(HARNESS))
    from pki import Pki
    from sides import sides

    module = world.library.parent / "libwindlass_pkcs11.so"
    if not module.exists():
        raise SystemExit(f"{module} is missing: run `make build`")
    folder = world.folder / "token"
    folder.mkdir()
    ours, stock = sides(module, str(folder), str(folder))
    pki, program = Pki(str(folder)), str(folder / "verify")
    run(["cc", "-O1", "-o", program, VERIFY, "-lgnutls"])
    counts = [[instructions(side, pki.bundles["trusted"], program, pki.chain)] for side in (stock, ours)]
    many = pki.path(f"{ROOTS}.pem")
    write_roots(pki, many)
    # p11-kit takes many seconds for each.
    times = [[loading(side, many, program, pki.chain) for _ in range(world.count(count))]
             for side, count in ((stock, 3), (ours, 15))]
    return [Row("token", "instr", counts[0], [], counts[1], ratio(counts[1], counts[0]), 0.1,
                "instructions of a program that verifies a chain with GnuTLS and `pkcs11:` trust: "
                "through the token / through p11-kit-trust"),
            Row("token, 2,400 roots", "ms", times[0], [], times[1], ratio(times[1], times[0]), 0.01,
                f"the same program listing {ROOTS:,} roots as GnuTLS does when it adds `pkcs11:`, whole process: "
                "token / p11-kit-trust")]


def instructions(side, bundle, program, chain):
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--log-fd=1",
               program, "pkcs11:", chain]
    said = side.run(bundle, *command)
    if "is trusted" not in said:
        raise SystemExit(f"{side.name}: {said}")
    return int(re.search(r"Collected : (\d+)", said).group(1))


def loading(side, bundle, program, chain):
    """Milliseconds."""
    start = time.perf_counter_ns()
    said = side.run(bundle, program, "pkcs11:", chain, "none")
    taken = (time.perf_counter_ns() - start) / 1e6
    if not said.startswith(f"added {ROOTS}"):
        raise SystemExit(f"{side.name}: {said}")
    return taken


def write_roots(pki, path):
    """Roots that differ in name and number, signed by nobody: what is looked up is never verified."""
    template = subprocess.run(["openssl", "x509", "-in", pki.path("ca.pem"), "-outform", "DER"],
                              capture_output=True, check=True).stdout
    mark = b"Windlass Test CA"
    with open(path, "wb") as file:
        for number in range(ROOTS):
            lines = base64.b64encode(template.replace(mark, b"Windlass %07d" % number)).decode()
            lines = "\n".join(lines[start : start + 64] for start in range(0, len(lines), 64))
            file.write(f"-----BEGIN CERTIFICATE-----\n{lines}\n-----END CERTIFICATE-----\n".encode())


ROWS = {"token": token}
