"""Programs whose TLS can't be seen: that is said, and why."""

import json
import re
import subprocess

from tracer import check, equal

STATIC = "int main(void) { return 3; }\n"


def cases(world):
    yield "reach: node", lambda: node(world)
    yield "reach: java", lambda: reason(world, ["/usr/bin/java", "-version"], r"^Java ")
    yield "reach: a Go program", lambda: reason(world, ["/usr/bin/heartbleeder", "-h"], r"^Go's crypto/tls \(1\.\d+",
                                                status=None)
    yield "reach: a static program", lambda: static(world)
    yield "reach: beside others", lambda: beside(world)
    yield "reach: a program that loads nothing", lambda: nothing(world)


def node(world):
    """Node.js is built with an OpenSSL of its own, or, as Debian's, with the system's."""
    path = subprocess.run(["readlink", "-f", "/usr/bin/node"], check=True, capture_output=True,
                          text=True).stdout.strip()
    linked = subprocess.run(["ldd", path], check=True, capture_output=True, text=True).stdout
    argv = ["/usr/bin/node", "-e", "require('tls').createSecureContext()"]
    if "libssl" in linked:
        check(world.trace(argv).report["processes"][0]["out_of_reach"] is None,
              "linked against libssl, so it can be seen")
        return
    version = json.loads(world.stock(["/usr/bin/node", "-p", "JSON.stringify(process.versions)"])[1])["openssl"]
    reason(world, argv, "^OpenSSL " + re.escape(version.split("+")[0]))


def reason(world, argv, pattern, status=0):
    traced = world.trace(argv)
    if status is not None:
        equal(traced.status, status, "status")
    [process] = [process for process in traced.report["processes"] if process["out_of_reach"]]
    check(re.search(pattern, process["out_of_reach"]), process["out_of_reach"])
    for text in (traced.text, traced.page.read_text()):
        check("out of reach" in text and "no load was seen" not in text and "No CA certificates were" not in text,
              text[:400])


def static(world):
    program = world.program("static", STATIC, ["-static"])
    traced = world.trace([program])
    equal(traced.status, 3, "status")
    check("statically linked" in traced.report["unreachable"], traced.report["unreachable"])
    check("nothing was traced" in traced.text and "statically linked" in traced.text, traced.text)


def beside(world):
    """One process is out of reach, another one is not."""
    bundle, url = world.pki.bundle, world.hosts.url("good")
    traced = world.trace(["/bin/sh", "-c", f"java -version; curl -sS --cacert {bundle} {url}"])
    reasons = [process["out_of_reach"] for process in traced.report["processes"] if process["out_of_reach"]]
    equal((len(reasons), traced.report["summary"]["loads"] > 0), (1, True), "reasons, and loads of the other")
    check("Out of reach" in traced.text, traced.text)


def nothing(world):
    traced = world.trace(["/bin/true"])
    equal(traced.report["summary"]["loads"], 0, "loads")
    check("no CA certificates were loaded" in traced.text and "out of reach" not in traced.text.lower(), traced.text)
