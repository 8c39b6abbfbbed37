"""Verdicts with windlass_openssl.h against those of stock OpenSSL: hierarchies in which many certificates share a
subject, verified by the differential driver, whose loads are exchanged (programs/instead.c)."""

import subprocess

import builds
import run as differential
from context import PROGRAMS
from generate.universe import Universe
from programs import write_files

BUILDS = ("1.1.1w", "system", "3.5.5", "4.0.3")
UNIVERSES, STORES, VERIFICATIONS = 40, 12, 14
UNIVERSES_BROKEN = 20
WRAPPED = ("X509_STORE_load_locations", "X509_STORE_add_cert")

# What is taken out of the header, to see that it is missed.
FAULTS = {
    "one of a subject": ("for (size_t at = 0; added && at < count; at++)\n"
                         "        added = windlass_openssl_add_(store, state, places[at], first);",
                         "if (count)\n        added = windlass_openssl_add_(store, state, places[count - 1], first);"),
    "CRLs left out": ("added = X509_STORE_add_crl(", "added = 1 || X509_STORE_add_crl("),
    "CRLs by lookup": ("if (type != X509_LU_X509 ||", "if (type == X509_LU_CRL) return 1;\n    if ("),
    "shadows": ("for (int at = 0; added && at < sk_X509_num(present); at++)", "for (int at = 0; at < 0; at++)"),
}


# A subject that several certificates share would be added by the first search for it, one after the other.
HALF_SUBJECTS = ("for (size_t at = 0; added && at < count; at++)\n        added = windlass_openssl_add_(store, state, "
                 "places[at], &first);\n    free(places);", "free(places);")


def with_fault(context, fault, whole, part):
    """A folder with the headers, this part of windlass_openssl.h exchanged."""
    folder = context.fresh(f"header {fault}")
    text = (context.prefix / "include/windlass_openssl.h").read_text()
    assert text.count(whole) == 1, f"{fault}: the header has changed"
    (folder / "windlass_openssl.h").write_text(text.replace(whole, part))
    (folder / "windlass.h").write_text((context.prefix / "include/windlass.h").read_text())
    return folder


def driver(context, build, header_folder, label):
    """The driver with the loads of windlass_openssl.h."""
    wraps = [f"-Wl,--wrap={name}" for name in WRAPPED]
    sources = sorted((builds.HERE / "driver").glob("*.c")) + [PROGRAMS / "instead.c"]
    output = context.folder / f"driver-{build}-{label}"
    return builds.compile_c(sources, output, build, (f"-I{header_folder}", *wraps),
                            ("-lssl", "-lcrypto", *context.flags()))


def script(universe):
    """One load for each store, the rules of the header: certificates before it, directories and others after it."""
    r = universe.random
    bundles, directories = [f"bundle{n}.pem" for n in range(4)], ["dir0", "dir1"]
    for path in bundles:
        universe.bundle(path)
    for path in directories:
        universe.directory(path)
    total = len(universe.cas) + len(universe.leaves)
    lines = ["bag 0 all.pem", "crls 0 crls.pem"]
    for _ in range(STORES):
        add = [f"add 0 0:{r.randrange(total)}" for _ in range(3)]
        lines += ["store 0", *add[:r.choice((0, 0, 1, 2))], f"locations 0 {r.choice(bundles)} -"]
        lines += add[:r.choice((0, 0, 1, 2))]
        if r.random() < 0.3:
            lines += ["lookup 1 0 dir", f"ctrl 1 dir {r.choice(directories)} pem"]
        if universe.crls and r.random() < 0.3:
            lines.append(f"add_crl 0 0 {r.randrange(len(universe.crls))}")
        for _ in range(VERIFICATIONS):
            lines.append(universe.verification(total))
    return lines


def cases(context, universes):
    """(name, folder, script) of each universe, made once."""
    folder = context.folder / "universes"
    for seed in range(universes):
        universe = Universe(context.signer, f"c {seed}")
        universe.make()
        text = "\n".join(script(universe)) + "\n"
        if not (folder / str(seed)).exists():
            (folder / str(seed)).mkdir(parents=True)
            write_files(folder / str(seed), universe.files)
        yield seed, folder / str(seed), text


def output(context, program, folder, text, counts):
    done = subprocess.run([program, "/dev/stdin"], input=text.encode(), cwd=folder, capture_output=True, timeout=300,
                          env={"PATH": "/usr/bin:/bin", "LC_ALL": "C", "WINDLASS_STORE": "",
                               "INSTEAD_COUNTS": str(counts)})
    return [*done.stdout.decode("utf-8", "backslashreplace").splitlines(),
            *done.stderr.decode("utf-8", "replace").splitlines(), f"exit {done.returncode}"]


def differences(context, build, header_folder, label, counts="/dev/null", universes=UNIVERSES):
    """How many calls have another result than in stock, and how many were compared."""
    different, verified = [], 0
    program = driver(context, build, header_folder, label)
    for seed, folder, text in cases(context, universes):
        stock = output(context, builds.driver(build), folder, text, "/dev/null")
        ours = output(context, program, folder, text, counts)
        assert stock[-1] == "exit 0", stock[-3:]
        verified += text.count("\nverify ")
        lines = text.splitlines()
        for pair in differential.differences(stock, ours):
            number = (pair[0] or pair[1])[0].split(" ", 1)[0]
            said = lines[int(number) - 1] if number.isdigit() else ""
            different.append(f"{build} universe {seed}: {said}\n  stock {pair[0]}\n  ours  {pair[1]}")
    return different, verified


def compared(context):
    folder = context.prefix / "include"
    total = served = 0
    for build in BUILDS:
        counts = context.folder / f"counts-{build}"
        different, verified = differences(context, build, folder, "instead", counts)
        assert not different, f"{len(different)} differ:\n" + "\n".join(different[:12])
        said = counts.read_text().splitlines()
        assert said.count("served") > UNIVERSES * STORES / 2, f"{said.count('served')} loads were served\n{said[:5]}"
        total, served = total + verified, served + said.count("served")
    return f"{total} verifications, {served} loads served"


def broken(context):
    """Each fault is noticed, on every build where it can matter."""
    notes = []
    for fault, (whole, part) in FAULTS.items():
        folder = with_fault(context, fault, whole, part)
        label = fault.replace(" ", "-")
        counts = {build: len(differences(context, build, folder, label, universes=UNIVERSES_BROKEN)[0])
                  for build in ("1.1.1w", "4.0.3")}
        assert all(counts.values()), f"{fault} was not noticed: {counts}"
        notes.append(f"{fault}: {sum(counts.values())}")
    return "; ".join(notes)
