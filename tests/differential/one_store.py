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


ROOM = 64 << 10


def growth(results, options, pki, calls):
    """Calls that bring a store nothing new leave nothing behind that they leave not in stock."""
    roots = [pki.pem(f"r{n}") for n in range(5)]
    with filled({"bundle.pem": b"".join(roots), "leaf.pem": pki.pem("leaf3"), "extra.pem": pki.pem("r5")}) as folder:
        for build in options.builds:
            stock, now = (execute([compiled("growth", build), ".", calls], folder, library)
                          for library in (None, options.library))
            kinds = [[line.rsplit(": ", 1) for line in out.splitlines()[:-1]] for out in (stock, now)]
            good = stock.endswith("exit 0\n") and now.endswith("exit 0\n") and len(kinds[0]) == len(kinds[1]) \
                and all(int(more) <= int(less) + ROOM for (_, less), (_, more) in zip(*kinds))
            results.check(f"growth of a store on OpenSSL {build}", good, f"stock:\n{stock}\nnow:\n{now}")
