"""What is made of a record of `bench/run.sh peers`, whole or without some of the peers."""

import pathlib
import sys
from xml.etree import ElementTree

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "bench" / "harness"))

import peers_page

MACHINE = {"date": "2026-01-01", "cpu": "a CPU", "cores": 2, "arch": "x86_64", "kernel": "6.1", "os": "Debian",
           "roots": 144, "openssl": "OpenSSL 3.0.1", "go": "go version go1.21", "packages": [["truststore", "0.10"]]}


def peer(name, verified, windlass, **samples):
    return {"name": name, "kind": "context", "windlass": windlass, "memory": "resident",
            "samples": {"first": [], "next": [], "verified": verified, "reused": [], "kib": [], "instr": [],
                        "probe": []} | samples}


def record(**changes):
    peers = [peer("OpenSSL 3.0", [20.0, 24.0, 22.0, 26.0], "apart", first=[30.0] * 4, next=[20.0] * 4,
                  kib=[850.04], instr=[2.5e8]),
             peer("OpenSSL 3.0, Windlass", [0.2, 0.24, 0.22, 0.26], "with", next=[0.05] * 4),
             peer("Go, <pool>", [2.0, 2.4, 2.2, 2.6], "not reached")]
    return {"machine": MACHINE, "missing": {}, "runs": 4, "peers": peers} | changes


def whole():
    text = peers_page.markdown(record())
    assert "| OpenSSL 3.0 | 30 ±0 | 20 ±0 | 23 ±2.5 | 1 ±0 | 850 | 250.0 M | no |" in text, text
    assert "| OpenSSL 3.0, Windlass | - | 0.05 ±0 | 0.23 ±0.025 | 0.01 ±0 | - | - | yes |" in text, text
    assert "| Go, <pool> | - | - | 2.3 ±0.25 | 0.1 ±0 | - | - | not reached |" in text, text
    assert "Left out" not in text and "go version go1.21, truststore 0.10" in text, text


def without_a_peer():
    less = record(peers=record()["peers"][:2], missing={"Go": "no `go` in PATH"})
    text = peers_page.markdown(less)
    assert "Left out, since the machine lacks what they need: Go." in text and "<pool>" not in text, text
    assert "pool" not in peers_page.svg(less)


def without_openssl():
    text = peers_page.markdown(record(peers=record()["peers"][1:]))
    assert "| Go, <pool> | - | - | 2.3 ±0.25 | - |" in text, text


def few_runs():
    """Of three samples no spread is told."""
    assert peers_page.with_spread([1.0, 2.0, 4.0]) == "2", peers_page.with_spread([1.0, 2.0, 4.0])
    assert peers_page.short(0.000123, 3) == "0.000123" and peers_page.short(1234.5, 3) == "1,234"


def picture():
    """A bar for each peer, longer for what is slower, in a document that parses."""
    tree = ElementTree.fromstring(peers_page.svg(record()))
    lengths = [float(bar.get("width")) for bar in tree.iter("{http://www.w3.org/2000/svg}rect")
               if bar.get("class") in ("stock", "windlass")]
    assert len(lengths) == 3 and lengths[0] > lengths[2] > lengths[1] > 0, lengths


def results():
    """(name, why it failed or nothing)"""
    for test in (whole, without_a_peer, without_openssl, few_runs, picture):
        try:
            test()
            why = ""
        except Exception as error:  # pylint: disable=broad-except
            why = f"{type(error).__name__}: {error}"
        yield f"peers: {test.__name__.replace('_', ' ')}", why
