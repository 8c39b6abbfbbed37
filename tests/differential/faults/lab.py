"""A bundle, its compiled store, a store that lies, and programs that show
which of them was believed.

The lying store holds other roots under the bundle's own identity and a right
checksum: only what stands around it (owner, mode, damage) can keep a reader
from believing it, and if one does, the programs' output changes.
"""

import contextlib
import dataclasses
import pathlib
import shutil
import subprocess
import tempfile

import builds
import compiled
import counters
import store_file
from programs import write_files

HERE = pathlib.Path(__file__).resolve().parent.parent
CLEAN = {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}
USER, STRANGER = 4321, 4322
# Stands for all users without a number: nobody in particular.
OVERFLOW = 65534
FRESH, STALE = "cache/compiled", "cache/compiled-stale"
DISTRUSTED, MALFORMED = "cache/compiled-distrusted", "cache/compiled-malformed"

LEAVES = ("leaf0", "leaf1", "leaf5", "leaf_twin")
LOOK = """ctx {n}
ctx_locations {n} @BUNDLE@ -
ctx_store {n} {n}
{verify}
subject {n} {root}
objects {n}
"""
END = """mapped .store
descriptors
"""


@dataclasses.dataclass
class Run:
    text: str
    values: dict
    shown: list = dataclasses.field(default_factory=list)  # context by context


class Lab:
    """What all groups share."""

    def __init__(self, library, windlass, pki, results):
        self.library, self.windlass = library, str(windlass)
        self.pki, self.results, self.check = pki, results, results.check
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="faults-", dir="/var/tmp"))
        self.home.chmod(0o755)
        # Where any user may execute them.
        self.driver = self.home / "driver"
        shutil.copy(builds.driver("system"), self.driver)
        self.at_call = builds.compile_c([HERE / "process" / "at_call.c"], builds.WORK / "bin" / "at_call.so",
                                        "system", ("-shared", "-fPIC"), libraries=())
        self.trust_list = builds.compile_c([HERE / "process" / "trust_list.c"], builds.WORK / "bin" / "trust_list",
                                           "system", libraries=("-lgnutls",))
        for name in ("library", "at_call"):
            copy = self.home / f"{name}.so"
            shutil.copy(getattr(self, name), copy)
            setattr(self, name, copy)
        for program in ("verdicts.py", "asked.py"):
            shutil.copy(HERE / "process" / program, self.home)

    def close(self):
        shutil.rmtree(self.home)

    @contextlib.contextmanager
    def place(self):
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.home))
        folder.chmod(0o755)
        try:
            yield Place(self, folder)
        finally:
            shutil.rmtree(folder)


