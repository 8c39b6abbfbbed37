"""What a program sees of a load that got more than it asked for: nothing but what the store holds."""

import functools

import clients

BUNDLE, DIRECTORY = "/etc/ssl/certs/ca-certificates.crt", "/etc/ssl/certs"
# Without the variable, every one of these gets the certificate from the library.
WITHOUT_VARIABLE = ["env", "-u", "SSL_CERT_FILE"]


def cases(world):
    for function in (openssl_results, every_openssl, openssl_private, halves, errno_stays, gnutls_results, every_gnutls,
                     gnutls_directory, gnutls_private, unset):
        yield function.__doc__, functools.partial(function, world)


def openssl_results(world):
    """OpenSSL: results and error queue are those of the load alone, and each store holds one certificate more, once"""
    program = [world.built["returns.c"], BUNDLE, DIRECTORY]
    stock, found = both(world, program)
    compare(stock, found, more=1, but=("load-missing",))
    # The merged bundle has it already, the directory brings it again.
    _, output = world.run(program, add=[world.pki.path("root.crt")])
    compare(stock, lines(output), more=1, but=("load-missing",))


def every_openssl(world):
    """OpenSSL 1.1.1, 3.5 and 4.0, with and without -Bsymbolic: the same"""
    builds = sorted(path for path in (world.target / "openssl").glob("*") if (path / "lib").is_dir())
    assert len(builds) >= 6, "build them: make openssl"
    for build in builds:
        program = clients.one(world.target / "add-ca", f"returns-{build.name}.c", world.programs / "returns.c",
                              lambda source, out, build=build: [
            "cc", "-Wall", "-Wextra", "-Werror", "-Wno-deprecated-declarations", f"-I{build}/include", "-o", out,
            source, f"-L{build}/lib", f"-Wl,-rpath,{build}/lib", "-lssl", "-lcrypto"])
        stock, found = both(world, [program, BUNDLE, DIRECTORY])
        if build.name.startswith("1.1.1"):
            # It clears the queue whenever it loads a file: see docs/add-ca.md.
            for name in ("load-path", "lookup-directory", "lookup-default-directory"):
                assert found[name] == f"{name} 1 errors", found[name]
                found[name] = stock[name]
        # These builds have no default file.
        compare(stock, found, more=1, but=("load-missing", "lookup-default"))


def openssl_private(world):
    """OpenSSL: private sources get nothing"""
    stock, found = both(world, [world.built["returns.c"], world.pki.path("other.crt"), world.pki.capath])
    for name, line in found.items():
        assert line == stock[name] or "default" in name or "own-context" in name, (line, stock[name])


def halves(world):
    """OpenSSL: the default file alone and the default directory alone, each goes by its own variable"""
    other = world.pki.path("other.crt")
    program = [world.built["returns.c"], other, "/nowhere"]
    for settings, name, more in (((f"SSL_CERT_FILE={other}",), "lookup-default", 0),
                                 ((f"SSL_CERT_FILE={BUNDLE}",), "lookup-default", 1),
                                 ((f"SSL_CERT_FILE={other}",), "lookup-default-directory", 1),
                                 (("SSL_CERT_DIR=/nowhere",), "lookup-default-directory", 0),
                                 ((f"SSL_CERT_DIR={DIRECTORY}",), "lookup-default-directory", 1),
                                 ((f"SSL_CERT_FILE={other}", f"SSL_CERT_DIR={DIRECTORY}"), "default-paths", 1),
                                 ((f"SSL_CERT_FILE={other}", "SSL_CERT_DIR=/nowhere"), "default-paths", 0)):
        changed = ["env", *settings, *program]
        stock = lines(world.run(changed)[1])
        found = lines(world.run([*WITHOUT_VARIABLE, *changed], add=[world.pki.path("root.crt")])[1])
        counts = [int(side[f"holds {name}"].split()[-1]) for side in (stock, found)]
        assert counts[1] == counts[0] + more, (settings, name, counts)


