"""Makes the tables of docs/performance.md, pkcs11.md and python.md, and docs/plots/, of the recorded benchmarks.

--check only compares: status 1 if they differ.
"""

import pathlib
import re
import sys
import textwrap

import clients_page
import peers_page
import plot
import recorded
import report
from plot import Case

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
PAGE = DOCS / "performance.md"
TOKEN = DOCS / "pkcs11.md"
PYTHON = DOCS / "python.md"

CASES = [Case("A", "A command", "A Ruby command that loads the roots", "reported in heroku/base-images#344"),
         Case("B", "B request", "An HTTPS request with a fresh context", "reported in crystal-lang/crystal#15419"),
         Case("C", "C directory", "A context over a directory of 2,103 roots", "reported on ayende.com: a .NET store"),
         Case("D", "D GnuTLS", "GnuTLS loads every file of /etc/ssl/certs", "reported on blog.josefsson.org, 2008"),
         Case("E", "E curl", "An HTTPS GET with a fresh libcurl handle", "reported in curl/curl#9620")]


def made():
    """{path: text} of all that is made."""
    about, rows, singly = recorded.newest()
    cases = [case for case in CASES if case.row in rows]
    files = {DOCS / "plots" / f"{case.letter.lower()}.svg": plot.svg([case], rows) for case in cases}
    files[DOCS / "plots" / "cases.svg"] = plot.svg(cases, rows)
    page = PAGE.read_text(encoding="utf-8")
    text = report.markdown(rows.values(), about, singly)
    page = between(page, "all rows", "\n".join(map(wrapped, text.split("\n"))))
    for case in cases:
        of = [row for row in rows.values() if row.name == case.row or row.name.startswith(f"{case.letter} ")]
        page = between(page, f"row {case.letter}", report.markdown_table(of))
    peers = recorded.newest_peers()
    if peers:
        files[DOCS / "plots" / "peers.svg"] = peers_page.svg(peers)
        picture = "![A further client and one verification, for all peers](plots/peers.svg)"
        page = between(page, "peers", f"{peers_page.markdown(peers)}\n\n{picture}")
    clients = recorded.newest_clients()
    if clients:
        files[DOCS / "plots" / "python.svg"] = clients_page.svg(clients[1])
        picture = "![A client with its first request, for all HTTP clients](plots/python.svg)"
        text = "\n".join(map(wrapped, clients_page.markdown(clients[1], clients[0]).split("\n")))
        files[PYTHON] = between(PYTHON.read_text(encoding="utf-8"), "clients", f"{text}\n\n{picture}")
    token = [row for row in rows.values() if row.name.startswith("token")]
    return files | {PAGE: page,
                    TOKEN: between(TOKEN.read_text(encoding="utf-8"), "token", report.markdown_table(token))}


def wrapped(line):
    """At most 120 columns, unless it is a row of a table."""
    return line if line.startswith("|") else textwrap.fill(line, 120, break_long_words=False, break_on_hyphens=False)


def between(page, name, text):
    """The page with this text between the two comments of that name."""
    begin, end = f"<!-- made: {name} -->", "<!-- end -->"
    pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    if not pattern.search(page):
        raise SystemExit(f"a page lacks the comment {begin}")
    return pattern.sub(lambda _: f"{begin}\n\n{text}\n\n{end}", page)


def main(arguments):
    files = made()
    other = [path for path, text in files.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    if arguments == ["--check"]:
        for path in other:
            print(f"{path.relative_to(DOCS.parent)} is not what the recorded benchmarks give: run `make performance`",
                  file=sys.stderr)
        return 1 if other else 0
    for path in other:
        path.parent.mkdir(exist_ok=True)
        path.write_text(files[path], encoding="utf-8")
        print(path.relative_to(DOCS.parent))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
