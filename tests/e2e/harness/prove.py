"""Shows that the cases can fail: each is run under libraries that are wrong on purpose (programs/mutant.c)."""

import dataclasses
import subprocess

import main
from cases import judge
from sides import Side, Windlass

# Cases whose outcome no wrong library can change, and why.
IMMUNE = {
    "curl: --insecure": "nothing is verified",
    "guest: secure execution": "the loader must not load the library at all",
    "guest: fork while threads load": "without Windlass the children wait for OpenSSL's locks; ending at all is the "
                                      "outcome",
}


def prove(cases, world, windlass, folder):
    """Each case must fail at least once for what the program showed, and for its counters where it has some."""
    sides = {kind: Mutant(windlass, compile_mutant(world, folder, kind)) for kind in ("EMPTY", "BLIND", "CREDULOUS")}
    cases = [case for case in cases if case.name not in IMMUNE]
    failed = 0
    for case in cases:
        reasons = unproven(case, world, sides)
        failed += bool(reasons)
        print(f"{'FAILED' if reasons else 'ok    '} can fail: {case.name}{': ' if reasons else ''}{'; '.join(reasons)}",
              flush=True)
    print(f"prove: {len(cases) - failed} passed, {failed} failed")
    return 1 if failed else 0


def unproven(case, world, sides):
    """What is missing in the proof that this case can fail; empty when nothing is."""
    stock, _ = main.observe(case, Side(), world)
    if isinstance(stock, str):
        return [stock]
    shown = dataclasses.replace(case, served=None, bypassed=None, counts=())
    results = {kind: main.observe(case, side, world)[0] for kind, side in sides.items()}
    reasons = []
    if fails(shown, stock, results["EMPTY"]):
        reasons.append("fails under a library that does nothing")
    if (case.served is not None or case.bypassed is not None) and not fails(case, stock, results["EMPTY"]):
        reasons.append("passes although nothing was counted")
    if not fails(shown, stock, results["BLIND"]) and not fails(shown, stock, results["CREDULOUS"]):
        reasons.append("passes under every wrong library")
    return reasons


def fails(case, stock, result):
    return isinstance(result, str) or bool(judge(case, stock, result))


def compile_mutant(world, folder, kind):
    library = folder / f"mutant-{kind.lower()}.so"
    subprocess.run(["cc", "-shared", "-fPIC", f"-D{kind}", "-o", library, world.programs / "mutant.c"], check=True)
    return library


class Mutant(Windlass):
    """Windlass's command with another library."""

    def __init__(self, windlass, library):
        super().__init__(windlass)
        self.library = library

    def command(self, argv):
        return ["/usr/bin/env", f"WINDLASS_PRELOAD_LIBRARY={self.library}", *super().command(argv)]

    def run_plain(self, argv, env=None):
        return super().run_plain(argv, {"WINDLASS_PRELOAD_LIBRARY": self.library, **(env or {})})
