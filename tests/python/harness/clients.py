"""HTTP clients, attached and stock: the same verdicts on a good server, an unknown CA, and a wrong host."""

import functools
import json
import pathlib
import subprocess
import sys

import pki
from context import PROGRAMS
from https import Server

WANTED = pathlib.Path(__file__).resolve().parents[1] / "clients.txt"
KINDS = ("requests", "urllib3", "httpx", "aiohttp", "boto3", "truststore", "pip")
OLDEST = (3, 11)


def client(kind, context):
    if not serves(context):
        return "not tried: these versions of the clients need Python 3.11"
    python, unknown = interpreter(context), authority(context)
    with Server(context.authority.chain) as good, Server(unknown.chain) as other:
        # The certificates are for localhost.
        urls = [f"https://{host}/" for host in (f"localhost:{good.port}", f"localhost:{other.port}",
                                                f"127.0.0.1:{good.port}")]
        stock, attached = (asked(context, python, kind, how, urls) for how in ("stock", "attach"))
    good, other, wrong = stock["verdicts"][0], stock["verdicts"][2], stock["verdicts"][4]
    assert good == "accepted" and "local issuer" in other and "match" in wrong, stock
    assert attached["verdicts"] == stock["verdicts"], (stock, attached)
    if kind == "pip":
        # It keeps one context with certifi's roots, and truststore adds the machine's to it for each connection.
        assert attached["served"] >= 1 and set(attached["bypassed"]) <= {"shared-subject"}, attached
    else:
        # A context of each client.
        assert attached["served"] >= 6 and attached["bypassed"] == {}, attached
    return None


def serves(context):
    return tuple(map(int, context.version.split(".")[:2])) >= OLDEST


def asked(context, python, kind, how, urls):
    program = PROGRAMS / "clients" / "verdicts.py"
    bundle = context.authority.bundle
    return json.loads(context.run(program, kind, how, *urls, python=python, REQUESTS_CA_BUNDLE=bundle,
                                  AWS_CA_BUNDLE=bundle))


@functools.lru_cache(maxsize=None)
def authority(context):
    """Another one, that nobody trusts."""
    return pki.Authority(context.folder / "unknown-pki")


@functools.lru_cache(maxsize=None)
def interpreter(context):
    """An interpreter with windlass and the clients. They are kept in target/: they come from PyPI."""
    kept = context.wheels.parent / "python" / f"clients-{context.version}"
    python, stamp = kept / "bin" / "python", kept / "stamp"
    if not stamp.is_file() or stamp.read_bytes() != WANTED.read_bytes():
        subprocess.run([context.interpreter, "-m", "venv", "--clear", kept], check=True)
        pip(python, "--require-hashes", "--only-binary", ":all:", "-r", WANTED)
        stamp.write_bytes(WANTED.read_bytes())
    pip(python, "--no-index", "--force-reinstall", "--no-deps", next(context.wheels.glob("windlass-*.whl")))
    return python


def pip(python, *arguments):
    subprocess.run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *arguments], check=True,
                   stdout=sys.stderr)


CASES = [(f"client: {kind}", functools.partial(client, kind)) for kind in KINDS]
