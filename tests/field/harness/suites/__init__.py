"""All cases: pairs of a case, and whether it is in the sample."""

from suites import dlsym, mixtures, wrappers

SUITES = (wrappers, dlsym, mixtures)


def all_cases(world):
    for suite in SUITES:
        yield from suite.cases(world)
