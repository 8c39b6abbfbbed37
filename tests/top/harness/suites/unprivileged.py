"""Without root: what /proc shows, and what is missing."""

import contextlib
import json
import os
import shutil
import subprocess

from context import Program

BUNDLE = "/etc/ssl/certs/ca-certificates.crt"
NOBODY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]


def cases(_):
    yield "not root", not_root
    yield "root without CAP_SYS_ADMIN", without_capability
    yield "not root, table", table
    yield "not root, by program", by_program
    yield "not root, on a terminal", on_a_terminal


def run(context, prefix, *arguments):
    # The build may lie where only its owner can go.
    windlass = os.path.join(context.folder, "windlass")
    if not os.path.exists(windlass):
        shutil.copy(context.windlass, windlass)
    return subprocess.run([*prefix, windlass, "top", *arguments], capture_output=True, text=True, check=True,
                          stdin=subprocess.DEVNULL)


def looked(context, prefix, *arguments):
    """Two processes that have made contexts and hold the bundle open: one of nobody, one of root."""
    own = [*prefix, "/usr/bin/python3", "-c",
           f"import ssl, sys; held = open('{BUNDLE}'); ssl.create_default_context(); print(flush=True); "
           f"sys.stdin.readline()"]
    with Program(own) as mine, Program([context.programs["dynamic"], "1"]) as roots:
        mine.line(), roots.line()
        result = run(context, prefix, "--json", *arguments)
        snapshot = json.loads(result.stdout)
        rows = {row["pid"]: row for row in snapshot["rows"]}
        return snapshot, result.stderr, rows, mine.process.pid, roots.process.pid


def not_root(context):
    snapshot, said, rows, mine, roots = looked(context, NOBODY)
    assert snapshot["watched"] is False and "CAP_SYS_ADMIN" in snapshot["why_not_watched"], snapshot
    assert "root is needed" in said and "help:" in said, said
    row = rows[mine]
    assert row["libraries"][0]["kind"] == "openssl" and row["windlass"]["reason"] == "not-preloaded", row
    assert row["open_descriptors"] == 1 and row["sources"][0]["path"] == BUNDLE, row
    assert row["opens"] is None and row["bytes"] is None and row["opens_per_minute"] is None, row
    assert row["user"] == "nobody", row
    # Root's can't be looked into; that there are some is said.
    assert roots not in rows and snapshot["missed"]["processes"] >= 1, snapshot


def without_capability(context):
    prefix = ["setpriv", "--bounding-set", "-sys_admin", "--inh-caps", "-sys_admin"]
    snapshot, said, rows, mine, _ = looked(context, prefix)
    assert snapshot["watched"] is False and "CAP_SYS_ADMIN" in said, said
    assert rows[mine]["libraries"], rows


def table(context):
    shown = run(context, NOBODY).stdout
    assert shown.startswith("Opens are not watched: root is needed"), shown
    assert "Not shown: opens and their sizes" in shown and "that this user may not examine" in shown, shown


def on_a_terminal(context):
    run(context, NOBODY)
    master, slave = os.openpty()
    command = [*NOBODY, os.path.join(context.folder, "windlass"), "top", "--once"]
    with subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env={"TERM": "xterm"}) as process:
        os.close(slave)
        shown = b""
        # At the end of the last writer, a terminal gives an error instead of an end.
        with contextlib.suppress(OSError):
            while chunk := os.read(master, 4096):
                shown += chunk
    os.close(master)
    assert process.returncode == 0 and shown.lower().count(b"opens are not watched") == 1, shown.decode()


def by_program(context):
    snapshot, *_ = looked(context, NOBODY, "--by", "program")
    rows = [row for row in snapshot["rows"] if os.path.basename(row["exe"]).startswith("python3")]
    assert len(rows) == 1 and rows[0]["pid"] is None and rows[0]["processes"] >= 1, snapshot["rows"]
