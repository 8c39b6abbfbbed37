"""One store that several threads use, or one thread for long."""

import itertools

from one_subject import compiled, filled, roots_of_one_subject
from programs import execute, same_in_both


def race(results, options, pki, stores):
    """A first verification, while another thread lists, adds, holds, or gives away the same store: no good chain is
    refused."""
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
            # What a thread keeps for its next calls counts as allocated.
            env = {"GLIBC_TUNABLES": "glibc.malloc.tcache_count=0"}
            stock, now = (execute([compiled("growth", build), ".", calls], folder, library, env=env)
                          for library in (None, options.library))
            kinds = [[line.rsplit(": ", 1) for line in out.splitlines()[:-1]] for out in (stock, now)]
            good = stock.endswith("exit 0\n") and now.endswith("exit 0\n") and len(kinds[0]) == len(kinds[1]) \
                and all(int(more) <= int(less) + ROOM for (_, less), (_, more) in zip(*kinds))
            results.check(f"growth of a store on OpenSSL {build}", good, f"stock:\n{stock}\nnow:\n{now}")


def named_and_not(pki):
    """Roots of one subject, and who they issued, with and without key identifiers to tell them apart."""
    (a, _, b, *_), leaves = roots_of_one_subject(pki.signer)
    others = b"".join(pki.pem(f"r{n}") for n in range(1, 5))
    return {
        "named": {"bundle.pem": a + others, "twin.pem": b, f"dir/{pki.hash_of('Shared')}.0": b,
                  "leaf.pem": leaves[0], "twin-leaf.pem": leaves[1]},
        "not named": {"bundle.pem": pki.pem("r0") + others, "twin.pem": pki.pem("twin"),
                      f"dir/{pki.hash_of('Root 0')}.0": pki.pem("twin"),
                      "leaf.pem": pki.pem("leaf0"), "twin-leaf.pem": pki.pem("leaf_twin")}}


def mixture(results, options, pki, length):
    """No mixture of pointers and stores from before the library was attached with those from after changes a
    verdict."""
    for how, files in named_and_not(pki).items():
        with filled(dict(files, **{"stranger.pem": pki.pem("leaf5")})) as folder:
            for build, pointers in itertools.product(options.few, ("old", "new")):
                # Through old pointers a store is not served at all: shorter sequences show that.
                command = [compiled("mixture", build), length - (pointers == "old"), pointers]
                stock, now = (execute([*command, *library], folder) for library in ((), (options.library,)))
                different = [f"{a}  now {b}" for a, b in zip(stock.splitlines(), now.splitlines()) if a != b]
                results.check(f"stores from before, {pointers} pointers on OpenSSL {build}, the issuer {how}",
                              stock == now and now.endswith("exit 0\n"), "\n".join(different[:20] + [now[-200:]]))


def unseen(results, options, pki):
    """A certificate that is added where no hook sees it hides nothing of its subject from the verifications that begin
    after. A table can't be put into order again: there the leaf says which of the two roots it means."""
    (a, _, b, *_), leaves = roots_of_one_subject(pki.signer)
    others = b"".join(pki.pem(f"r{n}") for n in range(1, 5))
    named = {"bundle.pem": a + others, "twin.pem": b, "leaf.pem": leaves[0]}
    unnamed = {"bundle.pem": pki.pem("r0") + others, "twin.pem": pki.pem("twin"), "leaf.pem": pki.pem("leaf0")}
    for build in options.builds:
        for how, files in (("named", named), ("not named", unnamed)):
            if how == "named" or not build.startswith("4."):
                with filled(files) as folder:
                    same_in_both(results, f"an addition that nobody sees on OpenSSL {build}, the issuer {how}",
                                 [compiled("unseen", build), "."], folder, options.library)


def removed(results, options, pki):
    """A root that the program has taken out of the live stack is trusted no more, until it is loaded again."""
    bundle = b"".join(pki.pem(f"r{n}") for n in range(5))
    with filled({"bundle.pem": bundle, "gone.pem": pki.pem("r0"), "again.pem": pki.pem("r0", "r5"),
                 "leaf-0.pem": pki.pem("leaf0"), "leaf-1.pem": pki.pem("leaf1")}) as folder:
        for build in options.builds:
            same_in_both(results, f"a root taken out on OpenSSL {build}", [compiled("removed", build), "."], folder,
                         options.library)


def handed(results, options, pki):
    """What the program has of a store's certificates outlives the store as in stock, and several threads can ask for
    it."""
    (root, *others), (leaf, *_) = roots_of_one_subject(pki.signer)
    with filled({"bundle.pem": root + pki.pem("r1"), "root.pem": root, "twins.pem": b"".join([*others, root]),
                 "leaf.pem": leaf, "leaf.key": pki.keys["leaf"].pem().encode()}) as folder:
        for build in options.builds:
            for mode, rounds in (("after", 200), ("authority", 1), ("contexts", 2000), ("connections", 500),
                                 ("locked", 50), ("issued", 2000)):
                same_in_both(results, f"what is handed out on OpenSSL {build}, {mode}",
                             [compiled("handed", build), ".", mode, rounds * options.rounds], folder, options.library,
                             env={"MALLOC_PERTURB_": "85"})
