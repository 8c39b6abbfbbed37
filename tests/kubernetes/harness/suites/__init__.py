"""All cases: pairs of a name and a function that takes the world. The order matters: the first makes the cluster."""

from suites import admission, bad_input, freshness, libc

CASES = [*admission.CASES, *libc.CASES, *freshness.CASES, *bad_input.CASES]
