"""python -m windlass doctor: which TLS modules of this environment are reached, and why not."""

import importlib
import json
from typing import Dict

from . import _reach
from ._library import attach
from ._status import status

# What people import, and the extension module in it that calls a TLS library.
_MODULES = {
    "ssl": _reach.SSL,
    "pycurl": "pycurl",
    "psycopg2": "psycopg2._psycopg",
    "psycopg": "psycopg_binary._psycopg",
    "OpenSSL, cryptography": "cryptography.hazmat.bindings._rust",
    "grpc": "grpc._cython.cygrpc",
    "MySQLdb": "MySQLdb._mysql",
    "mysql.connector": "_mysql_connector",
    "ldap": "_ldap",
    "pygit2": "pygit2._pygit2",
    "confluent_kafka": "confluent_kafka.cimpl",
    "curl_cffi": "curl_cffi._wrapper",
}


def main(as_json: bool) -> int:
    """Prints what is reached. Returns 1 if this process can't be attached to, else 0."""
    result = attach()
    rows = [_row(name, module) for name, module in _MODULES.items()]
    rows = [row for row in rows if row]
    found = status()
    hidden = {library.path for library in found.libraries if library.is_hidden or library.is_from_before}
    attached = result in ("attached", "already")
    for row in rows:
        if row["library"] in hidden:
            row["why_not"] = found.reason
        row["reached"] = attached and row["why_not"] is None
    if as_json:
        print(json.dumps({"attach": result, "reason": found.reason, "modules": rows}, indent=2))
        return 0 if attached else 1
    reason = "" if attached or found.reason is None else f": {found.reason}"
    print(f"attach: {result}{reason}")
    width = max((len(str(row["module"])) for row in rows), default=0)
    for row in rows:
        verdict = "reached" if row["reached"] else "not reached"
        why = row["library"] if row["why_not"] is None else row["why_not"]
        print(f"{str(row['module']):{width}}  {verdict:11}  {why}")
    return 0 if attached else 1


def _row(name: str, module: str) -> Dict[str, object]:
    """What is known of a module; empty if it is not installed."""
    row: Dict[str, object] = {"module": name, "library": None, "why_not": None}
    try:
        file = getattr(importlib.import_module(module), "__file__", None)
    except ModuleNotFoundError:
        return {}
    except Exception as error:  # whatever a foreign module raises
        row["why_not"] = f"it can't be imported: {error}"
        return row
    library = _reach.library_of(file)
    if library is None:
        row["why_not"] = f"it has a TLS library of its own, linked statically into {file or 'the interpreter'}"
    else:
        row["library"] = library.path
    return row
