"""`bench/run.sh peers`: what a client's trust costs with Windlass and in other ecosystems; one bundle, one run."""

import dataclasses
import json
import pathlib
import re
import shutil
import sys

import peers_build
import peers_page
import report
from measure import run, run_json
from recorded import RESULTS
from server import Server

RUNS, TURNS = 12, 20
KEPT, MEMORY_RUNS, PROBES = 100, 3, 3
FEW, MANY = 2, 4  # contexts of the two runs whose instructions are compared
SAMPLES = ("first", "next", "verified", "reused", "kib", "instr", "probe")
TOKEN = pathlib.Path(__file__).resolve().parents[2] / "tests" / "pkcs11" / "harness"


@dataclasses.dataclass
class Peer:
    name: str
    needs: str
    before: list
    after: list = dataclasses.field(default_factory=list)
    env: dict = dataclasses.field(default_factory=dict)
    prefix: list = dataclasses.field(default_factory=list)
    windlass: str = ""  # "with" Windlass; "apart": Windlass serves it in a row of its own; "": see probed()
    turns: int = TURNS
    kind: str = "context"  # or "request": no context without its verification
    counted: bool = False  # callgrind counts it
    memory: str = "resident"

    def argv(self, mode, count, server):
        root, leaf = (server.folder / name for name in ("root.pem", "leaf.pem"))
        return [*self.prefix, *self.before, mode, count, root, leaf, *self.after]


def served(peers, preload):
    """Each peer, and the same with the library."""
    for peer in peers:
        yield dataclasses.replace(peer, windlass="apart")
        yield dataclasses.replace(peer, name=f"{peer.name}, Windlass", env=peer.env | preload, windlass="with")


def listed(built, world, server):
    """All peers in the order of the table."""
    preload = {"LD_PRELOAD": world.library, "WINDLASS_STORE": ""}
    system = [Peer("OpenSSL 3.0", "openssl-system", [built.get("openssl-system")], counted=True)]
    yield from served(system, preload)
    if "openssl-system" in built:
        stores = world.folder / "peers-stores"
        run([world.windlass, "compile", "--store", stores, server.bundle])
        yield dataclasses.replace(system[0], name="OpenSSL 3.0, compiled store", windlass="with",
                                  env=preload | {"WINDLASS_STORE": stores})
    for version in peers_build.OPENSSL:
        name = f"openssl-{version}"
        yield from served([Peer(f"OpenSSL {version[:3]}", name, [built.get(name)], counted=True)], preload)
    gnutls = Peer("GnuTLS, file", "gnutls", [built.get("gnutls")], after=[server.bundle], counted=True)
    yield from served([gnutls], preload)
    if "p11-kit" in built and "gnutls" in built:
        ours, theirs = modules(world)
        for side, name, windlass in ((theirs, "p11-kit-trust", "apart"), (ours, "trust token", "with")):
            entering = ["unshare", "--mount", "--propagation", "private", "sh", "-c", side.script, "sh", side.modules,
                        server.bundle]
            yield dataclasses.replace(gnutls, name=f"GnuTLS, {name}", prefix=entering, after=["pkcs11:"],
                                      windlass=windlass)
    curl = Peer("libcurl, fresh handle", "libcurl", [built.get("libcurl")], after=[server.url, server.bundle, "fresh"],
                kind="request", counted=True)
    yield from served([curl], preload)
    yield dataclasses.replace(curl, name="libcurl, reused handle", windlass="apart", memory="",
                              after=[server.url, server.bundle, "reused"])
    python = [built.get("python"), peers_build.PEERS / "python" / "peer.py"]
    yield from served([
        Peer("Python ssl", "python", [*python, "ssl"], counted=True),
        Peer("Python truststore", "python", [*python, "truststore"], counted=True),
        Peer("truststore, kept context", "python", [*python, "truststore-kept"], kind="request", counted=True,
             memory=""),
        Peer("Python requests", "python", [*python, "requests"], after=[server.url], kind="request", counted=True,
             env={"REQUESTS_CA_BUNDLE": server.bundle})], preload)
    node = [built.get("node"), "--expose-gc", peers_build.PEERS / "node" / "peer.js"]
    extra = {"NODE_EXTRA_CA_CERTS": server.folder / "root.pem"}
    yield Peer("Node, ca:", "node", [*node, "ca"])
    yield Peer("Node, https.Agent({ca})", "node", [*node, "agent"], kind="request", memory="")
    yield Peer("Node, its own roots", "node", [*node, "default"], env=extra)
    yield Peer("Go, AppendCertsFromPEM", "go", [built.get("go"), "pem"])
    yield Peer("Go, SystemCertPool", "go", [built.get("go"), "system"], turns=TURNS * 10)
    for name in ("native-certs", "platform-verifier", "webpki-roots"):
        yield Peer(f"rustls, {name}", "rust", [built.get("rust"), name], counted=True, turns=TURNS * 5)
    yield from java_peers(built, world, server)


