"""Real programs: counts against strace in the same run, TLS library and version against what the program itself
says."""

import os
import re
import shutil
import signal
import subprocess
import time

import strace
from compare import compare
from context import PATIENCE, Program, silent_server

BUNDLE = "/etc/ssl/certs/ca-certificates.crt"


def cases(_):
    loads = lambda *command: lambda context: loading(context, [context.programs.get(word, word) for word in command])
    yield "python", loads("/usr/bin/python3", "loads.py", "3")
    yield "ruby", loads("/usr/bin/ruby", "loads.rb", "2")
    yield "node", node
    yield "openssl dynamic", lambda context: loading(context, [context.programs["dynamic"], "4"])
    yield "openssl static", static
    yield "go", go
    yield "php", php
    yield "curl", client(["curl", "-s", "--cacert", BUNDLE], "OpenSSL")
    yield "wget", client(["wget", "-q", "-t", "1", "-O", "/dev/null"], "GnuTLS")
    yield "nginx reload", nginx
    yield "served by windlass", served
    yield "switched off", switched_off
    yield "setuid", setuid
    yield "no TLS library", plain
    yield "by program", by_program
    yield "exec: one process, two programs", execs


def watched(context, command, check, environment=None):
    """Runs a program under strace and top; `check` gets the row that top has when the program waits."""
    log = os.path.join(context.folder, "strace.log")
    with context.top() as top:
        with Program([*strace.command(log), *command], env={**os.environ, **(environment or {})}) as program:
            said = program.line()
            row = seen(top, program)
            program.say()
            program.end()
        snapshot = top.end()
    compare(snapshot, log)
    check(row, said)
    return row


def seen(top, program):
    """The row of the traced program: the child of strace."""
    child = lambda: open(f"/proc/{program.process.pid}/task/{program.process.pid}/children",
                         encoding="ascii").read().split()
    pid = int(child()[0])
    return top.wait_for_row(pid, lambda row: row["command"] is not None and row["libraries"])


def version(row, kind, linkage):
    found = [library for library in row["libraries"] if library["kind"] == kind and library["linkage"] == linkage]
    assert found, row["libraries"]
    return found[0]["version"]


def loading(context, command):
    def check(row, said):
        assert version(row, "openssl", "dynamic") == said.split()[1], (row["libraries"], said)
        assert row["windlass"] == {"served": False, "reason": "not-preloaded",
                                   "words": "no: not preloaded"}, row["windlass"]
        assert row["exe"] == os.path.realpath(command[0]) and row["user"] == "root", row
        assert row["command"] == " ".join(command), row["command"]

    watched(context, command, check)


def static(context):
    def check(row, said):
        assert version(row, "openssl", "static") == said.split()[1], (row["libraries"], said)
        assert row["windlass"]["reason"] == "static-program", row["windlass"]

    watched(context, [context.programs["static"], "3"], check)


def node(context):
    is_shared = "libcrypto" in subprocess.run(["ldd", "/usr/bin/node"], capture_output=True, text=True,
                                              check=True).stdout
    reason, linkage = ("not-preloaded", "dynamic") if is_shared else ("linked-in", "static")

    def check(row, said):
        assert version(row, "openssl", linkage) == said, (row["libraries"], said)
        assert row["windlass"]["reason"] == reason, row["windlass"]

    watched(context, ["/usr/bin/node", "--use-openssl-ca", context.programs["loads.js"], "2"], check)


def go(context):
    def check(row, said):
        assert "go" + version(row, "go", "static") == said.split()[0], (row["libraries"], said)
        assert row["windlass"]["words"] == "no: Go has its own TLS", row["windlass"]

    watched(context, [context.programs["go"]], check)


def php(context):
    code = (
        "$c = stream_context_create(['ssl' => ['cafile' => $argv[1]]]);"
        "@stream_socket_client('ssl://127.0.0.1:' . $argv[2], $n, $m, 1, STREAM_CLIENT_CONNECT, $c);"
        "echo OPENSSL_VERSION_TEXT, \"\\n\"; fgets(STDIN);"
    )

    def check(row, said):
        assert version(row, "openssl", "dynamic"), row["libraries"]
        assert said.startswith("OpenSSL "), said

    # The client gives up after a second, and its context stays: PHP prints then, and waits.
    with silent_server() as port:
        watched(context, ["/usr/bin/php", "-r", code, "--", BUNDLE, str(port)], check)


def client(command, library):
    """A program that connects, and loads before it waits for the server."""

    def case(context):
        log = os.path.join(context.folder, "strace.log")
        with context.top() as top:
            with silent_server() as port:
                process = subprocess.Popen([*strace.command(log), *command, f"https://127.0.0.1:{port}/"])
                name = os.path.realpath(f"/usr/bin/{command[0]}")
                mine = lambda snapshot: [row for row in snapshot["rows"] if row["exe"] == name and row["libraries"]
                                         and str(port) in row["command"]]
                row = top.wait_for(f"a row of {name}", mine)[0]
            process.wait(timeout=PATIENCE)
            snapshot = top.end()
        compare(snapshot, log)
        assert row["libraries"][0]["name"].startswith(library + " "), row["libraries"]
        own = subprocess.run([command[0], "--version"], capture_output=True, text=True, check=True).stdout
        numbers = re.search(library + r"/(\d[\w.]*)", own)
        assert numbers is None or numbers[1] == row["libraries"][0]["version"], (own, row["libraries"])

    return case


