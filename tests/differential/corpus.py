"""The scripts to run and the files they need, generated once per version of
the generator under target/differential/corpus-<hash>/."""

import dataclasses
import fnmatch
import hashlib
import pathlib
import shutil

import builds
from generate import changes, contexts, directories, handshakes, loads, mutants, names, odd_names, universe
from generate.forge import Signer
from generate.pki import Pki

HERE = pathlib.Path(__file__).resolve().parent


@dataclasses.dataclass
class Case:
    """One script, the folder it runs in, and which builds it is for."""

    suite: str
    name: str
    folder: pathlib.Path
    writes: bool  # changes its files: every run gets a fresh copy
    only: str = "*"
    script: bytes | None = None  # in place of the folder's own

    def script_for(self, folder):
        text = self.script or (self.folder / "script").read_bytes()
        return text.replace(b"@ROOT@", str(folder).encode())

    def wants(self, build):
        return any(fnmatch.fnmatch(build, p) for p in self.only.split(","))


def verdicts(signer):
    for name, files, script in universe.cases(signer, count=60, stores=12, verifications=14):
        yield name, files, script, False, "*"


# Suite -> generator of (case name, files, script lines, writes, builds glob).
SUITES = {
    "verdicts": verdicts,
    "loads": lambda signer: loads.cases(Pki(signer)),
    "contexts": lambda signer: contexts.cases(Pki(signer)),
    "changes": lambda signer: changes.cases(Pki(signer)),
    "directories": lambda signer: directories.cases(Pki(signer)),
    "names": lambda signer: names.cases(Pki(signer)),
    "odd-names": odd_names.cases,
    "handshakes": lambda signer: handshakes.cases(Pki(signer)),
    "mutants": lambda signer: mutants.cases(Pki(signer)),
}


def state_of_generators():
    state = hashlib.sha256()
    for path in sorted([*(HERE / "generate").glob("*.py"), HERE / "corpus.py", HERE / "signer.c"]):
        state.update(path.read_bytes())
    return state.hexdigest()[:16]


def write_case(folder, files, script, mode_of):
    folder.mkdir(parents=True)
    for path, content in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str):  # a symbolic link
            target.symlink_to(content)
        elif content is None:
            target.mkdir()
        else:
            target.write_bytes(content)
    (folder / "script").write_text("\n".join(script) + "\n")
    (folder / "case").write_text(mode_of)


def generate(home):
    """Fills home; removes what earlier generators left."""
    for old in home.parent.glob("corpus-*"):
        shutil.rmtree(old)
    fresh = home.with_name("corpus-new")
    signer = Signer(str(builds.signer()))
    for suite, make in SUITES.items():
        for name, files, script, writes, only in make(signer):
            write_case(fresh / suite / name, files, script, f"{int(writes)} {only}")
    signer.close()
    fresh.rename(home)


def cases(suites):
    home = builds.WORK / f"corpus-{state_of_generators()}"
    if not home.exists():
        home.parent.mkdir(parents=True, exist_ok=True)
        generate(home)
    for suite in suites:
        for folder in sorted((home / suite).iterdir()):
            writes, only = (folder / "case").read_text().split(" ", 1)
            yield Case(suite, folder.name, folder, writes == "1", only)
