"""CPython's own tests of the modules that use TLS: each must end as it does without Windlass."""

import concurrent.futures
import json
import subprocess

from context import PROGRAMS

# A version of Python may not have them all.
ALL = ("test_ssl", "test_httplib", "test_ftplib", "test_poplib", "test_imaplib", "test_urllib2_localnet",
       "test_asyncio.test_ssl", "test_asyncio.test_sslproto", "test_asyncio.test_streams", "test_asyncore",
       "test_nntplib", "test_smtplib", "test_logging.HTTPHandlerTest")
SOME = ("test_ssl.ContextTests", "test_ssl.SimpleBackgroundTests", "test_httplib.HTTPSTest")
ATTEMPTS = 4


def run(context, mode, names):
    """The results of these tests by name, and how many calls were served. They do not see the test's authority."""
    python = context.auto if mode == "auto" else context.python
    said = subprocess.run([python, "-W", "ignore", PROGRAMS / "own_tests.py", mode, *names], check=False,
                          cwd=context.fresh(f"own-tests-{mode}"), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=1800,
                          env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": str(context.folder)})
    assert said.returncode == 0, f"{mode}: status {said.returncode}\n{said.stdout}{said.stderr}"
    found = json.loads(said.stdout)
    return found["results"], found["served"]


def compare(context, names, modes):
    if context.ask("import importlib.util as u; print(u.find_spec('test') and u.find_spec('test.test_ssl'))") == "None":
        return "not tried: this interpreter came without its tests"
    names = [f"test.{name}" for name in names]
    # The environments are made first: the tests mostly wait, so all modes run at the same time.
    context.python, context.auto
    with concurrent.futures.ThreadPoolExecutor() as threads:
        stock, *others = threads.map(lambda mode: run(context, mode, names), ("stock", *modes))
    stock, _ = stock
    assert any(".test_ssl." in name for name in stock)
    notes = []
    for mode, (found, served) in zip(modes, others):
        assert served > 0, f"{mode}: nothing was served"
        different = {name.split(" ")[0] for name in stock.keys() | found.keys() if stock.get(name) != found.get(name)}
        for name in sorted(different):
            settle(context, mode, name, stock, found)
        notes.append(f"{mode}: {served} served" + (f", {len(different)} tests run again" if different else ""))
    outcomes = list(stock.values())
    return f"{outcomes.count('ok')} of {len(outcomes)} tests pass in stock and attached; {', '.join(notes)}"


def settle(context, mode, name, stock, found):
    """A test that has ended otherwise may depend on time or on other tests. Alone, it must end as in stock."""
    # A class or module that can't be set up can't be run alone.
    for _ in range(ATTEMPTS if name.startswith("test.") else 0):
        alone = [run(context, how, [name])[0] for how in ("stock", mode if mode == "auto" else "turns")]
        if alone[0] == alone[1]:
            return
    raise AssertionError(f"{mode}: {name}: {stock.get(name)} in stock, but {found.get(name)}")


def every(context):
    return compare(context, ALL, ("auto", "middle", "turns"))


def some(context):
    return compare(context, SOME, ("auto", "turns"))


CASES = [("CPython's own tests", every)]
SAMPLE = [("a sample of CPython's own tests", some)]
