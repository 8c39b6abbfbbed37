"""The page in a browser: no error, no request, as many bars and frames as the report has, and useful without
scripts."""

import re

from browser import Browser
from tracer import check, equal

THREADS = """import ssl, sys, threading
def load(times):
    for _ in range(times):
        ssl.create_default_context(cafile=sys.argv[1])
def first(): load(2)
def second(): load(1)
first()
thread = threading.Thread(target=second)
thread.start()
thread.join()
"""
HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script>&\"'"
FLAWS = {
    "a script": "<script>document.title = 'reached'</script>",
    "an event handler": "<img src=x onerror=\"document.title = 'reached'\">",
    "an image of the network": "<img src=\"http://127.0.0.1:1/picture\">",
    "a style": "<p style=\"color: red\">x</p>",
}


def cases(world):
    yield "page: bars, frames and tables", lambda: shown(world)
    yield "page: without scripts", lambda: without_scripts(world)
    yield "page: sorting, and the flame graph's frames", lambda: scripts(world)
    yield "page: names that are markup", lambda: hostile(world)
    yield "page: what these tests would notice", lambda: flaws(world)
    yield "page: one that found nothing", lambda: empty(world)


def threads(world):
    script = world.fresh() / "app.py"
    script.write_text(THREADS)
    return world.trace(["/usr/bin/python3", script, world.pki.bundle])


def shown(world):
    traced = threads(world)
    report = traced.report
    with Browser() as browser:
        for width in (1400, 420):
            browser.open(traced.page, width=width)
            quiet(browser, traced.page)
            equal(browser.evaluate("document.querySelectorAll('.timeline .row').length"), 2,
                  "rows: the threads that load")
            bars = browser.evaluate("[...document.querySelectorAll('.span')].map(bar => bar.textContent)")
            calls = [int(re.search(r"(\d+) call", bar).group(1)) for bar in bars]
            equal(sum(calls), 3, f"loads on the timeline: {bars}")
            equal(browser.evaluate("document.querySelectorAll('.frame').length"), frames(report),
                  "frames of the flame graph")
            equal(browser.evaluate("document.querySelectorAll('#entries tbody tr').length"), len(report["entries"]),
                  "entry points")
            equal(browser.evaluate("document.querySelectorAll('details .stack').length"), len(report["stacks"]),
                  "stacks")
            # Widths of the frames below the root add up to it.
            sums = browser.evaluate(
                "[...document.querySelectorAll('.frame[data-depth=\"0\"]')].reduce((sum, frame) => sum + "
                "frame.getBoundingClientRect().width, 0)"
                " / document.getElementById('flame').getBoundingClientRect().width")
            check(abs(sums - 1) < 0.01, f"the outermost frames take {sums} of the width")
            overflow = browser.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            equal(overflow, 0, f"at {width} pixels the page scrolls to the side by")


def frames(report):
    """Distinct beginnings of stacks: the frames that a flame graph has. None is too narrow here."""
    paths = set()
    for stack in report["stacks"]:
        path = (stack["program"],)
        paths.add(path)
        for frame in stack["frames"]:
            path += ((frame["kind"], frame["name"], frame["place"]),)
            paths.add(path)
    return len(paths)


def quiet(browser, page):
    equal(browser.requests(), [f"file://{page}"], "requests")
    equal(browser.complaints(), [], "messages of the console")


def without_scripts(world):
    traced = threads(world)
    with Browser() as browser:
        browser.open(traced.page, scripts=False)
        quiet(browser, traced.page)
        browser.call("Emulation.setScriptExecutionDisabled", value=False)
        text = browser.evaluate("document.body.innerText")
        for wanted in ("3 loads of CA certificates", "When it loads", "Where it loads", str(world.pki.bundle),
                       "second"):
            check(wanted in text, f"{wanted!r} is missing in {text[:3000]}")
        check(browser.evaluate("document.querySelectorAll('th button').length") == 0, "a button that does nothing")
        check(browser.evaluate("[...document.querySelectorAll('button, input')].every(each => each.offsetParent === "
                               "null)"),
              "controls that do nothing")