def java_peers(built, world, server):
    if "java" not in built:
        return
    begin = [built["java"], "-cp", built["classes"]]
    with_store = {}
    for kind in ("JKS", "PKCS12"):
        store = world.folder / f"peers.{kind}"
        run([*begin, "Peer", "store", server.bundle, store, kind])
        trust = {"trustStore": store, "trustStoreType": kind, "trustStorePassword": "changeit"}
        with_store[kind] = [*begin, *(f"-Djavax.net.ssl.{key}={value}" for key, value in trust.items()), "Peer"]
    yield Peer("Java, KeyStore, JKS", "java", [*with_store["JKS"], "keystore"], memory="heap")
    yield Peer("Java, KeyStore, PKCS12", "java", [*with_store["PKCS12"], "keystore"], memory="heap")
    yield Peer("Java, default trust", "java", [*with_store["JKS"], "default"], memory="heap", turns=TURNS * 10)
    yield Peer("Java, SSLContext.getDefault", "java", [*with_store["JKS"], "shared"], memory="", turns=TURNS * 10)


def modules(world):
    """The token's and p11-kit's configuration of modules."""
    sys.path.append(str(TOKEN))
    from sides import ENTER, sides

    folder = world.folder / "peers-modules"
    folder.mkdir()
    found = sides(world.library.parent / "libwindlass_pkcs11.so", str(folder), str(folder))
    for side in found:
        side.script = ENTER
    return found


def measured(world, built, quick):
    """The record of each peer."""
    with Server(world.folder / "peers-server") as server:
        nothing = world.folder / "peers-no-roots"
        nothing.mkdir()
        # No peer may find more than the bundle.
        trust = {"SSL_CERT_FILE": server.bundle, "SSL_CERT_DIR": nothing}
        peers = [peer for peer in listed(built, world, server) if peer.needs in built]
        kept = {peer.name: {key: [] for key in SAMPLES} for peer in peers}

        def said(peer, mode, count, env=()):
            return run_json(peer.argv(mode, count, server), trust | peer.env | dict(env))

        runs, memory_runs = (3, 1) if quick else (RUNS, MEMORY_RUNS)
        for turn in range(runs):
            print(f"peers: run {turn + 1} of {runs} …", file=sys.stderr, flush=True)
            start = turn * len(peers) // runs
            # Another peer is the first of each run.
            for peer in peers[start:] + peers[:start]:
                samples, result = kept[peer.name], said(peer, "time", peer.turns)
                if peer.kind == "request":
                    result.pop("next", None)
                for key, value in result.items():
                    samples[key].append(value)
                if not peer.windlass and turn < PROBES:
                    probe = said(peer, "time", peer.turns, {"LD_PRELOAD": world.library})
                    samples["probe"].append(probe["verified"] / result["verified"])
                if peer.memory and turn < memory_runs:
                    samples["kib"].append(said(peer, "keep", KEPT)["kib"])
        for peer in peers:
            if peer.counted and not quick and shutil.which("valgrind"):
                print(f"peers: instructions of {peer.name} …", file=sys.stderr, flush=True)
                few, many = (instructions(peer, count, server, trust) for count in (FEW, MANY))
                kept[peer.name]["instr"].append((many - few) / (MANY - FEW))
    return [{"name": peer.name, "kind": peer.kind, "windlass": peer.windlass or probed(kept[peer.name]["probe"]),
             "memory": peer.memory, "samples": kept[peer.name]} for peer in peers]


def instructions(peer, count, server, trust):
    """Of the whole process; callgrind is started within the mount namespace of a peer that has one."""
    at, argv = len(peer.prefix), peer.argv("count", count, server)
    callgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--log-fd=1"]
    said = run([*argv[:at], *callgrind, *argv[at:]], trust | peer.env)
    return int(re.search(rb"Collected : (\d+)", said).group(1))


def probed(probes):
    """Whether the library, preloaded, changes what a peer's context costs."""
    return "not reached" if sorted(probes)[len(probes) // 2] > 0.7 else "reached"


def about(built):
    def said(name, *arguments):
        text = run([built[name], *arguments]).decode() if name in built else ""
        return text.splitlines()[0] if text else None

    found = report.machine()
    found["openssl built"] = [version for version in peers_build.OPENSSL if f"openssl-{version}" in built]
    found["go"] = report.first_line(shutil.which("go"), "version") if "go" in built else None
    found["node"] = said("node", "--version")
    found["java"] = report.first_line(str(built["java"]), "-version") if "java" in built else None
    wanted = (peers_build.PEERS / "python" / "requirements.txt").read_text(encoding="utf-8")
    found["packages"] = re.findall(r"(?m)^([\w-]+)==([\w.]+)", wanted)
    locked = (peers_build.PEERS / "rust" / "Cargo.lock").read_text(encoding="utf-8")
    named = "rustls|rustls-native-certs|rustls-platform-verifier|webpki-roots"
    found["crates"] = re.findall(rf'name = "({named})"\nversion = "([\w.]+)"', locked)
    return {key: value for key, value in found.items() if value}


def main(world, quick, keep):
    built, missing = peers_build.build(world.library.parent.parent / "bench" / "peers")
    if "openssl-system" not in built:
        raise SystemExit("peers: nothing to compare with: the system's OpenSSL is missing: run `make setup`")
    record = {"machine": about(built), "missing": missing, "runs": 3 if quick else RUNS,
              "peers": measured(world, built, quick)}
    print(peers_page.markdown(record))
    if keep and not quick:
        machine = record["machine"]
        path = RESULTS / f"{machine['date']}-{machine['arch']}-{machine['cores']}cores-peers.json"
        path.write_text(as_json(record))
        path.with_suffix(".md").write_text(peers_page.markdown(record) + "\n")
        print(f"\nraw samples: {path.relative_to(RESULTS.parent.parent)}")
    return 0


def as_json(record):
    return json.dumps(record, separators=(",", ":")).replace('{"name"', '\n{"name"') + "\n"
