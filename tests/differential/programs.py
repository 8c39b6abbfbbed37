"""Programs that run from a clean environment, in folders that are filled for them, and what became of them."""

import subprocess

CLEAN = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "WINDLASS_STORE": ""}


class Results:
    """Counts what ran and says what went wrong."""

    def __init__(self):
        self.passed, self.failed = 0, 0

    def check(self, label, good, details=""):
        self.passed, self.failed = self.passed + bool(good), self.failed + (not good)
        print(f"{'ok  ' if good else 'FAIL'} {label}")
        if not good and details:
            print("\n".join(f"     {line}" for line in str(details).splitlines()[:40]))


def execute(command, folder, library=None, **more):
    env = dict(CLEAN, **more.pop("env", {}))
    if library:
        env["LD_PRELOAD"] = str(library)
    done = subprocess.run(list(map(str, command)), cwd=folder, env=env, capture_output=True,
                          text=True, errors="backslashreplace", timeout=7200, **more)
    return f"{done.stdout}{done.stderr}exit {done.returncode}\n"


def write_files(folder, files):
    for path, content in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str):
            target.symlink_to(content)
        elif content is None:
            target.mkdir(exist_ok=True)
        else:
            target.write_bytes(content)


def same_in_both(results, label, command, folder, library, **more):
    stock = execute(command, folder, **more)
    now = execute(command, folder, library, **more)
    good = stock == now and now.endswith("exit 0\n")
    results.check(label, good, f"stock:\n{stock}\nnow:\n{now}")
