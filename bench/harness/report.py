"""The table for people, the table for the README, and the raw samples as JSON."""

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
        return f"{value:,.0f}"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def cells(row):
    sides = [f"{figure(median(side), row.unit)}" for side in (row.stock, row.limit, row.windlass)]
    bar = "-" if row.bar is None else f"{'>=' if row.at_least else '<='} {figure(row.bar, '')}"
    mark = {None: "", True: "pass", False: "FAIL"}[row.passed()]
    return [row.name, row.unit, *sides, figure(row.ratio, ""), bar, mark]


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


def markdown(rows, about):
    head = f"{about['date']}, {about['cpu']}, {about['cores']} cores, Linux {about['kernel']}, {about['os']}, " \
        f"{about['openssl']}, {about['roots']} roots; medians"
    lines = ["| " + " | ".join(HEAD[:-1]) + " |", "| --- | --- | --: | --: | --: | --: | --: |"]
    lines += ["| " + " | ".join(cells(row)[:-1]) + " |" for row in rows]
    return head + "\n\n" + "\n".join(lines)


def machine():
    """What the figures depend on; nothing that tells one machine of a kind from another."""
    with open("/proc/cpuinfo", encoding="ascii") as file:
        model = re.search(r"model name\s*: (.*)|$", file.read()).group(1) or platform.machine()
    with open("/etc/os-release", encoding="utf-8") as file:
        system = re.search(r'PRETTY_NAME="(.*)"', file.read()).group(1)
    with open("/etc/ssl/certs/ca-certificates.crt", "rb") as file:
        roots = file.read().count(b"-----BEGIN CERTIFICATE-----")
    return {"date": datetime.date.today().isoformat(), "cpu": model, "cores": os.cpu_count(), "arch": platform.machine(),
            "kernel": re.match(r"[\d.]+", platform.release()).group(), "os": system, "roots": roots,
            "openssl": first_line("openssl", "version").split(" (")[0], "python": first_line("/usr/bin/python3", "--version"),
            "gnutls": first_line("gnutls-cli", "--version"), "ruby": first_line("ruby", "--version"), "crystal": first_line("crystal", "--version"),
            "nginx": first_line("nginx", "-v"), "valgrind": first_line("valgrind", "--version")}


def first_line(*argv):
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", env=environment(), timeout=60)
    return done.stdout.splitlines()[0]


def as_json(rows, about):
    return json.dumps({"machine": about, "rows": [{
        "name": row.name, "unit": row.unit, "how": row.how, "ratio": row.ratio, "bar": row.bar,
        "bar_is": "at least" if row.at_least else "at most", "passed": row.passed(),
        "samples": {"stock": row.stock, "limit": row.limit, "windlass": row.windlass, **row.extra}} for row in rows]},
        indent=None, separators=(",", ":")).replace('{"name"', '\n{"name"') + "\n"
