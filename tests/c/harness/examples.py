"""The examples, which others copy: what they say of each kind of server, and that they look at what each call returns.

The code of docs/c.md is compiled as well.
"""

import http.server
import re
import subprocess

import builds
import pki
from context import EXAMPLES, ROOT, STRICT, Server, system_headers

# What they may ignore the result of: output, and functions whose result says nothing that the program does not know.
UNCHECKED = {"printf", "fprintf", "fputs", "puts", "putchar", "fwrite", "fputc",
             "windlass_store_retain", "ERR_print_errors_fp"}
# What a block of docs/c.md has from those above it.
GIVEN = (("windlass_error ", "error", " = {0}"), ("windlass_store *", "store", " = NULL"))
# A host without an address, and a port on which nobody listens.
NOBODY = (("nobody.invalid", 443), ("localhost", 1))


def curl(context):
    program = context.compile(EXAMPLES / "attach_curl.c", packages=("libcurl",))
    url = f"https://localhost:{context.hosts['good'].port}/"
    said = context.run(program, url, context.pki.bundle)
    assert said.startswith("hello\n" * 3 + "attach: attached\n") and "counter served/" in said, said
    for host in ("untrusted", "wrong"):
        said = context.run(program, f"https://localhost:{context.hosts[host].port}/", context.pki.bundle, status=60)
        assert "hello" not in said and "attach: attached" in said, said
    for (host, port), status in zip(NOBODY, (6, 7)):
        said = context.run(program, f"https://{host}:{port}/", context.pki.bundle, status=status)
        assert "hello" not in said and "attach: attached" in said, said
    context.run(program, url, "/nonexistent.pem", status=77)
    said = context.run(program, url, context.pki.bundle, WINDLASS_DISABLE=1)
    assert said.startswith("hello\n" * 3 + "attach: disabled\n") and "counter" not in said, said


def static_openssl(context):
    program = context.compile(EXAMPLES / "static_openssl.c", "-l:libssl.a", "-l:libcrypto.a", "-ldl", "-pthread")
    loaded = subprocess.run(["ldd", program], check=True, stdout=subprocess.PIPE, text=True).stdout
    assert "libssl" not in loaded and "libcrypto" not in loaded, loaded
    port = context.hosts["good"].port
    said = context.run(program, "localhost", port, context.pki.bundle)
    assert said == "localhost: connected and verified\n" * 3, said
    for host, why in (("wrong", "hostname mismatch"), ("untrusted", "unable to get local issuer certificate")):
        said = context.run(program, "localhost", context.hosts[host].port, context.pki.bundle, status=1)
        assert said == f"localhost: refused: {why}\n", said
    for host, port_of_nobody in NOBODY:
        said = context.run(program, host, port_of_nobody, context.pki.bundle, status=1)
        assert said.startswith(f"{host}: not connected\n") and "error:" in said and "verified" not in said, said
    # SSL_set1_host takes no name for "any name will do".
    said = context.run(program, "", port, context.pki.bundle, status=2)
    assert said.startswith("usage: ") and "verified" not in said, said
    said = context.run(program, "localhost", port, "/nonexistent.pem", status=2)
    assert said == "/nonexistent.pem does not exist\n", said
    # The machine's bundle does not have our root.
    said = context.run(program, "localhost", port, status=1)
    assert "unable to get" in said, said


def mbedtls(context):
    """With Debian's build, which lacks the callback, and with one that has it."""
    exported = subprocess.run("nm -D /usr/lib/*/libmbedtls.so | grep -c mbedtls_ssl_conf_ca_cb", shell=True,
                              stdout=subprocess.PIPE, text=True).stdout.strip()
    own = builds.TARGET / "mbedtls"
    programs = [context.compile(EXAMPLES / "mbedtls_client.c", "-lmbedtls", "-lmbedx509", "-lmbedcrypto"),
                context.compile(EXAMPLES / "mbedtls_client.c", "-isystem", own / "include",
                                own / "lib/libmbedtls-all.a", name="mbedtls_with_callback")]
    ports = {host: context.hosts[host].port for host in ("good", "wrong", "untrusted")}
    # A certificate for clients is refused as a server's.
    ports["client only"] = client_only(context).port
    refused = {"wrong": "does not match", "untrusted": "not correctly signed by the trusted CA",
               "client only": "extendedKeyUsage"}
    for program in programs:
        for host, port in ports.items():
            good = host == "good"
            said = context.run(program, "localhost", port, context.pki.bundle, status=0 if good else 1)
            assert (said == "localhost: connected and verified\n") == good, (program, host, said)
            assert good or said.startswith("localhost: refused: ") and refused[host] in said, (program, host, said)
        for host, port in NOBODY:
            said = context.run(program, host, port, context.pki.bundle, status=1)
            assert said.startswith(f"{host}: not connected: ") and "verified" not in said, (program, said)
        said = context.run(program, "", ports["good"], context.pki.bundle, status=2)
        assert said.startswith("usage: "), said
        said = context.run(program, "localhost", ports["good"], "/nonexistent.pem", status=2)
        assert said == "/nonexistent.pem does not exist\n", said
    assert exported == "0", "Debian's mbedTLS has the callback now"
    return "Debian's has no trusted-certificate callback"


