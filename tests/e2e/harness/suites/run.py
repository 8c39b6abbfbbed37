"""`windlass run` itself: exec, exit status, signals, standard streams, and the switch that turns it off."""

import os
import signal
import time

from cases import Case, plain
from sides import STEP_SECONDS

PYTHON = "/usr/bin/python3"
CONTEXT = "import ssl; print(len(ssl.create_default_context().get_ca_certs()))"


def cases(world):
    count = world.pki.system_count
    yield plain("run: exit status", ["/bin/sh", "-c", f"{PYTHON} -c '{CONTEXT}'; exit 7"], status=7)
    yield plain("run: children are served", ["/bin/sh", "-c",
                                             f"{PYTHON} -c '{CONTEXT}' & {PYTHON} -c '{CONTEXT}'; wait"],
                shows=(f"{count}\n{count}\n",))
    yield Case("run: standard input", lambda side: side.run([PYTHON, "-c", CONTEXT + "; print(input())"],
                                                            stdin="a line\n"),
               shows=(r"a line",))
    yield plain("run: a program that a signal ends", ["/bin/sh", "-c", f"{PYTHON} -c '{CONTEXT}'; kill -TERM $$"],
                status=-signal.SIGTERM)
    yield Case("run: SIGTERM reaches the program", end_by_signal, status=5, shows=(r"handler",))
    yield plain("run: WINDLASS_DISABLE=1", [PYTHON, "-c", CONTEXT], {"WINDLASS_DISABLE": "1"}, served=None,
                untouched=True, shows=(f"{count}\n",))
    yield Case("run: without --stats nothing is added", without_stats, shows=(f"{count}\nTrue",),
               served=None)


def end_by_signal(side):
    program = f"{CONTEXT}\nimport signal, sys, time\n" \
        "signal.signal(signal.SIGTERM, lambda *_: (print('handler', flush=True), sys.exit(5)))\n" \
        "print('ready', flush=True)\ntime.sleep(900)\n"
    with side.start([PYTHON, "-c", program]) as running:
        deadline = time.monotonic() + STEP_SECONDS
        while time.monotonic() < deadline:
            # Not seek and read: the program shares the file offset.
            if b"ready" in os.pread(running.out.fileno(), 4096, 0):
                break
            time.sleep(0.02)
        return running.stop(signal.SIGTERM)


def without_stats(side):
    """The plain form is an exec: the program is the process that was started, and its streams hold its output only."""
    return side.run_plain([PYTHON, "-c", CONTEXT + "; import os; print(os.getppid() == int(os.environ['STARTER']))"],
                          {"STARTER": str(os.getpid())})
