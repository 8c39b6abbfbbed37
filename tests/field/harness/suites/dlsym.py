"""Programs that find the functions by dlsym."""

import os
import subprocess
import threading

from cases import Case
from objects import GNUTLS, OPENSSL
from sides import environment
from suites.wrappers import COUNTED, OTHERS, SHOWS, TELLING, is_served, of_owner

PYTHON, PYPY = "/usr/bin/python3", "/usr/bin/pypy3"
# What the scripts in other languages print: both kinds of a good chain, and an untrusted one.
SCRIPT = (r"(?m)^good\s+1\s+1\s+0$", r"(?m)^untrusted\s+1\s+0\s+20$", r"(?m)^certificates\s+14$", r"(?m)^names\s+13$")
SERVED = ("openssl/stores", "openssl/certificates-registered", "openssl/lookups", "openssl/ca-names-served")


def cases(world):
    yield from hosts(world)
    yield from languages(world)
    yield from clients(world)
    yield from dotnet(world)


def hosts(world):
    """A C program that finds everything by itself."""
    make = world.builder
    for kind, builds in (("openssl", OPENSSL), ("gnutls", GNUTLS)):
        for build in builds:
            library = make.library(kind, build)
            top = library.files[0]
            others = [make.library(kind, other) for other in OTHERS[build]] if kind == "openssl" else []
            for own in (None, library, *others):
                for flags in (("lazy", "local"), ("now", "global"), ("now", "deepbind")):
                    yield host_case(world, f"handle, {' '.join(flags)}, {of_owner(library, own)}", library, own,
                                    ["handle", top, *flags]), \
                        build in TELLING and flags == ("lazy", "local") and own not in (library, *others[1:])
            for way in ("default", "next", "versioned"):
                yield host_case(world, f"{way}, program with the same", library, library,
                                [way, *(versions(library) if way == "versioned" else ())]), build in TELLING
            yield Case(f"{kind} {build}: pointers that were found in several ways are the same", lambda side,
                       library=library: side.run(
                [make.pointers(library), library.files[0]], world.env()), shows=(r"(?m)^differing: 0$",),
                       served=None), build in TELLING


def host_case(world, name, library, own, arguments):
    served = is_served(library.build)
    # The builds' libssl is to find the libcrypto beside it.
    env = world.env() if library.build == "system" else {**world.env(), "LD_LIBRARY_PATH": library.files[0].parent}
    return Case(f"{library.kind} {library.build}: dlsym, {name}",
                lambda side: side.run([world.builder.host(library, "lazy", own=own), *arguments], env),
                shows=SHOWS[library.kind], counts=COUNTED[library.kind] if served else (),
                served="served/" if served else None)


def versions(library):
    """The symbol versions that the library defines, newest first."""
    out = subprocess.run(["readelf", "-VW", *map(str, library.files)], check=True, stdout=subprocess.PIPE,
                         text=True).stdout
    words = {word for line in out.splitlines() if "Rev: 1  Flags" in line for word in line.split()}
    return sorted((word for word in words if word.startswith(("OPENSSL_", "GNUTLS_"))), reverse=True)


def languages(world):
    """The same script in other languages, each with its own way to call."""
    here, env = world.programs, world.env()

    def script(name, argv, more=None, shows=SCRIPT, counts=SERVED):
        return Case(f"dlsym: {name}", lambda side: side.run(argv, {**env, **(more or {})}), shows=shows, counts=counts)

    for how in ("CDLL path", "CDLL None", "PyDLL", "cffi"):
        yield script(f"python, {how}", [PYTHON, "-B", here / "ffi.py", how]), how in ("CDLL path", "cffi")
        if how != "PyDLL":
            yield script(f"pypy, {how}", [PYPY, "-B", here / "ffi.py", how]), how == "cffi"
    for how in ("load", "C"):
        yield script(f"luajit, ffi.{how}", ["luajit", here / "ffi.lua", how]), True
    yield script("ruby, fiddle", ["ruby", here / "ffi.rb"]), True
    yield script("php, FFI", ["php", "-d", "ffi.enable=1", here / "ffi.php"]), True
    yield script("sbcl, aliens", ["sbcl", "--script", here / "ffi.lisp"]), True
    yield script("java, JNA", ["java", "-cp", "/usr/share/java/jna.jar", here / "Ffi.java"],
                 {"HOME": world.folder}), False
    deno = world.target / "field/packages/deno/bin/deno"
    yield script("deno, dlopen", [deno, "run", "--quiet", "--no-config", "--allow-ffi", "--allow-env",
                                  here / "ffi.deno.js"],
                 {"DENO_DIR": world.folder / "deno", "DENO_NO_UPDATE_CHECK": "1"}), False
    yield script("python, ctypes, GnuTLS", [PYTHON, "-B", here / "ffi_gnutls.py"],
                 shows=(r"(?m)^good 0 0x0$", r"(?m)^certificates 15$"),
                 counts=("gnutls/lists", "gnutls/certificates-registered")), True