def nginx(context):
    folder = os.path.join(context.folder, "nginx")
    os.makedirs(folder)
    key, certificate = (os.path.join(folder, name) for name in ("key.pem", "cert.pem"))
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                    "-keyout", key, "-out", certificate, "-subj", "/CN=localhost"], check=True, capture_output=True)
    configuration = os.path.join(folder, "nginx.conf")
    with open(configuration, "w", encoding="ascii") as file:
        file.write(
            f"daemon off; master_process on; worker_processes 1; pid {folder}/pid; error_log {folder}/log;\n"
            f"events {{}}\nhttp {{ access_log off; server {{ listen unix:{folder}/socket ssl; ssl_certificate "
            f"{certificate}; "
            f"ssl_certificate_key {key}; ssl_trusted_certificate {BUNDLE}; }} }}\n"
        )
    log = os.path.join(context.folder, "strace.log")
    with context.top() as top:
        process = subprocess.Popen([*strace.command(log), "nginx", "-c", configuration, "-p", folder],
                                   stderr=subprocess.DEVNULL)
        mine = lambda opens: lambda snapshot: [row for row in snapshot["rows"] if row["exe"] == "/usr/sbin/nginx"
                                               and configuration in (row["command"] or "") and row["opens"] >= opens]
        first = top.wait_for("nginx' start", mine(1))[0]
        deadline = time.monotonic() + PATIENCE
        while not os.path.exists(f"{folder}/pid") and time.monotonic() < deadline:
            time.sleep(0.01)
        os.kill(first["pid"], signal.SIGHUP)
        row = top.wait_for("nginx' reload", mine(first["opens"] * 2))[0]
        os.kill(row["pid"], signal.SIGTERM)
        process.wait(timeout=PATIENCE)
        snapshot = top.end()
    compare(snapshot, log)
    assert row["pid"] == first["pid"] and row["windlass"]["reason"] == "not-preloaded", row


def served(context):
    """With the library in it, the program opens the bundle once, and top says that it is served."""
    environment = {"LD_PRELOAD": context.library, "WINDLASS_STORE": ""}

    def check(row, _):
        assert row["windlass"] == {"served": True, "reason": None, "words": "yes"}, row["windlass"]
        assert row["opens"] == 1, row

    preloaded(context, environment, check)


def switched_off(context):
    def check(row, _):
        assert row["windlass"]["reason"] == "disabled", row["windlass"]
        assert row["opens"] >= 1, row

    preloaded(context, {"LD_PRELOAD": context.library, "WINDLASS_DISABLE": "1"}, check)


def preloaded(context, environment, check):
    with context.top() as top:
        with Program([context.programs["dynamic"], "4", BUNDLE], env={**os.environ, **environment}) as program:
            program.line()
            # The line came after the opens, and events come in order: what is shown now is all.
            row = top.wait_for_row(program.process.pid, lambda row: row["libraries"])
            program.say()
            program.end()
        rows = [found for found in top.end()["rows"] if found["pid"] == program.process.pid]
    assert len(rows) == 1, rows
    row["opens"] = rows[0]["opens"]
    check(row, None)


def setuid(context):
    path = os.path.join(context.folder, "loads-setuid")
    subprocess.run(["cp", context.programs["dynamic"], path], check=True)
    os.chown(path, 65534, 65534)
    os.chmod(path, 0o4755)
    with context.top() as top, Program([path, "1", BUNDLE]) as program:
        program.line()
        row = top.wait_for_row(program.process.pid, lambda row: row["libraries"])
        program.say()
        program.end()
    assert row["windlass"]["reason"] == "secure" and row["uid"] == 65534, row


def plain(context):
    # A bundle of its own: what is installed here may make Python open the system's.
    bundle = os.path.join(os.path.realpath(context.folder), "plain.pem")
    shutil.copyfile(BUNDLE, bundle)
    with context.top("--watch", bundle) as top, Program(["/usr/bin/python3", context.programs["opens.py"]]) as program:
        program.say(bundle)
        program.line()
        row = top.wait_for_row(program.process.pid, lambda row: row["command"])
        program.end()
    assert row["libraries"] == [] and row["windlass"]["reason"] == "no-tls-library", row
    source = next(source for source in row["sources"] if source["path"] == bundle)
    assert (source["opens"], source["bytes"]) == (1, os.path.getsize(bundle)), row


def by_program(context):
    with context.top("--by", "program") as top:
        for _ in range(3):
            with Program([context.programs["dynamic"], "1", BUNDLE]) as program:
                program.line()
                program.say()
                program.end()
        snapshot = top.end()
    rows = [row for row in snapshot["rows"] if row["exe"] == context.programs["dynamic"]]
    # One of them may have ended before it was looked at; then it is in no program's row.
    unknown = [row for row in snapshot["rows"] if row["unknown"]]
    assert len(rows) == 1 and rows[0]["pid"] is None, rows
    assert rows[0]["opens"] + sum(row["opens"] for row in unknown) >= 3, snapshot["rows"]
    assert rows[0]["processes"] + sum(row["processes"] for row in unknown) >= 3, snapshot["rows"]


def execs(context):
    """One process, two programs: each has its row."""
    with context.top() as top:
        # The shell opens the bundle itself (a redirection) before it becomes the other program.
        command = ["/bin/sh", "-c", f'read wait < {BUNDLE}; read go; exec {context.programs["dynamic"]} 1 {BUNDLE}']
        with Program(command) as program:
            pid = program.process.pid
            top.wait_for_row(pid, lambda row: row["exe"] == os.path.realpath("/bin/sh") and row["command"])
            program.say()
            program.line()
            row = top.wait_for_row(pid, lambda row: row["exe"] == context.programs["dynamic"] and row["libraries"])
            program.say()
            program.end()
        rows = [found for found in top.end()["rows"] if found["pid"] == pid]
    assert sorted((found["exe"], found["opens"])
                  for found in rows) == sorted([(os.path.realpath("/bin/sh"), 1), (row["exe"], 1)]), rows
