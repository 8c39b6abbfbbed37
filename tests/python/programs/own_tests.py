"""own_tests.py MODE NAME ...: runs CPython's own tests, prints the result of each as JSON.

MODE: "stock", or "auto" (windlass-auto has attached), or "middle" (attaches after half of the tests), or "turns"
(attaches before every second test, and detaches before the others).
"""

import json
import os
import sys
import unittest

from test import support

# What needs the internet, or is slow, is left out, as `python -m test` does.
support.use_resources = []

mode, *names = sys.argv[1:]
windlass = __import__("windlass") if mode != "stock" else None


def excuse():
    """These tests use ctypes, but not to find functions of OpenSSL."""
    from windlass import _library

    functions = _library.functions()
    if functions is not None:
        _library._call(functions["windlass_preload_excuse"], 1)


class Results(unittest.TestResult):
    """The outcome of each test by its name."""

    def __init__(self, total):
        super().__init__()
        self.total, self.all = total, {}

    def startTest(self, test):
        super().startTest(test)
        self.all[test.id()] = "ok"
        if mode == "middle" and self.testsRun == self.total // 2:
            assert windlass.attach() == "attached"
        elif mode == "turns":
            done = windlass.attach() if self.testsRun % 2 else windlass.detach()
            assert done in ("attached", "detached"), done
        if mode in ("middle", "turns"):
            excuse()

    def note(self, test, outcome, why):
        # A sub-test, or a class or module that can't be set up, has a name of its own.
        name = test.id() if hasattr(test, "id") else str(test)
        self.all[name] = f"{outcome}: {why}"

    def addError(self, test, error):
        self.note(test, "error", error[0].__name__)

    def addFailure(self, test, error):
        self.note(test, "failure", error[0].__name__)

    def addSkip(self, test, reason):
        self.note(test, "skipped", reason)

    def addExpectedFailure(self, test, error):
        self.note(test, "expected failure", error[0].__name__)

    def addUnexpectedSuccess(self, test):
        self.note(test, "unexpected success", "")

    def addSubTest(self, test, subtest, error):
        if error is not None:
            self.note(subtest, "failure", error[0].__name__)


suite = unittest.TestSuite()
for name in names:
    loader = unittest.TestLoader()
    tests = loader.loadTestsFromName(name)
    # This version of Python may not have them.
    if not loader.errors:
        suite.addTest(tests)
results = Results(suite.countTestCases())
said = os.fdopen(os.dup(1), "w")
# Whatever the tests print.
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
os.dup2(1, 2)
suite.run(results)
status = windlass.status() if windlass else None
json.dump({"results": results.all, "served": sum(status.served.values()) if status else 0}, said)
said.close()
# Threads that the tests have left behind do not matter.
os._exit(0)
