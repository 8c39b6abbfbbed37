"""The files for the check without a cluster (manifests.py) are current. WINDLASS_BLESS=1 writes them."""

import json
import os

import pods
import schema

CASES = []


def case(function):
    CASES.append(("kept: " + function.__name__.replace("_", " "), function))
    return function


def compare(path, text):
    if os.environ.get("WINDLASS_BLESS"):
        path.write_text(text, encoding="utf-8")
    assert path.exists() and path.read_text(encoding="utf-8") == text, f"{path.name} is old: WINDLASS_BLESS=1 writes it"


@case
def the_schema_is_the_servers(world):
    compare(schema.KEPT, schema.as_text(schema.of_server(lambda path: world.cluster.kubectl("get", "--raw", path))))


@case
def the_policies_are_those_at_work(world):
    import manifests  # it reads the schema, which may just have been written
    mutated, said = pods.create(world.cluster, pods.pod("served"))
    assert not said, said
    container = mutated["spec"]["containers"][0]
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "admitted"},
           "spec": {"containers": [{name: container[name] for name in ("name", "image", "env", "volumeMounts")}],
                    "volumes": sorted(mutated["spec"]["volumes"], key=lambda volume: volume["name"])}}
    container = pod["spec"]["containers"][0]
    container["env"].sort(key=lambda one: one["name"])
    container["volumeMounts"].sort(key=lambda one: one["name"])
    compare(manifests.ADMITTED, json.dumps({"policies": manifests.fingerprint(), "pod": pod}, indent=1) + "\n")