def client_only(context):
    """A server whose certificate is of the trusted CA and has the right name, for clients only."""
    key, made = context.pki.path("good.key"), context.pki.path("client-only.crt")
    extensions = context.pki.path("client-only.ext")
    extensions.write_text("basicConstraints=critical,CA:FALSE\nextendedKeyUsage=clientAuth\n"
                          "subjectAltName=DNS:localhost\n")
    pki.openssl("x509", "-req", "-in", context.pki.path("good.csr"), "-CA", context.pki.path("intermediate.crt"),
                "-CAkey", context.pki.path("intermediate.key"), "-CAcreateserial", "-days", "30", "-sha256",
                "-extfile", extensions, "-out", made)
    chain = context.pki.path("client-only.pem")
    chain.write_bytes(made.read_bytes() + context.pki.path("intermediate.crt").read_bytes())
    return Server(chain, key)


def checked(context):
    """gcc warns where the result of a function is not looked at, whichever it is."""
    folder = context.fresh("checked")
    sources = [*sorted(EXAMPLES.glob("*.c")), guide(folder)]
    for source in sources:
        unchecked(context, source, folder, must=True)
    # This is noticed if it is missing.
    text = (EXAMPLES / "static_openssl.c").read_text()
    line = next(line for line in text.splitlines() if "SSL_set1_host(" in line)
    broken = folder / "broken.c"
    broken.write_text(text.replace("int main(", "void broken(SSL *ssl);\nvoid broken(SSL *ssl)\n{\n"
                                   "    SSL_set1_host(ssl, \"localhost\");\n}\n\nint main("))
    assert "SSL_set1_host" in unchecked(context, broken, folder), line
    return f"{len(sources)} files"


def unchecked(context, source, folder, must=False):
    """What gcc says of a file in which every function's result has to be looked at."""
    flags = ["-std=c11", "-D_GNU_SOURCE", *STRICT, "-Wno-attributes", "-DCURL_DISABLE_TYPECHECK",
             *system_headers("system"), *context.flags("libcurl")[:-1], "-c", source]
    plain = folder / "plain.o"
    subprocess.run(["gcc", *flags, "-o", plain], check=True)
    called = {line.split()[-1] for line in context.run("nm", "-u", plain).splitlines()}
    header = (context.prefix / "include/windlass_openssl.h").read_text()
    text = source.read_text()
    called |= {name for name in re.findall(r"static inline int (windlass\w+[a-z])\(", header) if name in text}
    # After the last #include, which declares them. In one line, so that gcc's places are those of the file.
    *_, last = re.finditer(r"^#include .*$", text, re.M)
    names = sorted(name for name in called - UNCHECKED if not name.startswith("_"))
    again = " ".join(f"__typeof__({name}) {name} __attribute__((warn_unused_result));" for name in names)
    copy = folder / f"checked-{source.name}"
    copy.write_text(f"{text[:last.end()]}\n{again}\n{text[last.end():]}")
    flags[-1] = copy
    said = subprocess.run(["gcc", *flags, "-o", "/dev/null"], stderr=subprocess.PIPE, text=True, check=False)
    assert not must or said.returncode == 0, said.stderr
    return said.stderr


def guide(folder):
    """The code of docs/c.md as a program: each block is a function, in which what the text speaks of is declared."""
    blocks = re.findall(r"^```c\n(.*?)^```$", (ROOT / "docs/c.md").read_text(encoding="utf-8"), re.M | re.S)
    assert len(blocks) == 3, len(blocks)
    functions = []
    for number, block in enumerate(blocks):
        lines = [line for line in block.splitlines() if not line.startswith("#include")]
        own = "".join(f"    {kind}{name}{value};\n" for kind, name, value in GIVEN
                      if kind + name not in block)
        functions.append(f"int block{number}(ARGUMENTS);\nint block{number}(ARGUMENTS)\n{{\n{own}"
                         + "\n".join(f"    {line}" for line in lines) + "\n    USED;\n    return 0;\n}\n")
    source = folder / "guide.c"
    source.write_text(
        "#include <openssl/ssl.h>\n#include <stdio.h>\n#include <windlass_openssl.h>\n"
        "#define ARGUMENTS const unsigned char *issuer, size_t issuer_length, const char *host\n"
        "#define USED (void)issuer, (void)issuer_length, (void)host, (void)store, (void)error\n"
        "static int fail(const char *text) { fprintf(stderr, \"%s\\n\", text); return 1; }\n"
        "static int add(const unsigned char *der, size_t length) { return der && length; }\n\n"
        + "\n".join(functions) + "\nint main(void) { return 0; }\n")
    return source
