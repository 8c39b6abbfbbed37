"""What docs/python.md shows of a record of `bench/run.sh python`: a table and a picture."""

import plot
import report
from measure import median

LEGEND = ["Shorter is better; stock is Python without Windlass, shared",
          "one context that all clients are given by hand."]
PARTS = ("client", "request", "memory")


def markdown(rows, about):
    """A line a client: three figures of each side, and attached over stock for a request."""
    named = {}
    for name, row in rows.items():
        client, part = name.removeprefix("python ").split(", ")
        named.setdefault(client, {})[part] = row
    lines = [f"{report.described(about)}; medians: stock / attached / shared", "",
             "| client | making one, us | with a request, us | KiB each of 200 | request, attached to stock |",
             "| --- | --: | --: | --: | --: |"]
    for client, parts in named.items():
        figures = [sides(parts[part]) if part in parts else "-" for part in PARTS]
        request = parts["request"]
        lines.append(f"| {client} | " + " | ".join(figures)
                     + f" | {report.of(median(request.windlass) / median(request.stock))} |")
    return "\n".join(lines)


def sides(row):
    return " / ".join(report.figure(median(side), row.unit) for side in (row.stock, row.windlass, row.limit))


def svg(rows):
    cases = [plot.Case("", name, name.removeprefix("python ").removesuffix(", request"), row.how.split(": ")[-2])
             for name, row in rows.items() if name.endswith(", request")]
    return plot.svg(cases, rows, LEGEND, "shared")