def errno_stays(world):
    """OpenSSL: errno is that of the load alone, also where the file is out of reach"""
    program = [world.built["returns.c"], BUNDLE, DIRECTORY, "errno"]
    plain = [world.windlass, "run", "--", *program]
    expected, found = (lines(world.run(["env", *setting, *plain])[1])
                       for setting in ((), ("WINDLASS_ADD_CA=/nowhere/added.pem",)))
    assert sum(name.startswith("errno-") for name in expected) > 5 and found == expected, (expected, found)


def gnutls_results(world):
    """GnuTLS: the count is larger by one, and so is the list"""
    one_more(*both(world, [world.built["gnutls_returns.c"], BUNDLE, DIRECTORY]))


def every_gnutls(world):
    """GnuTLS 3.8, with and without -Bsymbolic-functions: the same"""
    for name in ("3.8", "3.8-bsymbolic-functions"):
        build = world.target / "gnutls" / name
        assert (build / "lib").is_dir(), "build it: make gnutls"
        program = clients.one(world.target / "add-ca", f"gnutls-returns-{name}.c", world.programs / "gnutls_returns.c",
                              lambda source, out, build=build: [
                                  "cc", "-Wall", "-Wextra", "-Werror", f"-I{build}/include", "-o", out, source,
                                  f"-L{build}/lib", f"-Wl,-rpath,{build}/lib", "-lgnutls"])
        one_more(*both(world, [program, BUNDLE, DIRECTORY]))


def gnutls_directory(world):
    """GnuTLS: a directory of the machine's that holds no bundle gets it as well"""
    folder = world.pki.path("hashes-only")
    folder.mkdir()
    (folder / "one.pem").write_bytes(world.pki.path("machine.crt").read_bytes())
    enter = ["unshare", "--mount", "--propagation", "private", "sh", "-c",
             'mount --bind "$1" /etc/ssl/certs && shift && exec "$@"', "sh",
             folder]
    stock, found = both(world, [*enter, world.built["gnutls_returns.c"], world.pki.path("other.crt"), DIRECTORY])
    assert stock["trust-dir"] == "trust-dir 1" and found["trust-dir"] == "trust-dir 2", (stock, found)


def one_more(stock, found):
    assert set(stock) == set(found)
    for name, line in found.items():
        more = 0 if name.endswith("missing") else 1
        assert int(line.split()[-1]) == int(stock[name].split()[-1]) + more, (line, stock[name])


def gnutls_private(world):
    """GnuTLS: private sources get nothing"""
    stock, found = both(world, [world.built["gnutls_returns.c"], world.pki.path("other.crt"), world.pki.capath])
    for name in ("trust-file", "holds trust-file", "trust-dir", "holds trust-dir"):
        assert found[name] == stock[name], (found[name], stock[name])


def unset(world):
    """without the flag nothing changes"""
    for program in ("returns.c", "gnutls_returns.c"):
        command = [world.built[program], BUNDLE, DIRECTORY]
        assert world.run(command) == world.run(["env", "-u", "WINDLASS_ADD_CA", world.windlass, "run", "--", *command])


def both(world, program):
    _, stock = world.run(program)
    status, found = world.run([*WITHOUT_VARIABLE, *program], add=[world.pki.path("root.crt")])
    assert status == 0, found
    return lines(stock), lines(found)


def lines(output):
    """By the words that name them."""
    found = {}
    for line in output.splitlines():
        words = line.split()
        found[" ".join(words[:2]) if words[0] == "holds" else words[0]] = line
    assert len(found) > 5, output
    return found


def compare(stock, found, more, but):
    assert set(stock) == set(found)
    for name, line in found.items():
        if name.startswith("holds") and name.split()[1] not in but:
            assert int(line.split()[-1]) == int(stock[name].split()[-1]) + more, (line, stock[name])
        else:
            assert line == stock[name], (line, stock[name])
