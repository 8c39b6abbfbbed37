"""The five cases as SVG: bars for stock, Windlass and limit, in parts of stock. Legible in light and dark at 400 px."""

import dataclasses
from html import escape
from statistics import median

WIDTH, MARGIN = 400, 14
LEFT, FULL = 78, 228  # where bars begin, and how long stock's is
BAR, STEP = 12, 17

LEGEND = ["Shorter is better; stock is the program without Windlass,",
          "limit the same program without any loading of CAs."]

STYLE = """
  text { font: 12px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", Helvetica, Arial, sans-serif; fill: #1f2328 }
  .title { font-size: 13px; font-weight: 600 } .small { font-size: 11px; fill: #59636e }
  .card { fill: #ffffff; stroke: #d1d9e0 }
  .stock { fill: #8c959f } .windlass { fill: #0969da } .limit { fill: #1a7f37 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .card { fill: #0d1117; stroke: #3d444d } .small { fill: #9198a1 }
    .stock { fill: #6e7681 } .windlass { fill: #4493f8 } .limit { fill: #3fb950 }
  }
"""


@dataclasses.dataclass
class Case:
    letter: str
    row: str
    title: str
    shown: str


def svg(cases, rows, legend=LEGEND, limit="limit"):
    """One picture of these cases; `rows` are the recorded rows by name, `limit` is what their third side is called."""
    parts, y = [], MARGIN
    for case in cases:
        drawn, y = panel(case, rows[case.row], y, limit)
        parts += drawn
    for line in legend:
        y += 14
        parts.append(f'<text class="small" x="{MARGIN}" y="{y}">{line}</text>')
    height = y + MARGIN
    spoken = "; ".join(f"{case.letter or case.title}: {numbers(rows[case.row], limit)}" for case in cases)
    size = f'viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">',
        f"<title>{escape(spoken)}</title>",
        f"<style>{STYLE}</style>",
        f'<rect class="card" x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="6"/>',
        *parts, "</svg>"]) + "\n"


def panel(case, row, y, limit):
    """The lines of one case, and where the next one begins."""
    letter = f"{case.letter}&#160; " if case.letter else ""
    parts = [f'<text class="title" x="{MARGIN}" y="{y + 12}">{letter}{escape(case.title)}</text>',
             f'<text class="small" x="{MARGIN}" y="{y + 27}">{escape(case.shown)}</text>']
    y += 36
    for name, kind, samples in sides(row, limit):
        length = max(2, round(FULL * median(samples) / median(row.stock), 1))
        middle = y + BAR - 2
        parts += [f'<text x="{LEFT - 8}" y="{middle}" text-anchor="end">{name}</text>',
                  f'<rect class="{kind}" x="{LEFT}" y="{y}" width="{length}" height="{BAR}" rx="2"/>',
                  f'<text x="{LEFT + length + 6}" y="{middle}">{value(median(samples), row.unit)}</text>']
        y += STEP
    return parts, y + 12


def sides(row, limit):
    """(name, class, samples) of each."""
    named = (("stock", "stock", row.stock), ("Windlass", "windlass", row.windlass), (limit, "limit", row.limit))
    return [side for side in named if side[2]]


def numbers(row, limit):
    return ", ".join(f"{name} {value(median(samples), row.unit)}" for name, _, samples in sides(row, limit))


def value(figure, unit):
    """Three digits: 22.2 ms, 211 M instr."""
    scale, shown = {"us": (1e3, "ms"), "instr": (1e6, "M instr")}.get(unit, (1, unit))
    figure /= scale
    digits = 0 if figure >= 100 else 1 if figure >= 10 else 2
    return f"{figure:,.{digits}f} {shown}"
