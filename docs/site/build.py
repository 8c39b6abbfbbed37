"""build.py MDBOOK OUT: all pages as an mdBook in OUT.

Status 1 if a page is missing in SUMMARY.md or a link leads nowhere.
"""

import html.parser
import pathlib
import re
import shutil
import subprocess
import sys
import urllib.parse

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PAGES = ("*.md", "docs/*.md", "bench/README.md")
# mdBook makes index.html of a README.md, and leaves links to it as they are.
RENAMED = ("bench/README.md", "bench/benchmarks.md")


def main(mdbook, out):
    out = pathlib.Path(out).resolve()
    work = out.parent / "site-pages"
    shutil.rmtree(work, ignore_errors=True)
    listed = set(re.findall(r"\]\(([^)]+)\)", (HERE / "SUMMARY.md").read_text(encoding="utf-8")))
    pages = {str(page.relative_to(ROOT)) for pattern in PAGES for page in ROOT.glob(pattern)}
    if listed != pages:
        apart = ", ".join(sorted(listed ^ pages))
        raise SystemExit(f"docs/site/SUMMARY.md: these are pages, or in it, and not both: {apart}")
    # The folders stay as they are, so that the links between pages do.
    for page in sorted(pages):
        copy_page(ROOT / page, work / "pages" / page.replace(*RENAMED))
    for picture in (ROOT / "docs" / "plots").glob("*.svg"):
        copy(picture, work / "pages" / "docs" / "plots" / picture.name)
    copy_page(HERE / "SUMMARY.md", work / "pages" / "SUMMARY.md")
    for name in ("book.toml", "windlass.css"):
        copy(HERE / name, work / name)
    subprocess.run([mdbook, "build", work, "--dest-dir", out], check=True)
    broken = sorted(set(dead(out)))
    for page, target in broken:
        print(f"{page}: {target} leads nowhere", file=sys.stderr)
    return 1 if broken else 0


def copy_page(source, target):
    target.parent.mkdir(parents=True, exist_ok=True)
    old, new = RENAMED
    text = source.read_text(encoding="utf-8").replace(f"{old})", f"{new})")
    if source.name != "SUMMARY.md":
        text = re.sub(r"\]\((\.\./)?README\.md", r"](\1index.md", text)
    target.write_text(text, encoding="utf-8")


def copy(source, target):
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


class Links(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.targets, self.ids = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("href", "src") and value:
                self.targets.append(value)
            elif name == "id":
                self.ids.add(value)


def dead(out):
    """(page, link) of each link within the site that leads nowhere."""
    links = {page: Links(page.read_text(encoding="utf-8")) for page in out.rglob("*.html")}
    for page, found in links.items():
        # mdBook's page for unknown addresses has links that start at the site's root.
        for target in found.targets if page.name != "404.html" else ():
            address = urllib.parse.urlparse(target)
            if address.scheme or address.netloc:
                continue
            file = (page.parent / urllib.parse.unquote(address.path)).resolve() if address.path else page
            file = file / "index.html" if file.is_dir() else file
            if not file.exists() or (address.fragment and file in links and address.fragment not in links[file].ids):
                yield str(page.relative_to(out)), target


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
