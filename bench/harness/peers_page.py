"""What docs/performance.md shows of a record of `bench/run.sh peers`: a table and a picture."""

import math
from html import escape
from statistics import median, quantiles

import plot
import report

BASE = "OpenSSL 3.0"
WIDTH, MARGIN, LEFT, FULL, STEP, BAR = 480, 14, 236, 160, 17, 12
LEAST = 0.01  # ms, where the bars begin
HEAD = ["peer", "first, ms", "each next, ms", "next + verification, ms", "to OpenSSL 3.0", "KiB kept", "instr. of next",
        "Windlass"]


def markdown(record):
    """The table with what was measured, and with what was not."""
    about = record["machine"]
    lines = [", ".join(word for word in (report.described(about), versions(about)) if word)
             + f"; medians of {record['runs']} runs, ± half of the distance between the quartiles"]
    lines += ["", "| " + " | ".join(HEAD) + " |", "| --- " + "| --: " * 6 + "| --- |"]
    base = next((peer for peer in record["peers"] if peer["name"] == BASE), None)
    lines += ["| " + " | ".join(cells(peer, base)) + " |" for peer in record["peers"]]
    if record["missing"]:
        lines += ["", "Left out, since the machine lacks what they need: " + ", ".join(record["missing"]) + "."]
    return "\n".join(lines)


def versions(about):
    packages = [f"{name} {version}" for name, version in about.get("packages", []) + about.get("crates", [])]
    others = [f"OpenSSL {version}" for version in about.get("openssl built", [])]
    return ", ".join([*others, *(about[key] for key in ("go", "java") if key in about),
                      *(f"Node {about[key]}" for key in ("node",) if key in about), *packages])


def cells(peer, base):
    samples = peer["samples"]
    times = [with_spread(samples[key]) for key in ("first", "next", "verified")]
    compared = with_spread(ratios(samples["verified"], base["samples"]["verified"]), 2) if base else "-"
    kib = report.figure(round(median(samples["kib"]), 1), "KiB") if samples["kib"] else "-"
    instr = report.figure(median(samples["instr"]), "instr") if samples["instr"] else "-"
    reach = {"with": "yes", "apart": "no"}.get(peer["windlass"], peer["windlass"])
    return [peer["name"], *times, compared, kib, instr, reach]


def ratios(samples, base):
    """A run's own OpenSSL 3.0 is below each sample of that run."""
    return [above / below for above, below in zip(samples, base)]


def with_spread(samples, digits=3):
    if not samples:
        return "-"
    if len(samples) < 4:
        return short(median(samples), digits)
    low, _, high = quantiles(samples, n=4)
    return f"{short(median(samples), digits)} ±{short((high - low) / 2, 1 if digits == 2 else 2)}"


def short(value, digits):
    """So many digits that tell something, but never an exponent."""
    if value == 0 or abs(value) >= 10 ** (digits - 1):
        return f"{value:,.0f}"
    text = f"{value:.{digits}g}"
    return text if "e" not in text else f"{value:.{digits + 4}f}".rstrip("0")


def svg(record):
    """Bars of "next + verification" on a logarithmic scale."""
    shown = [(peer["name"], median(peer["samples"]["verified"]), peer["windlass"] == "with")
             for peer in record["peers"] if peer["samples"]["verified"]]
    decades = math.ceil(math.log10(max(value for _, value, _ in shown) / LEAST))

    def at(value):
        return round(LEFT + FULL * max(0.0, math.log10(value / LEAST)) / decades, 1)

    top = MARGIN + 56
    bottom = top + STEP * len(shown)
    parts = [f'<text class="title" x="{MARGIN}" y="{MARGIN + 12}">A further client and one verification</text>',
             f'<text class="small" x="{MARGIN}" y="{MARGIN + 27}">'
             'ms of processor time on a logarithmic scale; blue is with Windlass</text>']
    for decade in range(decades + 1):
        value = LEAST * 10 ** decade
        parts += [f'<line class="grid" x1="{at(value)}" y1="{top - 4}" x2="{at(value)}" y2="{bottom}"/>',
                  f'<text class="small" x="{at(value)}" y="{top - 9}" text-anchor="middle">{value:g}</text>']
    for number, (name, value, ours) in enumerate(shown):
        y = top + STEP * number
        middle, length = y + BAR - 2, max(2, round(at(value) - LEFT, 1))
        kind = "windlass" if ours else "stock"
        parts += [f'<text x="{LEFT - 8}" y="{middle}" text-anchor="end">{escape(name)}</text>',
                  f'<rect class="{kind}" x="{LEFT}" y="{y}" width="{length}" height="{BAR}" rx="2"/>',
                  f'<text x="{LEFT + length + 6}" y="{middle}">{short(value, 3)}</text>']
    height = bottom + MARGIN
    spoken = "; ".join(f"{name}: {short(value, 3)} ms" for name, value, _ in shown)
    style = plot.STYLE + "  .grid { stroke: #818b98; stroke-opacity: 0.35 }\n"
    size = f'viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">', f"<title>{escape(spoken)}</title>",
        f"<style>{style}</style>",
        f'<rect class="card" x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="6"/>',
        *parts, "</svg>"]) + "\n"
