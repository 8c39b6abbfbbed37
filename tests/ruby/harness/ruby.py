"""What the cases share: a Ruby with the gem, and running programs in it."""

import functools
import pathlib
import shutil
import subprocess

PROGRAMS = pathlib.Path(__file__).resolve().parent.parent / "programs"


class Ruby:
    def __init__(self, interpreter, gem, library, folder, authority):
        self.interpreter, self.gem, self.library, self.authority = interpreter, gem, library, authority
        self.version = subprocess.run([interpreter, "-e", "print RUBY_VERSION"], check=True, stdout=subprocess.PIPE,
                                      text=True).stdout
        self.folder = folder / f"ruby-{self.version}"
        self.folder.mkdir()

    @functools.cached_property
    def home(self):
        """A GEM_HOME with the gem."""
        return self.install("home")

    def install(self, name):
        """A new GEM_HOME with the gem, installed from its file."""
        home = self.folder / name
        subprocess.run([self.interpreter, "-S", "gem", "install", "--silent", "--local", "--no-document", self.gem],
                       check=True, env=self.environment(home))
        return home

    def lib(self, home=None):
        """The folder with the files of the installed gem."""
        found, = (home or self.home).glob("gems/windlass-*/lib")
        return found

    def fresh(self, name):
        """A folder for a case."""
        folder = self.folder / "cases" / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        return folder

    def environment(self, home, bundle=None, **variables):
        return {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8", "HOME": str(self.folder),
                "GEM_HOME": str(home), "SSL_CERT_FILE": str(bundle or self.authority.bundle),
                "SSL_CERT_DIR": "/nonexistent", "CHAIN": str(self.authority.chain),
                "BUNDLE": str(self.authority.bundle), "OTHER_BUNDLE": str(self.authority.other),
                "ROOT": str(self.authority.certificate),
                **{name: str(value) for name, value in variables.items()}}

    def run(self, *arguments, home=None, status=0, silent=True, **variables):
        """Runs a program of `programs` (or these arguments) with the test's authority trusted; returns what it said.

        It must end with this status and, if `silent`, say nothing on standard error.
        """
        arguments = [PROGRAMS / argument if str(argument).endswith(".rb") and (PROGRAMS / argument).exists()
                     else argument for argument in arguments]
        ended = subprocess.run([self.interpreter, *map(str, arguments)], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120,
                               env=self.environment(home or self.home, **variables))
        assert ended.returncode == status and (ended.stderr == "" or not silent), \
            f"{arguments}: status {ended.returncode}\n{ended.stdout}{ended.stderr}"
        return ended.stdout

    def has(self, feature):
        """Whether a library of Ruby's is installed for it."""
        return self.run("-e", f"begin; require '{feature}'; print 1; rescue LoadError; end", silent=False) == "1"
