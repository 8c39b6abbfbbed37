"""The examples of the manual page are run as they stand."""

import re
import subprocess

from sides import environment
from tracer import check, equal

# What the examples name, in the folder in which they run.
FILES = {
    "app.py": "import ssl; ssl.create_default_context()\n",
    "nightly.sh": "#!/bin/sh\nexec openssl version\n",
    "Makefile": "check:\n\t@python3 app.py\n",
}


def cases(world):
    yield "examples: the manual page's", lambda: examples(world)


def examples(world):
    folder = world.fresh()
    for name, text in FILES.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    env = environment(world.environment({"MANPAGER": "cat", "MANWIDTH": "200", "SSL_CERT_FILE": world.pki.bundle}))
    env["PATH"] = f"{world.windlass.parent}:{env['PATH']}"
    page = subprocess.run(f"'{world.windlass}' man trace | man -l -", shell=True, env=env, check=True,
                          capture_output=True, text=True)
    section = re.search(r"^EXAMPLES\n(.*?)^\S", page.stdout, re.M | re.S).group(1)
    commands = [line.strip() for line in section.splitlines() if line.strip().startswith("windlass ")]
    check(len(commands) >= 4, section)
    for command in commands:
        done = subprocess.run(["/bin/sh", "-c", command], cwd=folder, env=env, capture_output=True, text=True,
                              timeout=300)
        report = done.stderr + "".join(path.read_text() for path in folder.glob("trace.txt"))
        equal(done.returncode, 0, f"{command}: {done.stderr}")
        check("windlass: " in report, f"{command}: {report}")
    for name in ("trace.html", "trace.json", "trace.txt"):
        check((folder / name).stat().st_size > 0, name)
