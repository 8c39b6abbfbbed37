"""Builds the programs and shared objects: each is built again only if something that it is made of has changed."""

import dataclasses
import hashlib
import pathlib
import shutil
import subprocess
import threading

import functions

HERE = pathlib.Path(__file__).resolve().parent.parent
PROGRAMS = HERE / "programs"
OPENSSL = ("system", "1.1.1w", "3.5.5", "4.0.3", "1.1.1w-bsymbolic", "3.5.5-bsymbolic", "4.0.3-bsymbolic")
GNUTLS = ("system", "3.8", "3.8-bsymbolic-functions")
SYSTEM = pathlib.Path("/usr/lib/x86_64-linux-gnu")
WARNINGS = ("-std=gnu11", "-O2", "-g0", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE")

# How an object calls: each leads to other relocations, or to another layout of them.
STYLES = {
    "lazy": ("-Wl,-z,lazy",),
    "now": ("-Wl,-z,now",),
    "no-plt": ("-fno-plt",),
    "ibt": ("-fcf-protection", "-Wl,-z,ibtplt", "-Wl,-z,lazy"),
    "no-relro": ("-Wl,-z,norelro", "-Wl,-z,lazy"),
    "relr": ("-Wl,-z,pack-relative-relocs",),
    "sysv-hash": ("-Wl,--hash-style=sysv",),
    # Executables only: the address of a function is that of the executable's own PLT entry.
    "no-pie": ("-no-pie", "-fno-pic"),
    "no-pie, now": ("-no-pie", "-fno-pic", "-Wl,-z,now"),
}


@dataclasses.dataclass(frozen=True)
class Library:
    """A build of OpenSSL or GnuTLS; `renamed` is a copy under other file names and sonames, as a Python wheel has."""

    kind: str
    build: str
    files: tuple
    renamed: bool = False

    @property
    def name(self):
        return self.build + (", renamed" if self.renamed else "")

    @property
    def tag(self):
        return self.build + ("-renamed" if self.renamed else "")

    def link(self):
        """Whether or not it is used: a host is linked against it for its own sake."""
        return ["-Wl,--no-as-needed", *map(str, self.files), f"-Wl,-rpath,{self.files[0].parent}", "-Wl,--as-needed"]


def one_at_a_time(method):
    def locked(self, *arguments, **named):
        with self.lock:
            return method(self, *arguments, **named)
    return locked


class Builder:
    def __init__(self, target, libraries):
        self.libraries = libraries
        self.out = target / "field"
        (self.out / "bin").mkdir(parents=True, exist_ok=True)
        self.present = {}
        # The linker writes a file in place, and nobody may start it meanwhile: one build at a time.
        self.lock = threading.RLock()

    def library(self, kind, build, renamed=False):
        folder = SYSTEM if build == "system" else self.libraries / kind / build / "lib"
        stems = ("libssl", "libcrypto") if kind == "openssl" else ("libgnutls",)
        files = tuple(soname_of(folder, stem) for stem in stems)
        if renamed:
            files = self.renamed(f"{kind}-{build}", files)
        return Library(kind, build, files, renamed)

    def renamed(self, name, files):
        """Copies as auditwheel makes them: other names, and $ORIGIN to find each other."""
        folder = self.out / "renamed" / name
        names = {file.name: file.name.replace(".so", "-abc123.so", 1) for file in files}
        copies = tuple(folder / new for new in names.values())
        state = hashlib.sha256(b"".join(file.read_bytes() for file in (*files, pathlib.Path(__file__)))).hexdigest()
        if stamped(folder / "stamp", state) and all(copy.exists() for copy in copies):
            return copies
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for file, copy in zip(files, copies):
            shutil.copy(file, copy)
            # One call each: patchelf 0.14 takes the last word for all of them.
            for change in (["--set-soname", copy.name], ["--set-rpath", "$ORIGIN"],
                           *(["--replace-needed", old, new] for old, new in names.items())):
                subprocess.run(["patchelf", *change, copy], check=True)
        (folder / "stamp").write_text(state)
        return copies

    def exports(self, library):
        if library not in self.present:
            self.present[library] = set().union(*(functions.exported(file) for file in library.files))
        return self.present[library]

    def header(self, library):
        path = self.out / f"functions-{library.kind}-{library.tag}.h"
        text = functions.header(library.kind, self.exports(library))
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
        return path

    @one_at_a_time
    def wrappers(self, library, style):
        """A shared object of nothing but wrappers, linked against the library."""
        out = self.compile(f"libwrap-{library.kind}-{library.tag}-{style}.so", ["wrappers.c"],
                           [f'-DFUNCTIONS="{self.header(library)}"', "-shared", "-fPIC", *STYLES[style]],
                           library.link())
        wrong = functions.not_jumps(out, self.exports(library), library.kind)
        if wrong:
            raise AssertionError(f"{out}: no jumps: {wrong}")
        return out

    @one_at_a_time
    def host(self, library, style, table=None, own=None, wrappers=None):
        """The program. `table`: None (nothing in static data), DIRECT, or WRAPPED: its own wrappers, or those of the
        shared object `wrappers`. `own`: the library that it is linked against for itself."""
        sources = ["host.c", "table.c", f"{library.kind}_script.c", "own.c"]
        options = [f'-DFUNCTIONS="{self.header(library)}"',
                   *(STYLES[style] if "no-pie" in style else ("-fPIE", "-pie", *STYLES[style]))]
        links, name = [], f"host-{library.kind}-{library.tag}-{style}"
        if table:
            options.append(f"-DSTATIC_TABLE={table}")
            name += "-" + table.lower()
        if wrappers:
            links += ["-Wl,--no-as-needed", str(wrappers), f"-Wl,-rpath,{wrappers.parent}"]
            name += f"-{wrappers.stem}"
        elif table:
            links += library.link()
        if table == "WRAPPED" and not wrappers:
            sources.append("wrappers.c")
        if own:
            options.append(f"-DOWN_{own.kind.upper()}")
            links += own.link()
            name += f"-own-{own.tag}"
        return self.compile(name.replace(", ", "-"), sources, options, [*links, "-ldl"])

    def pointers(self, library):
        return self.linked("pointers.c", library)

    @one_at_a_time
    def managed(self, name, source, references):
        """A program for .NET."""
        out, stamp = self.out / "bin" / name, self.out / "bin" / (name + ".stamp")
        command = ["mcs", "-nologo", "-noconfig", "-nostdlib", "-nowarn:1701,1702", f"-out:{out}", *references,
                   str(PROGRAMS / source)]
        state = hashlib.sha256(repr(command).encode() + (PROGRAMS / source).read_bytes()).hexdigest()
        if not (out.exists() and stamped(stamp, state)):
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
            if done.returncode:
                raise AssertionError(f"building {name} failed:\n{done.stdout[-3000:]}")
            stamp.write_text(state)
        return out

    def linked(self, source, library, options=()):
        """A program, or a shared object, of one source file, which calls the library by its names."""
        suffix = ".so" if "-shared" in options else ""
        return self.compile(f"{pathlib.Path(source).stem}-{library.kind}-{library.tag}{suffix}", [source],
                            [f'-DFUNCTIONS="{self.header(library)}"', *options], [*library.link(), "-ldl"])

    def exporting(self, library):
        """A host with a whole OpenSSL inside that it exports."""
        sources = ["host.c", "table.c", "openssl_script.c", "own.c"]
        archives = ["-rdynamic", "-Wl,--whole-archive", str(SYSTEM / "libssl.a"), str(SYSTEM / "libcrypto.a"),
                    "-Wl,--no-whole-archive"]
        return self.compile("host-exporting", sources, [f'-DFUNCTIONS="{self.header(library)}"', "-DOWN_OPENSSL"],
                            [*archives, "-ldl", "-pthread"])

    def symbol_versions(self, text):
        """The option that gives a shared object these versions."""
        path = self.out / f"{hashlib.sha256(text.encode()).hexdigest()[:12]}.map"
        if not path.exists():
            path.write_text(text)
        return f"-Wl,--version-script={path}"

    @one_at_a_time
    def compile(self, name, sources, options, links):
        out = self.out / "bin" / name
        command = ["gcc", *WARNINGS, *options, *(str(PROGRAMS / source) for source in sources), "-o", str(out), *links]
        state = hashlib.sha256(repr(command).encode())
        headers = [pathlib.Path(option.split('"')[1]) for option in options if option.startswith("-DFUNCTIONS=")]
        for path in [*(PROGRAMS / source for source in sources), *sorted(PROGRAMS.glob("*.h")), *headers]:
            state.update(path.read_bytes())
        for link in links:
            if link.startswith("/"):
                file = pathlib.Path(link).stat()
                state.update(f"{file.st_size} {file.st_mtime_ns}".encode())
        stamp = out.with_name(out.name + ".stamp")
        if not (out.exists() and stamped(stamp, state.hexdigest())):
            out.unlink(missing_ok=True)
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
            if done.returncode:
                raise AssertionError(f"building {name} failed: {' '.join(command)}\n{done.stdout[-3000:]}")
            stamp.write_text(state.hexdigest())
        return out


def soname_of(folder, stem):
    """libcrypto.so.3, not libcrypto.so: what the linker is given ends up as what is needed by its soname."""
    return min(folder.glob(f"{stem}.so.*"), key=lambda file: len(file.name))


def stamped(stamp, state):
    return stamp.exists() and stamp.read_text() == state
