"""Real programs: what `windlass trace` finds is what strace and grep count."""

import subprocess

from build import COMMANDS
from sides import environment
from tracer import check, equal

CONTEXTS = 4
# A context for each request, and one that is never used.
PYTHON = """import ssl, sys, urllib.request
def fetch(url, bundle):
    context = ssl.create_default_context(cafile=bundle)
    return urllib.request.urlopen(url, context=context).read().decode()
for _ in range(int(sys.argv[3])):
    print(fetch(sys.argv[1], sys.argv[2]), end="")
ssl.create_default_context(cafile=sys.argv[2])
"""
RUBY = """require "net/http"
def fetch(uri, bundle)
  Net::HTTP.start(uri.host, uri.port, use_ssl: true, ca_file: bundle) { |http| print http.get("/").body }
end
Integer(ARGV[2]).times { fetch(URI(ARGV[0]), ARGV[1]) }
"""


def cases(world):
    url, bundle = world.hosts.url("good"), world.pki.bundle
    scripts = {"client.py": PYTHON, "client.rb": RUBY}
    for name, text in scripts.items():
        (world.folder / name).write_text(text)
    python = ["/usr/bin/python3", world.folder / "client.py", url, bundle, CONTEXTS]
    ruby = ["/usr/bin/ruby", world.folder / "client.rb", url, bundle, CONTEXTS]
    php = ["/usr/bin/php", world.programs / "client.php", "get", url, "cafile", bundle]
    yield "programs: python", lambda: compare(world, python, connections=CONTEXTS, script=("fetch", "client.py:3"))
    yield "programs: ruby", lambda: compare(world, ruby, connections=CONTEXTS, script=("fetch", "client.rb:3"))
    yield "programs: crystal", lambda: compare(world, crystal(world, url, bundle), connections=3)
    yield "programs: php", lambda: compare(world, php, connections=2)
    yield "programs: curl", lambda: compare(world, ["/usr/bin/curl", "-sS", "--cacert", bundle, url], connections=1)
    yield "programs: wget, which has GnuTLS", lambda: compare(
        world, ["/usr/bin/wget", "-q", "-O", "-", "--ca-certificate", bundle, url], connections=1, library="GnuTLS")
    yield "programs: a shell with three of them", lambda: compare(world, ["/bin/sh", "-c", "; ".join(
        [f"curl -sS --cacert {bundle} {url}", f"wget -q -O - --ca-certificate {bundle} {url}"] * 2)], connections=4,
                                                                  library=None)
    yield "programs: a hashed directory", lambda: directory(world, url)


def crystal(world, url, bundle):
    """Built once, and shared with the end-to-end tests."""
    source, program = world.programs / "client.cr", world.built / "client"
    if not program.exists() or program.stat().st_mtime <= source.stat().st_mtime:
        program.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run([str(word) for word in COMMANDS["client.cr"](source, program)], check=True, timeout=600,
                       env=environment({"CRYSTAL_CACHE_DIR": world.built / "crystal-cache"}), capture_output=True)
    return [program, url, "ca_certificates", bundle]


def compare(world, argv, connections, script=None, library="OpenSSL"):
    stock = world.stock(argv)
    traced = world.trace(argv)
    equal((traced.status, traced.stdout, traced.stderr), stock, "status and streams")
    report, bundle = traced.report, str(world.pki.bundle)

    entries = [entry for entry in report["entries"] if any(source["path"] == bundle for source in entry["sources"])]
    calls = sum(entry["calls"] for entry in entries)
    equal(calls, world.opens(argv, bundle), "loads of the bundle, against its opens under strace")
    check(calls > 0, "the program loads the bundle")
    in_bundle = world.pki.bundle.read_bytes().count(b"-----BEGIN CERTIFICATE-----")
    equal(sum(entry["certificates"] for entry in entries), calls * in_bundle, "certificates, against grep -c BEGIN")
    equal(sum(entry["failed"] for entry in entries), 0, "loads that failed")
    if library:
        check(all(entry["library"].startswith(library) for entry in entries), [entry["library"] for entry in entries])

    summary = report["summary"]
    equal(summary["connections"], connections, "connections")
    # A call that only notes a directory reads nothing (curl, beside its bundle).
    noted = sum(entry["loads"] for entry in report["entries"] if not entry["certificates"] and not entry["failed"]
                and all(source["kind"].endswith("directory") for source in entry["sources"]))
    equal(summary["loads_per_connection"], round((summary["loads"] - noted) / connections, 2), "loads per connection")
    check(0 < summary["cpu"] <= summary["process_cpu"], f"CPU time {summary['cpu']} of {summary['process_cpu']}")
    check(0 < summary["wall"] <= report["wall"] * len(report["timeline"]), "time of loading is part of the run's")
    check(summary["memory_peak"] > 0, "something is held")
    certificates = report["certificates"]
    root = [anchor for anchor in certificates["anchors"] if anchor["name"] == "Windlass Test Root"]
    equal((certificates["used"], root and root[0]["verifications"]), (1, connections), "anchors that were used")
    read = [source["certificates"] for source in certificates["sources"] if source["path"] == bundle]
    equal(read, [in_bundle], "certificates in the bundle")
    equal(report["events"]["unreadable"] + report["events"]["unknown"], 0, "events that were not understood")
    spans = sum(span["calls"] for row in report["timeline"] for span in row["spans"])
    equal(spans, sum(entry["calls"] for entry in report["entries"]), "loads on the timeline")
    if script:
        function, place = script
        frames = [frame for frame in report["stacks"][0]["frames"] if frame["kind"] == "script"]
        found = [frame for frame in frames if frame["name"].endswith(function)]
        check(found and any(frame["place"].rsplit("/", 1)[-1] == place for frame in frames), f"{script} in {frames}")
    check(all(stack["frames"][-1]["kind"] == "entry" for stack in report["stacks"]),
          "stacks end in the loading function")
    check(f"{summary['certificates']:,} certificates parsed" in traced.text, traced.text)


def directory(world, url):
    """OpenSSL reads a file of the directory for the verification that needs it, and nothing else."""
    argv = ["/usr/bin/ruby", world.programs / "client.rb", "get", url, "ca_path", world.pki.capath]
    traced = world.trace(argv)
    hashed = next(path for path in world.pki.capath.iterdir() if path.name.endswith(".0"))
    opens = world.opens(argv, hashed)
    files = [entry for entry in traced.report["entries"]
             if any(source["path"] == str(hashed) for source in entry["sources"])]
    equal(sum(entry["calls"] for entry in files), opens, "files of the directory, against strace")
    check(opens > 0 and sum(entry["certificates"] for entry in files) == opens, files)
