"""A root leaves the cluster's bundle, or comes into it: what running programs make of that, with the time it took."""

import pathlib
import signal
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

import bundles
import pods
from servers import nginx_config, reserve_port, wait_for_port

CASES = []


def case(function):
    CASES.append(("freshness: " + function.__name__.replace("_", " "), function))
    return function


class Program:
    """A container that answers each URL with a line, and is never restarted."""

    def __init__(self, world, command, **described):
        self.world = world
        self.pod, said = pods.create(world.cluster, pods.pod("served", command=command, **described))
        assert not said, said
        self.process = world.node.start(self.pod)

    def ask(self, url):
        self.process.stdin.write(url + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        assert answer, self.process.communicate(timeout=20)
        return answer

    def end(self):
        self.world.node.end(self.process)


def follow(world, program):
    """`good` is of a root that is removed and comes back, `untrusted` of one that is added and removed."""
    good, other = world.hosts.url("good"), world.hosts.url("untrusted")
    clock = []
    try:
        assert (program.ask(good), program.ask(other)) == ("accepted", "refused")
        for roots, wanted in ((("other",), ("refused", "accepted")), (("root",), ("accepted", "refused"))):
            made = bundles.made(world, *roots)
            begun = time.monotonic()
            world.cluster.apply(*made)
            written(world, program.pod, roots)
            clock.append(time.monotonic() - begun)
            # The very next connection.
            answers = program.ask(good), program.ask(other)
            assert answers == wanted, f"{roots}: {answers}"
    finally:
        bundles.trust(world, "root")
        program.end()
    return "bundle to volume in " + " and ".join(f"{seconds:.1f} s" for seconds in clock)


def written(world, pod, roots):
    """Waits until the pod's volume holds these of the tests' roots, and no others."""
    place = world.node.volumes(pod)["windlass-trust"] + "/ca-certificates.crt"
    texts = {name: world.pki.path(name + ".crt").read_text().strip() for name in ("root", "other")}

    def is_written():
        with open(place, encoding="ascii") as file:
            held = file.read()
        return all((text in held) == (name in roots) for name, text in texts.items())
    world.cluster.eventually(f"the volume holds {roots}", is_written)


def keep(world, program, restart=None):
    """The program goes on with what it has read, as without Windlass; `restart` makes it read again."""
    good, other = world.hosts.url("good"), world.hosts.url("untrusted")
    try:
        assert (program.ask(good), program.ask(other)) == ("accepted", "refused")
        bundles.trust(world, "other")
        written(world, program.pod, ("other",))
        answers = program.ask(good), program.ask(other)
        assert answers == ("accepted", "refused"), answers
        if restart:
            restart(program)
            world.cluster.eventually("it reads again", lambda: program.ask(good) == "refused")
            assert program.ask(other) == "accepted"
    finally:
        bundles.trust(world, "root")
        program.end()


@case
def python(world):
    return follow(world, Program(world, ["python3", world.programs / "client.py"]))


@case
def a_root_that_the_image_has_as_well(world):
    """In its bundle and in its hashed directory: the cluster's bundle is all the trust there is."""
    return follow(world, Program(world, ["python3", world.programs / "client.py"], image="trusting"))


@case
def ruby_with_a_store_for_each_connection(world):
    """As Faraday makes them."""
    return follow(world, Program(world, ["ruby", world.programs / "client.rb", "fresh"]))


@case
def ruby_with_its_one_store(world):
    return follow(world, Program(world, ["ruby", world.programs / "client.rb", "default"]))


@case
def out_of_reach_ruby_with_its_one_store_that_may_not_follow(world):
    keep(world, Program(world, ["ruby", world.programs / "client.rb", "default"],
                        env=[{"name": "WINDLASS_FOLLOW", "value": "0"}]))


@case
def curl_and_wget_as_new_processes(world):
    for command in (["curl", "-sS", "--fail"], ["wget", "-qO-"]):
        program = Program(world, [world.programs / "each.sh", *command])
        follow(world, program)


@case
def java_with_the_token(world):
    program = Program(world, ["java", "-cp", world.binaries / "programs", "Client", "fresh"],
                      labels={"windlass-java": "token"})
    return follow(world, program)


@case
def out_of_reach_roots_of_the_image_in_programs_that_name_its_bundle(world):
    """The cluster's roots come to them, and go; the image's stay."""
    program = Program(world, [world.programs / "each.sh", "wget", "-qO-"], image="trusting")
    try:
        assert program.ask(world.hosts.url("untrusted")) == "refused"
        bundles.trust(world, "other")
        written(world, program.pod, ("other",))
        assert program.ask(world.hosts.url("good")) == program.ask(world.hosts.url("untrusted")) == "accepted"
    finally:
        bundles.trust(world, "root")
        program.end()


@case
def out_of_reach_java_with_its_one_context(world):
    keep(world, Program(world, ["java", "-cp", world.binaries / "programs", "Client", "default"],
                        labels={"windlass-java": "token"}))


@case
def out_of_reach_go(world):
    """It reads SSL_CERT_FILE once, and `windlass run --stats` says that nothing of it is reached."""
    program = Program(world, [world.binaries / "programs/client-go"])
    keep(world, program)
    said = subprocess.run([world.release / "windlass", "run", "--stats", "--", world.binaries / "programs/client-go"],
                          input="", text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True).stderr
    assert "no process" in said or "0 processes" in said, said


@case
def nginx_with_its_one_context(world):
    return follow(world, nginx(world))


@case
def nginx_that_resumes_sessions(world):
    return follow(world, nginx(world, "proxy_ssl_session_reuse on"))


@case
def out_of_reach_nginx_that_may_not_follow_until_a_reload(world):
    program = nginx(world, env=[{"name": "WINDLASS_FOLLOW", "value": "0"}])
    keep(world, program, lambda program: program.process.send_signal(signal.SIGHUP))


def nginx(world, reuse="proxy_ssl_session_reuse off", **described):
    folder = pathlib.Path(tempfile.mkdtemp(dir=world.folder))
    folder.chmod(0o755)
    ports = {name: reserve_port() for name in ("good", "untrusted")}
    servers = "".join(PROXY.format(port=port, upstream=world.hosts.ports[name], reuse=reuse)
                      for name, port in ports.items())
    (folder / "nginx.conf").write_text(nginx_config("/tmp", servers, log="stderr"))
    pod, said = pods.create(world.cluster, pods.pod("served", command=["nginx", "-e", "stderr", "-p", "/tmp", "-c",
                                                                       folder / "nginx.conf"], **described))
    assert not said, said
    process = world.node.start(pod)
    for port in ports.values():
        wait_for_port(port, process)
    return Proxy(world, pod, process, ports)


PROXY = """  server {{
    listen 127.0.0.1:{port};
    location / {{
      proxy_pass https://127.0.0.1:{upstream}/; proxy_ssl_verify on; proxy_ssl_verify_depth 3; proxy_ssl_name localhost;
      proxy_ssl_trusted_certificate /etc/windlass/trust/ca-certificates.crt; {reuse};
    }}
  }}
"""


class Proxy:
    """A nginx that verifies its upstreams; asked by the upstream's address."""

    def __init__(self, world, pod, process, ports):
        self.world, self.pod, self.process = world, pod, process
        self.ports = {world.hosts.url(name): port for name, port in ports.items()}

    def ask(self, url):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.ports[url]}/", timeout=60):
                return "accepted"
        except urllib.error.HTTPError as error:
            return "refused" if error.code == 502 else str(error)

    def end(self):
        self.process.terminate()
        self.process.wait(timeout=30)
