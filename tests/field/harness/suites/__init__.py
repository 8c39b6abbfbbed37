"""All cases: pairs of a case, and whether it is in the sample."""

from suites import dlsym, linker, loading, mixtures, wrappers

SUITES = (wrappers, dlsym, mixtures, linker, loading)


def all_cases(world):
    for suite in SUITES:
        yield from suite.cases(world)
