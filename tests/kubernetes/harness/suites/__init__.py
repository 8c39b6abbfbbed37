"""All cases: pairs of a name and a function that takes the world. The first makes the cluster what the others need."""

from suites import admission, agent, bad_input, freshness, guide, kept, libc, overlays, scale, trust_manager

CASES = [*guide.CASES, *admission.CASES, *libc.CASES, *freshness.CASES, *bad_input.CASES, *overlays.CASES,
         *trust_manager.CASES, *agent.CASES, *kept.CASES, *scale.CASES]
