"""SARIF logs against the schema of the standard.

The schema comes with a crate, serde-sarif, as it was published for version 2.1.0. Cargo's client downloads the crate;
nothing of it is compiled.
"""

import functools
import hashlib
import json
import os
import pathlib
import subprocess

import jsonschema

CRATE = "serde-sarif@0.8.0"
SHA256 = "af47e7b67f24efe74076621fd3a5fbe7398add9e84fe820c971219a385895cea"


@functools.cache
def validator():
    subprocess.run([os.environ["CARGO"], "info", "--quiet", "--registry", "crates-io", CRATE], check=True,
                   stdout=subprocess.DEVNULL, cwd="/")
    home = pathlib.Path(os.environ.get("CARGO_HOME") or pathlib.Path.home() / ".cargo")
    schema = next((home / "registry/src").glob(f"*/{CRATE.replace('@', '-')}/src/schema.json")).read_bytes()
    assert hashlib.sha256(schema).hexdigest() == SHA256, "the schema is another one"
    schema = json.loads(schema)
    return jsonschema.validators.validator_for(schema)(schema)


def wrong(log):
    """What the standard does not allow, and what this project promises beyond it: a text, empty if all is well."""
    found = [f"{list(error.absolute_path)}: {error.message[:200]}" for error in validator().iter_errors(log)]
    run = log["runs"][0]
    prints = [result["partialFingerprints"]["primaryLocationLineHash"] for result in run["results"]]
    if len(set(prints)) != len(prints):
        found.append("two results have one fingerprint")
    for result in run["results"]:
        artifact = result["locations"][0]["physicalLocation"]["artifactLocation"]
        if artifact["uri"].startswith("/") or ":" in artifact["uri"] or artifact["uriBaseId"] != "ROOT":
            found.append(f"{artifact} is not within the image")
        rule = run["tool"]["driver"]["rules"][result["ruleIndex"]]
        if rule["id"] != result["ruleId"] or not rule["help"]["text"]:
            found.append(f"{result['ruleId']} has no rule with a help text")
    return "; ".join(found)


def fingerprints(log):
    return {result["partialFingerprints"]["primaryLocationLineHash"] for result in log["runs"][0]["results"]}
