"""What the cases share: a virtual environment of an interpreter with the packages, and running programs in it."""

import functools
import pathlib
import shutil
import subprocess

TESTS = pathlib.Path(__file__).resolve().parent.parent
PROGRAMS, ROOT = TESTS / "programs", TESTS.parents[1]


class Context:
    def __init__(self, python, wheels, library, pythons, folder, authority):
        self.wheels, self.library, self.pythons, self.authority = wheels, library, pythons, authority
        self.version = subprocess.run([python, "-c", "import platform; print(platform.python_version())"], check=True,
                                      stdout=subprocess.PIPE, text=True).stdout.strip()
        self.interpreter = python
        self.folder = folder / f"python-{self.version}"
        self.folder.mkdir()

    @functools.cached_property
    def python(self):
        """An interpreter with the package windlass."""
        return self.environment("windlass", "windlass-")

    @functools.cached_property
    def auto(self):
        """An interpreter with the packages windlass and windlass-auto."""
        return self.environment("auto", "windlass-", "windlass_auto-")

    def environment(self, name, *packages):
        """The interpreter of a new virtual environment with these packages, installed from their files."""
        folder = self.folder / name
        subprocess.run([self.interpreter, "-m", "venv", folder], check=True)
        wheels = [next(self.wheels.glob(f"{package}*.whl")) for package in packages]
        subprocess.run([folder / "bin/python", "-m", "pip", "install", "-q", "--no-index",
                        "--disable-pip-version-check", *wheels], check=True)
        return folder / "bin/python"

    @functools.cached_property
    def is_linked_in(self):
        """Whether OpenSSL is inside of the interpreter."""
        return self.ask("import _ssl; print(not hasattr(_ssl, '__file__'))") == "True"

    def fresh(self, name):
        """A folder for a case."""
        folder = self.folder / "cases" / name.replace(" ", "-")
        if folder.exists():
            shutil.rmtree(folder)
        folder.mkdir(parents=True)
        return folder

    def ask(self, program, python=None):
        """What a program prints."""
        return subprocess.run([python or self.python, "-c", program], check=True, stdout=subprocess.PIPE,
                              text=True).stdout.strip()

    def survives(self, *arguments):
        """Whether a program ends by itself, with whatever status."""
        return subprocess.run([self.python, PROGRAMS / arguments[0], *arguments[1:]], stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode >= 0

    def run(self, *arguments, before=(), python=None, status=0, bundle=None, **variables):
        """Runs a program of `programs` (or these arguments) with the test's authority trusted; returns what it said.

        `before`: a command that runs the interpreter.

        It must end with this status and say nothing on standard error.
        """
        arguments = [PROGRAMS / argument if str(argument).endswith(".py") and (PROGRAMS / argument).exists()
                     else argument for argument in arguments]
        environment = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": str(self.folder),
                       "SSL_CERT_FILE": str(bundle or self.authority.bundle), "SSL_CERT_DIR": "/nonexistent",
                       "CHAIN": str(self.authority.chain), "OTHER_BUNDLE": str(self.authority.other),
                       "PYTHONDONTWRITEBYTECODE": "1", **{name: str(value) for name, value in variables.items()}}
        ended = subprocess.run([*before, python or self.python, *map(str, arguments)], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, timeout=120)
        assert ended.returncode == status and (ended.stderr == "" or status != 0), \
            f"{arguments}: status {ended.returncode}\n{ended.stdout}{ended.stderr}"
        return ended.stdout + ended.stderr
