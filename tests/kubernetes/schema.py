"""What the API server says of the kinds in deploy/kubernetes: a JSON schema, from its OpenAPI documents."""

import json
import pathlib

KEPT = pathlib.Path(__file__).resolve().parent / "schema.json"
GROUPS = {"api/v1": ("Namespace", "Pod"), "apis/apps/v1": ("DaemonSet",),
          "apis/admissionregistration.k8s.io/v1": (
              "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding", "ValidatingAdmissionPolicy",
              "ValidatingAdmissionPolicyBinding"),
          "apis/networking.k8s.io/v1": ("NetworkPolicy",),
          "apis/certificates.k8s.io/v1beta1": ("ClusterTrustBundle",)}
PREFIX = "#/components/schemas/"


def of_server(read):
    """`read` returns what the API server answers for a path."""
    kinds, all_schemas = {}, {}
    for group, wanted in GROUPS.items():
        schemas = json.loads(read(f"/openapi/v3/{group}"))["components"]["schemas"]
        all_schemas.update(schemas)
        version = group.removeprefix("apis/").removeprefix("api/")
        for name, schema in schemas.items():
            for known in schema.get("x-kubernetes-group-version-kind", []):
                if known["kind"] in wanted and name.endswith("." + known["kind"]):
                    kinds[f"{version} {known['kind']}"] = name
    needed, waiting = {}, list(kinds.values())
    while waiting:
        name = waiting.pop()
        if name not in needed:
            needed[name] = plain(all_schemas[name])
            waiting += references(needed[name])
    return {"kinds": kinds, "definitions": needed}


def plain(schema):
    """Only what decides whether an object is valid; fields that are not named are refused, as `kubectl` does."""
    if isinstance(schema, list):
        return [plain(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {}
    for name, value in schema.items():
        if name == "$ref":
            kept[name] = value.replace(PREFIX, "#/definitions/")
        elif name == "properties":
            kept[name] = {one: plain(inner) for one, inner in value.items()}
            kept["additionalProperties"] = False
        elif name in ("type", "required", "enum", "allOf", "oneOf", "items", "additionalProperties"):
            kept[name] = plain(value)
    return kept


def references(schema):
    if isinstance(schema, list):
        return [found for one in schema for found in references(one)]
    if not isinstance(schema, dict):
        return []
    own = [schema["$ref"].removeprefix("#/definitions/")] if isinstance(schema.get("$ref"), str) else []
    return own + [found for value in schema.values() for found in references(value)]


def as_text(schema):
    """A line for each definition, so that a change shows in a diff."""
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(one, sort_keys=True, separators=(',', ':'))}"
                       for name, one in sorted(schema["definitions"].items()))
    return f'{{"kinds": {json.dumps(schema["kinds"], sort_keys=True)},\n"definitions": {{\n{lines}\n}}}}\n'
