"""Checks deploy/kubernetes without a cluster: `make test-kubernetes-manifests`.

The manifests are what generate.py writes, and valid by the API server's own schema (schema.json); the overlays' patches
apply; the policies are those that the whole suite has last seen at work (admitted.json). The suite keeps both files
current. The page's commands apply images that they have pushed, and bundle.py says what is wrong with a file.
"""

import hashlib
import json
import pathlib
import re
import subprocess
import sys
import traceback

import jsonschema
import page
import trust_bundles
import yaml

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
DEPLOY = ROOT / "deploy/kubernetes"
ADMITTED = HERE / "admitted.json"
SCHEMA = json.loads((HERE / "schema.json").read_text(encoding="utf-8"))


def documents(path):
    return [one for one in yaml.safe_load_all(path.read_text(encoding="utf-8")) if one]


def built(folder):
    """What kustomize makes of a folder: resources, and patches by JSON Patch."""
    rules = yaml.safe_load((folder / "kustomization.yaml").read_text(encoding="utf-8"))
    objects = []
    for name in rules["resources"]:
        objects += built(folder / name) if (folder / name).is_dir() else documents(folder / name)
    for patch in rules.get("patches", []):
        [target] = [one for one in objects if one["kind"] == patch["target"]["kind"]
                    and one["metadata"]["name"] == patch["target"]["name"]]
        for change in yaml.safe_load(patch["patch"]):
            *parents, last = change["path"].strip("/").split("/")
            place = target
            for step in parents:
                place = place[int(step) if isinstance(place, list) else step]
            last = int(last) if isinstance(place, list) else last
            # What is not there can't be replaced.
            assert change["op"] == "replace" and place[last] is not None, change
            place[last] = change["value"]
    return objects


def validate(described):
    kind = f"{described['apiVersion'].removeprefix('apis/')} {described['kind']}"
    schema = {"$ref": f"#/definitions/{SCHEMA['kinds'][kind]}", "definitions": SCHEMA["definitions"]}
    jsonschema.Draft7Validator(schema).validate(described)


def fingerprint():
    """Of all policies, as the API server gets them."""
    folders = [DEPLOY / "base", *sorted((DEPLOY / "overlays").iterdir())]
    text = json.dumps([built(folder) for folder in folders], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def the_files_are_what_the_generator_writes():
    subprocess.run([sys.executable, "-B", DEPLOY / "generate.py", "--check"], check=True)


def the_manifests_are_valid():
    for folder in [DEPLOY / "base", *(DEPLOY / "overlays").iterdir(), *(DEPLOY / "agent").iterdir()]:
        for described in built(folder):
            validate(described)


def an_unknown_field_is_noticed():
    [described] = [one for one in built(DEPLOY / "base") if one["kind"] == "ValidatingAdmissionPolicy"]
    described["spec"]["validatons"] = described["spec"].pop("validations")
    try:
        validate(described)
    except jsonschema.ValidationError:
        return
    raise AssertionError("a field that there is not was accepted")


def the_policies_are_those_that_the_suite_has_seen():
    kept = json.loads(ADMITTED.read_text(encoding="utf-8"))
    assert kept["policies"] == fingerprint(), "the policies have changed: run `make test-kubernetes WINDLASS_BLESS=1`"
    validate(kept["pod"])


def a_pod_gets_the_variables_of_add_ca():
    """Read here by other code than the generator's."""
    table = (ROOT / "crates/windlass-run/src/add_ca/variables.txt").read_text(encoding="utf-8")
    wanted = set(re.findall(r"^([A-Z_0-9]+) (?:replaces|adds)$", table, re.M))
    pod = json.loads(ADMITTED.read_text(encoding="utf-8"))["pod"]
    given = {one["name"]: one["value"] for one in pod["spec"]["containers"][0]["env"]}
    bundle = "/etc/windlass/trust/ca-certificates.crt"
    assert len(wanted) > 5 and wanted == {name for name, value in given.items() if value == bundle} - {
        "WINDLASS_ADD_CA", "WINDLASS_TRUST_PATHS"}, wanted ^ set(given)


CASES = (the_files_are_what_the_generator_writes, the_manifests_are_valid, an_unknown_field_is_noticed,
         the_policies_are_those_that_the_suite_has_seen, a_pod_gets_the_variables_of_add_ca,
         *page.CASES, *trust_bundles.CASES)


def main():
    passed = failed = 0
    for case in CASES:
        try:
            case()
            passed += 1
        except (AssertionError, OSError, subprocess.SubprocessError, ValueError, KeyError,
                jsonschema.ValidationError):
            failed += 1
            print(f"FAILED  {case.__name__.replace('_', ' ')}\n{traceback.format_exc(limit=3)}")
    print(f"kubernetes-manifests: {passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
