"""Roots that share a subject: all of them are in a store, or none is."""

import contextlib
import pathlib
import shutil
import tempfile

import builds
from generate import forge
from generate.pki import ca_name
from programs import execute, same_in_both, write_files

PROGRAMS = pathlib.Path(__file__).resolve().parent / "process"
LATE_BUILDS = ("1.1.1w-bsymbolic", "3.5.5-bsymbolic", "4.0.3-bsymbolic", "system")
SHORTAGE_BUILDS = ("system", "1.1.1w", "3.5.5")


def compiled(program, build):
    return builds.compile_c([PROGRAMS / f"{program}.c"], builds.WORK / "bin" / f"{program}-{build}", build)


@contextlib.contextmanager
def filled(files):
    folder = pathlib.Path(tempfile.mkdtemp(dir=builds.WORK))
    write_files(folder, files)
    yield folder
    shutil.rmtree(folder)


def roots_of_one_subject(signer):
    """Five of different keys, two of them with an expired twin before them; a leaf of each; another root of that
    subject."""
    subject, leaf_key = ca_name("Shared"), forge.Key(signer, "pki leaf")
    roots, leaves = [], []
    for n in range(6):
        key = forge.Key(signer, f"shared {n}")
        of_root = forge.extensions(ca=True, ski=key.key_id, usage=forge.CERT_SIGN)
        ends = ("20250101000000", "20350101000000") if n in (1, 3) else ("20350101000000",)
        roots += [forge.certificate(subject, key, subject, key, 10 * n + twin, end=end, extension_list=of_root)
                  for twin, end in enumerate(ends, 1)]
        leaves.append(forge.certificate(
            forge.name(("CN", f"leaf {n}")), leaf_key, subject, key, 100 + n, "20260101000000", "20270101000000",
            forge.extensions(ca=False, aki=key.key_id, dns=("good.test",))))
    return [forge.cert_pem(der).encode() for der in roots], [forge.cert_pem(der).encode() for der in leaves[:5]]


def shared(results, options, pki, stores):
    """Threads that begin at one moment, in stores where several roots share the subject that they search for."""
    (*roots, extra), leaves = roots_of_one_subject(pki.signer)
    singles = [pki.pem(f"r{n}") for n in range(len(roots) - 1)]
    bundle = [roots[0]] + [one for pair in zip(singles, roots[1:]) for one in pair]
    with filled({"bundle.pem": b"".join(bundle), "first.pem": roots[0], "extra.pem": extra,
                 "other.pem": pki.pem("leaf1"), **{f"leaf-{n}.pem": leaf for n, leaf in enumerate(leaves)}}) as folder:
        for build in options.builds:
            out = execute([compiled("shared", build), ".", stores, len(roots), len(bundle)], folder, options.library)
            results.check(f"shared subjects on OpenSSL {build}", out.endswith("exit 0\n"), out)


def late(results, options, pki):
    """A file that is loaded while a search is past the library's lookup: all of it counts in that search, with what
    libcrypto adds from a directory. -Bsymbolic hides from the library what libcrypto adds."""
    (a, _, b, c, *_), leaves = roots_of_one_subject(pki.signer)
    value = pki.signer.ask("hash", ca_name("Shared").hex()).split()[0]
    names = ("a.pem", "b.pem", "c.pem")
    with filled({"one.pem": a, "two.pem": a + b, f"dir/{value}.0": c, **dict(zip(names, leaves))}) as folder:
        for build in (one for one in LATE_BUILDS if one in options.builds):
            program = compiled("late", build)
            for bundle in ("one.pem", "two.pem"):
                for order in (names, names[::-1]):
                    same_in_both(results, f"late load of {bundle} on OpenSSL {build}, {order[0]} first",
                                 [program, bundle, "dir", *order], folder, options.library)


def shortage(results, options, pki):
    """One allocation that fails in the first verification of a store, and two verifications after it: with the library
    or not, they must be accepted."""
    (a, _, b, *_), leaves = roots_of_one_subject(pki.signer)
    with filled({"bundle.pem": a + pki.pem("r0") + b, "a.pem": leaves[0], "b.pem": leaves[1]}) as folder:
        for build in (one for one in SHORTAGE_BUILDS if one in options.builds):
            for how, library in (("stock", None), ("now", options.library)):
                out = execute([compiled("shortage", build), "bundle.pem", "a.pem", "b.pem"], folder, library)
                results.check(f"an allocation fails on OpenSSL {build}, {how}", out.endswith("exit 0\n"), out)
