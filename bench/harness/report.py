"""The table for people, the table for docs/performance.md, and the raw samples as JSON."""

import datetime
import json
import os
import platform
import re
import subprocess

from measure import environment, median


def figure(value, unit):
    if value is None:
        return "-"
    if unit == "instr":
        return f"{value:,.0f}" if value < 1e6 else f"{value / 1e6:,.{2 if value < 1e8 else 1}f} M"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def cells(row):
    sides = [f"{figure(median(side), row.unit)}" for side in (row.stock, row.limit, row.windlass)]
    bar = "-" if row.bar is None else f"{'>=' if row.at_least else '<='} {figure(row.bar, '')}"
    mark = {None: "", True: "pass", False: "FAIL"}[row.passed()]
    return [row.name, row.unit, *sides, of(row.ratio), bar, mark]


def of(ratio):
    """Two decimals where they tell something: 1.00, 0.08, but 0.0156 and 59,249."""
    return f"{ratio:.2f}" if 0.1 <= ratio < 100 else figure(ratio, "")


HEAD = ["row", "unit", "stock", "limit", "Windlass", "ratio", "bar", ""]


def table(rows):
    lines = [HEAD] + [cells(row) for row in rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEAD))]
    return "\n".join("  ".join(cell.ljust(width) if column in (0, 1, 7) else cell.rjust(width)
                               for column, (cell, width) in enumerate(zip(line, widths))).rstrip() for line in lines)


def explanation(rows):
    return "\n".join(f"{row.name}: {row.how}" + (
        f"; least {figure(min(row.windlass), row.unit)} of {len(row.windlass)} samples" if row.windlass else "")
        for row in rows)


def markdown(rows, about, singly=None):
    """`singly` has the machines of rows that were measured by themselves."""
    apart = "".join(f". `{name}` was measured by itself" + (f": {described(kept)}" if kept != about else "")
                    for name, kept in (singly or {}).items())
    return f"{described(about)}; medians{apart}\n\n{markdown_table(rows)}"


def markdown_table(rows):
    lines = ["| " + " | ".join(HEAD[:-1]) + " |", "| --- | --- | --: | --: | --: | --: | --: |"]
    return "\n".join(lines + ["| " + " | ".join(cells(row)[:-1]) + " |" for row in rows])


def described(about):
    return f"{about['date']}, {about['cpu']}, {about['cores']} cores, Linux {about['kernel']}, {about['os']}, " \
        f"{about['openssl']}, {about['roots']} roots"


def machine():
    """What the figures depend on; nothing that tells one machine of a kind from another."""
    with open("/proc/cpuinfo", encoding="ascii") as file:
        model = re.search(r"model name\s*: (.*)|$", file.read()).group(1) or platform.machine()
    with open("/etc/os-release", encoding="utf-8") as file:
        system = re.search(r'PRETTY_NAME="(.*)"', file.read()).group(1)
    with open("/etc/ssl/certs/ca-certificates.crt", "rb") as file:
        roots = file.read().count(b"-----BEGIN CERTIFICATE-----")
    return {"date": datetime.date.today().isoformat(), "cpu": model, "cores": os.cpu_count(),
            "arch": platform.machine(), "kernel": re.match(r"[\d.]+", platform.release()).group(),
            "os": system, "roots": roots, "openssl": first_line("openssl", "version").split(" (")[0],
            "python": first_line("/usr/bin/python3", "--version"), "gnutls": first_line("gnutls-cli", "--version"),
            "ruby": first_line("ruby", "--version"), "crystal": first_line("crystal", "--version"),
            "nginx": first_line("nginx", "-v"), "valgrind": first_line("valgrind", "--version")}


def first_line(*argv):
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8",
                          env=environment(), timeout=60)
    return done.stdout.splitlines()[0]


def as_json(rows, about):
    return json.dumps({"machine": about, "rows": [{
        "name": row.name, "unit": row.unit, "how": row.how, "ratio": row.ratio, "bar": row.bar,
        "bar_is": "at least" if row.at_least else "at most", "passed": row.passed(),
        "samples": {"stock": row.stock, "limit": row.limit, "windlass": row.windlass, **row.extra}} for row in rows]},
        indent=None, separators=(",", ":")).replace('{"name"', '\n{"name"') + "\n"
