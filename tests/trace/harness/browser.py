"""A headless Chromium, driven by its DevTools protocol through a pipe: no port, no library.

It is started with a profile of its own, and sees nothing but files: all that a page asks for is recorded.
"""

import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time

CHROMIUM = "/usr/bin/chromium"
SECONDS = 120
OPTIONS = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
           "--disable-component-update", "--disable-sync", "--disable-extensions", "--hide-scrollbars",
           "--host-resolver-rules=MAP * ~NOTFOUND", "--remote-debugging-pipe")


class Browser:
    """Used as a context manager. `events` are all that the protocol told, by method."""

    def __enter__(self):
        self.profile = tempfile.mkdtemp(prefix="windlass-chromium-")
        from_us, self.to = os.pipe()
        self.back, from_it = os.pipe()

        def descriptors():
            # It reads from 3 and writes to 4; first out of the way of both.
            ours, its = os.dup(from_us), os.dup(from_it)
            high = [os.dup2(ours, 40), os.dup2(its, 41)]
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        environment = {"PATH": os.environ["PATH"], "HOME": self.profile, "XDG_CONFIG_HOME": self.profile,
                       "XDG_CACHE_HOME": self.profile}
        self.process = subprocess.Popen([CHROMIUM, *OPTIONS, f"--user-data-dir={self.profile}", "about:blank"],
                                        env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, preexec_fn=descriptors, close_fds=False,
                                        start_new_session=True)
        os.close(from_us)
        os.close(from_it)
        self.rest, self.number, self.events, self.session = b"", 0, [], None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(domain + ".enable")
        return self

    def __exit__(self, *_):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        os.close(self.to)
        os.close(self.back)
        shutil.rmtree(self.profile, ignore_errors=True)

    def open(self, path, scripts=True, width=1280, height=1000, dark=False):
        """Loads a file, with all events from then on."""
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.events.clear()
        self.call("Page.navigate", url=f"file://{path}")
        self.wait("Page.loadEventFired")

    def requests(self):
        """What the page asked for."""
        return [event["params"]["request"]["url"]
                for event in self.events if event["method"] == "Network.requestWillBeSent"]

    def complaints(self):
        """Errors and other messages of the console."""
        kinds = ("Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown",
                 "Page.javascriptDialogOpening")
        return [event for event in self.events if event["method"] in kinds]

    def evaluate(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise AssertionError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def screenshot(self, whole=True):
        import base64
        return base64.b64decode(self.call("Page.captureScreenshot", captureBeyondViewport=whole)["data"])

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        return self._until(lambda answer: answer.get("id") == self.number, method)["result"]

    def wait(self, method):
        if not any(event["method"] == method for event in self.events):
            self._until(lambda answer: answer.get("method") == method, method)

    def _until(self, is_it, what):
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            while b"\0" in self.rest:
                text, self.rest = self.rest.split(b"\0", 1)
                answer = json.loads(text)
                if "method" in answer:
                    self.events.append(answer)
                if "error" in answer:
                    raise AssertionError(f"{what}: {answer['error']}")
                if is_it(answer):
                    return answer
            if select.select([self.back], [], [], 1)[0]:
                read = os.read(self.back, 1 << 20)
                if not read:
                    raise AssertionError(f"chromium ended while {what} was waited for")
                self.rest += read
        raise AssertionError(f"chromium did not answer {what}")