def clients(world):
    """Modules and programs that ask a server. Some are linked: they have to be as before."""
    here, env, ports = world.programs, world.env(), world.hosts.ports
    both = [ports["good"], ports["untrusted"]]
    for how in ("cffi", "ctypes"):
        yield Case(f"dlsym: oscrypto, {how}", lambda side,
                   how=how: side.run([PYTHON, "-B", here / "oscrypto_client.py", how, *both], env),
                   shows=(r"(?m)^good b'HTTP", r"(?m)^refused TLSVerificationError"),
                   counts=("openssl/certificates-registered", "openssl/lookups")), True
    for name, python in (("python", PYTHON), ("pypy", PYPY)):
        yield Case(f"dlsym: {name}, ssl beside cffi", lambda side, python=python: side.run(
            [python, "-B", here / "ssl_client.py", world.pki.few, *both], env),
            shows=(r"(?m)^before good b'HTTP", r"(?m)^after good b'HTTP", r"(?m)^after refused 20"),
            counts=("openssl/certificates-registered", "openssl/lookups")), True
    # Linked, by modules that are opened.
    yield Case("dlsym: perl, Net::SSLeay", lambda side: side.run(["perl", here / "netssleay.pl"], env),
               shows=SCRIPT[:2], counts=("openssl/certificates-registered", "openssl/lookups")), True
    yield Case("dlsym: tcl, tls", lambda side: side.run(["tclsh", here / "tls.tcl", world.pki.few, *both], env),
               shows=(r"(?m)^HTTP/1.1 200", r"(?m)^refused: "),
               counts=("openssl/certificates-registered", "openssl/lookups")), True
    # Its NIF is linked against libcrypto, and makes no store: Erlang verifies by itself.
    asking = ERLANG.format(cafile=world.pki.few, good=ports["good"], untrusted=ports["untrusted"])
    yield Case("dlsym: erlang, ssl", lambda side: side.run(
        ["erl", "-noshell", "-boot", "start_clean", "-eval", asking],
        {**env, "HOME": world.folder}), shows=(r"(?m)^good$", r"(?m)^refused"), served=None), False


ERLANG = """
ssl:start(),
Try = fun(Port) ->
    case ssl:connect("localhost", Port, [{{cacertfile, "{cafile}"}}, {{verify, verify_peer}}, {{log_level, none}}]) of
        {{ok, Socket}} -> ssl:close(Socket), io:format("good~n");
        {{error, Reason}} -> {{tls_alert, {{Alert, _}}}} = Reason, io:format("refused ~p~n", [Alert])
    end
end,
Try({good}), Try({untrusted}), halt().
"""


# Cases run at once, and share a store.
FILLING = threading.Lock()


def dotnet(world):
    """Real .NET: its shim finds all of libssl by dlsym, in its constructor, where nobody has looked at it yet. So its
    own stores are not seen, but what libssl does for it is. It reads certificate files by itself."""
    for version in ("3.1", "2.1"):
        def run(side, *arguments, version=version):
            home = world.folder / f"dotnet-{version}"
            runtime = world.target / f"field/packages/dotnet-{version}/dotnetcore2/bin"
            env = {**world.env(), "HOME": home, "COMPlus_EnableDiagnostics": "0", "SSL_CERT_DIR": "/nonexistent",
                   "LD_LIBRARY_PATH": world.builder.library("openssl", "1.1.1w").files[0].parent}
            with FILLING:
                program = assembly(world, version, runtime)
                if not home.exists():
                    home.mkdir()
                    dotnet_run(runtime, program, ["fill", "/etc/ssl/certs/ca-certificates.crt"], env)
            return side.run(command(runtime, program, arguments), env)

        pki, ports = world.pki, world.hosts.ports
        for name, leaf, shows in (("good", "good.crt", r"True: ;.* < CN=Windlass Test Root"),
                                  ("untrusted", "untrusted.crt", r"False: PartialChain")):
            yield Case(f"dlsym: .NET {version}, X509Chain.Build over a directory store, {name}", lambda side, leaf=leaf,
                       run=run: run(
                side, "build", pki.path(leaf), pki.path("intermediate.crt"), "-"), shows=(shows,),
                       served=None), version == "3.1"
        yield Case(f"dlsym: .NET {version}, SslStream", lambda side, run=run: run(
            side, "tls", "localhost", ports["good"], ports["untrusted"]),
                   shows=(r"(?m)^seen: None, 3 elements\ngood", r"(?m)^refused: "),
            served=None, counts=("openssl/stores",)), version == "3.1"


def command(runtime, program, arguments):
    return [runtime / "dotnet", "exec", "--runtimeconfig", program.with_suffix(".runtimeconfig.json"), program,
            *arguments]


def dotnet_run(runtime, program, arguments, env):
    subprocess.run(list(map(os.fspath, command(runtime, program, arguments))), env=environment(env), check=True,
                   stdout=subprocess.DEVNULL)


def assembly(world, version, runtime):
    """The program, compiled against that runtime."""
    libraries = next(runtime.glob("shared/Microsoft.NETCore.App/*"))
    names = ("System.Private.CoreLib", "System.Private.Uri", "System.Runtime", "System.Runtime.Extensions",
             "System.Console", "System.Net.Security", "System.Net.Sockets", "System.Net.Primitives",
             "System.Security.Cryptography.X509Certificates",
             "System.Security.Cryptography.Primitives", "System.Collections", "System.IO.FileSystem",
             "System.Collections.NonGeneric", "System.Security.Principal")
    out = world.builder.managed(f"chain-{version}.dll", "chain.cs", [f"-r:{libraries}/{name}.dll" for name in names])
    settings = out.with_suffix(".runtimeconfig.json")
    text = (world.programs / "runtimeconfig.json").read_text().replace("VERSION", f"{version}.0")
    # Another case may be reading it.
    if not settings.exists() or settings.read_text() != text:
        settings.write_text(text)
    return out
