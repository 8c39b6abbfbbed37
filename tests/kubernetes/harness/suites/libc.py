"""The right library by libc, or none: what programs of several images make of the variables that they get."""

import pods

CASES = []


def case(function):
    CASES.append(("libc: " + function.__name__.replace("_", " "), function))
    return function


def hello(world, **described):
    mutated, said = pods.create(world.cluster, pods.pod("served", command=["/bin/hello"], **described))
    assert not said and "LD_PRELOAD" in pods.environment(mutated["spec"]["containers"][0]), said
    return world.node.run(mutated)


@case
def musl_runs_as_without(world):
    assert hello(world, image="alpine") == (0, "hello\n", "")


@case
def musl_would_end_if_it_found_the_library(world):
    """So the case above can fail."""
    own = [{"name": "LD_PRELOAD", "value": "/opt/windlass/library/libwindlass_preload.so"}]
    status, _, said = hello(world, image="alpine", env=own)
    assert status == 127 and "ld-linux-x86-64.so.2" in said, (status, said)


@case
def distroless_has_it(world):
    status, out, said = hello(world, image="distroless", env=[{"name": "LD_DEBUG", "value": "files"}])
    assert (status, out) == (0, "hello\n") and "libwindlass_preload.so [0]" in said, (status, out, said)
    assert hello(world, image="distroless") == (0, "hello\n", "")


@case
def debian_has_it(world):
    look = "print([line.split()[-1] for line in open('/proc/self/maps') if 'windlass' in line][0])"
    mutated, _ = pods.create(world.cluster, pods.pod("served", command=["python3", "-c", look]))
    assert world.node.run(mutated) == (0, "/opt/windlass/library/libwindlass_preload.so\n", "")


@case
def every_distribution_finds_the_same_file(world):
    library = world.images[pods.LIBRARY_IMAGE] / "library"
    found = {path.resolve() for path in library.rglob("libwindlass_preload.so")}
    assert found == {library / "libwindlass_preload.so"}, found
    for directory in ("lib/x86_64-linux-gnu", "lib64", "lib"):
        assert (library / directory / "libwindlass_preload.so").exists(), directory
