"""All cases: pairs of a name and a function that takes the world. The order matters: the first makes the cluster."""

from suites import admission, freshness

CASES = [*admission.CASES, *freshness.CASES]
