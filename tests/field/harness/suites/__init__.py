"""All cases: pairs of a case, and whether it is in the sample."""

from suites import dlsym, early, linker, loading, mixtures, wrappers

SUITES = (wrappers, dlsym, mixtures, linker, loading, early)


def all_cases(world):
    for suite in SUITES:
        yield from suite.cases(world)