class Place:
    """`bundle` (roots.pem, as `honest` has it) and `store`, the file that the library looks for in `stores`."""

    def __init__(self, lab, folder):
        self.lab, self.folder = lab, folder
        write_files(folder, lab.pki.files())
        self.bundle, self.other = folder / "roots.pem", folder / "other.pem"
        self.content = {path: path.read_bytes() for path in (self.bundle, self.other)}
        self.stores = folder / "stores"
        self.store = self.stores / store_file.name_of(self.bundle)
        self.cache = folder / ".cache"
        self.cache.mkdir()
        (self.cache / "windlass").symlink_to(self.stores)
        self.bundle.write_bytes(self.content[self.other])
        self.compile(self.bundle)
        self.stale = self.store.read_bytes()
        self.bundle.write_bytes(self.content[self.bundle])
        self.compile(self.bundle)
        self.compiled = self.store.read_bytes()
        assert self.compiled == self.honest, "another layout, or another checksum"

    @property
    def honest(self):
        """As the bundle would be compiled now, if its content is still the same."""
        return store_file.claiming(self.compiled, self.bundle)

    @property
    def lie(self):
        return store_file.claiming(self.stale, self.bundle)

    def compile(self, *paths, windlass=(), stores=None, **env):
        return subprocess.run([*windlass, self.lab.windlass, "compile", "--force", "--store", stores or self.stores,
                               *paths],
                              env=CLEAN | env, capture_output=True, text=True, timeout=300)

    def put(self, content):
        """A directory in which this is the compiled store, owner and modes as they should be."""
        compiled.fresh_directory(self.stores)
        self.store.write_bytes(content)
        self.store.chmod(0o644)

    def script(self, *parts):
        """A part is a number (a context in that slot is made and looked at) or lines."""
        pki = self.lab.pki
        text = "bag 0 @ROOT@/all.pem\n"
        for part in parts:
            if isinstance(part, int):
                verify = "\n".join(f"verify {part} {pki.ref(leaf)}" for leaf in LEAVES)
                part = LOOK.format(n=part, verify=verify, root=pki.ref("r0"))
            text += part if part.endswith("\n") else part + "\n"
        return text + END

    def run(self, command, served, user=None, script=None, preload=(), named=True, **env):
        """Stock, or served by the library from compiled stores. Not `named`: they are where a user's caches are."""
        path = self.folder / "script"
        if script is not None:
            text = script.replace("@BUNDLE@", str(self.bundle)).replace("@ROOT@", str(self.folder))
            path.write_text(text.replace("@STORE@", str(self.store)))
        env = CLEAN | env
        preload = [*preload, *([self.lab.library] if served else [])]
        if preload:
            stores = {"WINDLASS_STORE": str(self.stores)} if named else {"HOME": str(self.folder),
                                                                         "XDG_CACHE_HOME": str(self.cache)}
            env |= {"LD_PRELOAD": ":".join(map(str, preload)), "WINDLASS_TEST_COMPILE": self.lab.windlass} | stores
        who = {} if user is None else {"user": user, "group": user, "extra_groups": []}
        with counters.page(user) as page:
            if user is not None:
                who["pass_fds"] = (page.file,)
            if served:
                env |= page.variable
            done = subprocess.run(list(map(str, command)), cwd=self.folder, env=env, capture_output=True, text=True,
                                  errors="backslashreplace", timeout=600, **who)
            return Run(f"{done.stdout}{done.stderr}exit {done.returncode}\n", page.values())

    def programs(self):
        """{name: (command, script)}: each makes two contexts."""
        python = ["/usr/bin/python3", "-I", self.lab.home / "verdicts.py", self.bundle, self.folder / "leaf.key",
                  self.folder / "leaf0.pem", self.folder / "leaf1.pem"]
        gnutls = [self.lab.trust_list, self.bundle, "leaf0.pem", "leaf1.pem"]
        return {"driver": ([self.lab.driver, "script"], self.script(0, 1)), "python3": (python, None),
                "gnutls": (gnutls, None)}

    def both(self, arrange, program="driver", script=None, command=None, **how):
        """The two runs, each after `arrange`."""
        usual = self.programs()[program]
        runs = []
        for served in (False, True):
            arrange()
            runs.append(self.run(command or usual[0], served, script=script or usual[1], **how))
        return runs

    def unmoved(self, label, arrange, counter=None, programs=("driver",), absent=None, **how):
        """The programs show what they do stock; the library counted `counter`, and none of `absent`."""
        absent = absent if absent is not None else (MALFORMED, DISTRUSTED, STALE) if counter == FRESH else (FRESH,)
        for program in programs:
            stock, now = self.both(arrange, program, **how)
            good = stock.text == now.text and stock.text.endswith("exit 0\n")
            counted = (counter is None or now.values.get(counter)) and not any(map(now.values.get, absent))
            self.lab.check(f"{label}: {program} shows the stock result", good and counted,
                           f"counted {now.values}\nstock:\n{stock.text}\nnow:\n{now.text}")

    def moved(self, label, arrange, program="driver", **how):
        """The lie is believed: proof that `unmoved` would see it."""
        stock, now = self.both(arrange, program, **how)
        self.lab.check(f"{label}: {program} believes it", stock.text != now.text and now.values.get(FRESH),
                       f"counted {now.values}\nnow:\n{now.text}")
