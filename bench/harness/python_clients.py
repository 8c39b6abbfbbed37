"""`bench/run.sh python`: HTTP clients of Python, stock, attached, and with one context that is shared by hand."""

import shutil
import statistics
import sys

from attached import CLIENTS, clients, package
from measure import Row, alternate, median, ratio, run_json, wall_ms
from server import Server

# Whether it can be given a context that is shared.
KINDS = {"requests": True, "urllib3": True, "httpx": True, "aiohttp": True, "boto3": False, "truststore": True}
LOCATIONS = """
    location = / {{
      default_type text/xml;
      if ($request_method = POST) {{ return 200 "{sts}"; }}
      return 200 "hello\\n";
    }}
    location /simple/ {{ root {folder}; index index.html; types {{ text/html html; }} }}"""


def python_clients(world):
    tests = world.programs.parents[1] / "tests" / "python"
    sys.path.append(str(tests / "harness"))
    from https import PAGES, STS

    folder = world.folder / "clients-server"
    locations = LOCATIONS.format(sts=STS.decode().replace('"', "'"), folder=folder)
    with Server(folder, locations) as server:
        for path, (_, content) in PAGES.items():
            if path != "/":
                file = folder / (path[1:] + ("index.html" if path.endswith("/") else ""))
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content)
        rows = [row for kind, shares in KINDS.items() for row in client(world, server, tests, kind, shares)]
        return rows + [pip(world, server)]


def trust(server):
    return {name: server.bundle for name in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "AWS_CA_BUNDLE")}


def client(world, server, tests, kind, shares):
    """Three rows of one client."""
    print(f"measuring {kind} …", file=sys.stderr, flush=True)
    path = tests / "programs" / "clients"
    packages = package(world)["PYTHONPATH"]

    def side(name, mode, count):
        env = {"PYTHONPATH": f"{path}:{packages}", **trust(server)}
        program = [clients(world), "-B", world.programs / "clients.py"]
        return lambda: run_json([*program, kind, name, mode, count, server.url], env)

    names = ("stock", "attach", *(["shared"] if shares else []))
    times = alternate(world.count(8), *(side(name, "time", world.count(20)) for name in names))
    # One is enough: it is the same to some KiB each time.
    kept = [[side(name, "keep", world.count(CLIENTS))()] for name in names]
    rows = []
    for what, unit, how in (("client", "us", "making a client"),
                            ("request", "us", "making a client, with its first request"),
                            ("memory", "KiB", f"what each of {CLIENTS} clients adds, kept after a request")):
        if what == "memory":
            samples = kept
        else:
            samples = [[statistics.median(process[what]) for process in of] for of in times]
        stock, windlass, limit = samples if shares else (*samples, [])
        compared = ratio(windlass, limit or stock) if median(limit or stock) else 1.0
        rows.append(Row(f"python {kind}, {what}", unit, stock, limit, windlass, compared, None,
                        f"{kind}: {how}: attached / {'with a context shared by hand (limit)' if shares else 'stock'}"))
    return rows


def pip(world, server):
    """The whole command, which keeps no client."""
    print("measuring pip …", file=sys.stderr, flush=True)
    folder = world.folder / "pip"
    command = ["-m", "pip", "download", "--isolated", "-qqq", "--no-deps", "--no-cache-dir", "--dest", folder,
               "--disable-pip-version-check", "--index-url", f"{server.url}simple/", "windlass-demo"]

    def side(*before, env=None):
        def once():
            shutil.rmtree(folder, ignore_errors=True)
            return wall_ms([clients(world), *before, *command], {**trust(server), **(env or {})}) * 1000
        return once

    stock, windlass = alternate(world.count(12), side(), side("-m", "windlass", "run", env=package(world)))
    return Row("python pip, request", "us", stock, [], windlass, ratio(windlass, stock), None,
               "`pip download` from a local index, from start to end: under `python -m windlass run` / stock")


GROUPS = {"python": python_clients}
