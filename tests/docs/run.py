"""The pages: links lead somewhere; docs/performance.md and docs/plots/ are what the recorded benchmarks give."""

import pathlib
import re
import subprocess
import sys

# Makes bench/harness importable.
import peers
import recorded
import report

ROOT = pathlib.Path(__file__).resolve().parents[2]
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^()\s]+(?:\([^()\s]*\))?)\)|(?:href|src)=\"([^\"]+)\"")


def pages():
    found = (page for pattern in ("*.md", "[!.]*/**/*.md") for page in ROOT.glob(pattern))
    return sorted(page for page in found if not {"target", "site"} & set(page.relative_to(ROOT).parts))


def anchors(page):
    """Those that GitHub gives to the headings of a page; a repeated one gets -1, -2, …"""
    seen, found = {}, set()
    for heading in re.findall(r"^#+ (.*)", FENCED.sub("", page.read_text(encoding="utf-8")), re.MULTILINE):
        text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
        name = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
        number = seen.get(name, 0)
        seen[name] = number + 1
        found.add(f"{name}-{number}" if number else name)
    return found


def dead(page):
    """Links of a page within the repository that lead nowhere."""
    text = FENCED.sub("", page.read_text(encoding="utf-8"))
    for target in (first or second for first, second in LINK.findall(text)):
        path, _, anchor = target.partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        file = (page.parent / path).resolve() if path else page
        if not file.exists() or (anchor and file.suffix == ".md" and anchor not in anchors(file)):
            yield target


def table_of_a_run():
    """Why it is wrong, or nothing."""
    about, rows, _ = recorded.newest()
    lines = report.markdown(list(rows.values()), about).splitlines()
    named = [line.split(" | ")[0].removeprefix("| ") for line in lines[4:]]
    return "" if lines[0].startswith(about["date"]) and named == list(rows) else f"it has {lines[:1]} and {named}"


def main():
    results = [(f"links of {page.relative_to(ROOT)}", ", ".join(dead(page))) for page in pages()]
    check = [sys.executable, "-B", ROOT / "bench" / "harness" / "pages.py", "--check"]
    made = subprocess.run(check, capture_output=True, encoding="utf-8")
    results.append(("what is made of the recorded benchmarks", made.stderr.strip() or made.returncode))
    results.append(("the table that a run writes beside its samples", table_of_a_run()))
    results += peers.results()
    failed = [(name, why) for name, why in results if why]
    for name, why in failed:
        print(f"FAILED {name}: {why}")
    print(f"docs: {len(results) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