def scripts(world):
    traced = threads(world)
    with Browser() as browser:
        browser.open(traced.page)
        values = "[...document.querySelectorAll('#certificates tbody')][0].innerText"
        header = "document.querySelector('#certificates th.number button')"
        browser.evaluate(f"{header}.click()")
        equal(browser.evaluate(f"{header}.parentNode.getAttribute('aria-sort')"), "descending", "order")
        browser.evaluate(f"{header}.click()")
        equal(browser.evaluate(f"{header}.parentNode.getAttribute('aria-sort')"), "ascending", "order")
        check(browser.evaluate(values), "rows are still there")

        visible = "[...document.querySelectorAll('.frame')].filter(frame => frame.style.display === '')"
        before = browser.evaluate(f"{visible}.length")
        second = ("[...document.querySelectorAll('.frame')].find(frame => "
                  "frame.querySelector('text').textContent.startsWith('second '))")
        browser.evaluate(f"{second}.dispatchEvent(new MouseEvent('click'))")
        check(browser.evaluate(f"{visible}.length") < before, "frames beside it are gone")
        equal(browser.evaluate(f"{second}.getAttribute('width')"), "100.0000%", "width of the frame")
        check(not browser.evaluate("document.getElementById('reset').hidden"), "the way back is offered")
        browser.evaluate("document.getElementById('reset').click()")
        equal(browser.evaluate(f"{visible}.length"), before, "all frames are back")

        browser.evaluate("document.getElementById('find').value = 'second'; "
                         "document.getElementById('find').dispatchEvent(new Event('input'))")
        equal(browser.evaluate("document.querySelectorAll('.frame.found').length"), 1, "frames that were found")
        quiet(browser, traced.page)


def hostile(world):
    folder = world.fresh() / HOSTILE.replace("/", "_")
    folder.mkdir()
    script = folder / "app.py"
    name = "\u202eload"
    script.write_text(f"import ssl, sys\ndef load():\n    ssl.create_default_context(cafile=sys.argv[1])\n"
                      f"load.__code__ = load.__code__.replace(co_name={HOSTILE!r}, co_qualname={HOSTILE!r})\nload()\n"
                      if has_qualname(world) else
                      f"import ssl, sys\ndef load():\n    ssl.create_default_context(cafile=sys.argv[1])\n"
                      f"load.__code__ = load.__code__.replace(co_name={HOSTILE!r})\nload()\n")
    traced = world.trace(["/usr/bin/python3", script, world.pki.bundle, HOSTILE, name])
    names = [frame["name"] for stack in traced.report["stacks"] for frame in stack["frames"]]
    check(any("onerror" in name for name in names), names)
    with Browser() as browser:
        browser.open(traced.page)
        quiet(browser, traced.page)
        equal(browser.evaluate("document.querySelectorAll('img').length"), 0, "elements that a name made")
        check("onerror" in browser.evaluate("document.body.innerText"), "the name is shown")
        check("\u202e" not in traced.page.read_text() + traced.text, "characters that turn the direction around")


def has_qualname(world):
    return world.stock(["/usr/bin/python3", "-c",
                        "import sys; print(sys.version_info >= (3, 11))"])[1].strip() == "True"


def flaws(world):
    """A page with a flaw put into it is noticed, and its policy keeps the flaw from doing anything."""
    traced = threads(world)
    text = traced.page.read_text()
    with Browser() as browser:
        for what, flaw in FLAWS.items():
            flawed = world.fresh() / "page.html"
            flawed.write_text(text.replace("<main>", f"<main>{flaw}", 1))
            browser.open(flawed)
            noticed = browser.complaints() or browser.requests() != [f"file://{flawed}"]
            check(noticed, f"{what} was not noticed")
            check(browser.evaluate("document.title") != "reached", f"{what} was run")
        # The same flaws without the policy would do something.
        flawed.write_text(re.sub(r"<meta http-equiv[^>]*>", "",
                                 text).replace("<main>", "<main>" + FLAWS["a script"], 1))
        browser.open(flawed)
        equal(browser.evaluate("document.title"), "reached", "without its policy the page runs the script")


def empty(world):
    traced = world.trace(["/bin/true"])
    with Browser() as browser:
        browser.open(traced.page)
        quiet(browser, traced.page)
        equal(browser.evaluate("document.querySelectorAll('.frame, .span').length"), 0, "bars and frames")
        check("No CA certificates were loaded" in browser.evaluate("document.body.innerText"), "the finding")


def pictures(world, folder):
    """Screenshots, in both colour schemes and three widths."""
    folder.mkdir(parents=True, exist_ok=True)
    bundle, url = world.pki.bundle, world.hosts.url("good")
    script = world.fresh() / "app.py"
    script.write_text(THREADS)
    work = f"python3 {script} {bundle}; for i in 1 2 3; do curl -sS --cacert {bundle} {url}; done; " \
           f"wget -q -O - --ca-certificate {bundle} {url}; java -version"
    traced = world.trace(["/bin/sh", "-c", work], options=("--compare=3",))
    with Browser() as browser:
        for name, width, dark in (("wide", 1400, False), ("dark", 1400, True), ("narrow", 420, False),
                                  ("middle", 820, False)):
            browser.open(traced.page, width=width, height=900, dark=dark)
            (folder / f"{name}.png").write_bytes(browser.screenshot())
    (folder / "report.txt").write_text(traced.text)
