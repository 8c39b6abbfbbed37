"""The code of the pages, which others copy: it accepts a good server, and fails for every other."""

import re

import clients
from context import ROOT
from https import Server


def pages(context):
    folder = context.fresh("pages")
    fetch, client = folder / "fetch.py", folder / "client.py"
    fetch.write_text(block("docs/trace.md", r"^```python\n(.*?)^```$"))
    tried = [(fetch, context.python)]
    if clients.serves(context):
        client.write_text(block("docs/python.md", r"^(    import httpx, windlass\n    .*?)\n\n").replace("\n    ", "\n")
                          .strip() + ".get(__import__('sys').argv[1])\n")
        tried.append((client, clients.interpreter(context)))
    with Server(context.authority.chain) as good, Server(clients.authority(context).chain) as unknown:
        refused = {f"localhost:{unknown.port}": "local issuer", f"127.0.0.1:{good.port}": "match",
                   "nobody.invalid": "not known|resolution"}
        for program, python in tried:
            for before in ([], ["-m", "windlass", "run"]):
                said = context.run(*before, program, f"https://localhost:{good.port}/", python=python)
                assert said == "", said
                for host, why in refused.items():
                    said = context.run(*before, program, f"https://{host}/", python=python, status=1)
                    assert re.search(f"Error.*({why})", said), (program, host, said)
    return ", ".join(program.name for program, _ in tried)


def block(page, pattern):
    found, = re.findall(pattern, (ROOT / page).read_text(encoding="utf-8"), re.M | re.S)
    return found


CASES = [("code of the pages", pages)]
