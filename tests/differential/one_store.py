"""One store that several threads use, or one thread for long."""

from one_subject import compiled, filled
from programs import execute


def race(results, options, pki, stores):
    """A first verification, while another thread lists, adds, holds, or gives away the same store: no good chain is refused."""
    roots = [pki.pem(f"r{n}") for n in range(5)]
    with filled({"bundle.pem": b"".join(roots), "leaf.pem": pki.pem("leaf3"), "alone.pem": roots[3],
                 "other.pem": pki.pem("r5")}) as folder:
        for build in options.builds:
            out = execute([compiled("race", build), ".", stores], folder, options.library)
            results.check(f"a first verification in company on OpenSSL {build}", out.endswith("exit 0\n"), out)
