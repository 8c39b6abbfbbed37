"""The recorded benchmarks: full runs, and rows that `bench/run.sh --keep` wrote to files that end in the row's name."""

import json
import pathlib

from measure import Row

RESULTS = pathlib.Path(__file__).resolve().parent.parent / "results"
PEERS, CLIENTS = "cores-peers.json", "cores-python.json"


def newest():
    """(machine of the newest full run, its rows by name, {row: machine} of rows that were kept singly).

    A row that was kept singly counts if the full run lacks it or is of an earlier day.
    """
    files = [(path.name.split("cores")[1] != ".json", path) for path in sorted(RESULTS.glob("*cores*.json"))
             if not path.name.endswith((PEERS, CLIENTS))]
    about, rows = read([path for single, path in files if not single][-1])
    singly = {}
    for path in (path for single, path in files if single):
        machine, kept = read(path)
        for name, row in kept.items():
            if name not in rows or name in singly or machine["date"] > about["date"]:
                rows[name], singly[name] = row, machine
    return about, rows, singly


def newest_peers():
    """The newest record of `bench/run.sh --keep peers`, or None."""
    files = sorted(RESULTS.glob(f"*{PEERS}"))
    return json.loads(files[-1].read_text(encoding="utf-8")) if files else None


def newest_clients():
    """(machine, rows by name) of the newest record of `bench/run.sh --keep python`, or None."""
    files = sorted(RESULTS.glob(f"*{CLIENTS}"))
    return read(files[-1]) if files else None


def read(path):
    kept = json.loads(path.read_text(encoding="utf-8"))
    return kept["machine"], {row["name"]: as_row(row) for row in kept["rows"]}


def as_row(row):
    samples = row["samples"]
    return Row(row["name"], row["unit"], samples["stock"], samples["limit"], samples["windlass"], row["ratio"],
               row["bar"], row["how"], at_least=row["bar_is"] == "at least")
