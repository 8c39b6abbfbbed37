"""What the flag must not do, what it refuses, and what it says."""

import functools
import json
import os
import re

PYTHON, CURL = "/usr/bin/python3", "/usr/bin/curl"


def cases(world):
    for function in (pinned, replaced_by_variable, present_variables, outer_and_inner, example, switched_off, refused,
                     warned, report, report_json, own_java_store):
        yield function.__doc__, functools.partial(function, world)


def pinned(world):
    """a program that names a bundle of its own does not get it"""
    pki, url, port = world.pki, world.hosts.url("good"), world.hosts.ports["good"]
    own, client = pki.path("other.crt"), world.other_programs / "client.py"
    commands = {
        "curl --cacert": [CURL, "-sS", "--cacert", own, "--capath", "/nowhere", url],
        "python cafile": [PYTHON, client, "urllib", url, "cafile", own],
        "requests verify": [PYTHON, client, "requests", url, "cafile", own],
        "ruby ca_file": ["ruby", world.other_programs / "client.rb", "get", url, "ca_file", own],
        "php cafile": ["php", world.other_programs / "client.php", "get", url, "cafile", own],
        "gnutls-cli --x509cafile": ["gnutls-cli", "--x509cafile", own, "--port", port, "localhost"],
        "wget --ca-certificate": ["wget", "-nv", "-t", "1", "-O", "-", "--ca-directory", "/nowhere", "--ca-certificate",
                                  own, url],
        "libcurl-gnutls capath": [world.built["curl_gnutls.c"], url, 1, "capath", pki.path("others")],
    }
    pki.path("others").mkdir(exist_ok=True)
    (pki.path("others") / "other.pem").write_bytes(own.read_bytes())
    for name, command in commands.items():
        status, output = world.run(command, add=[pki.path("root.crt")])
        assert status != 0, f"{name}: status {status}\n{output}"


def replaced_by_variable(world):
    """inside, SSL_CERT_FILE and SSL_CERT_DIR together name other trust, one of them alone does not"""
    pki, url = world.pki, world.hosts.url("good")
    ruby = ["ruby", world.other_programs / "client.rb", "get", url]
    other, nowhere = f"SSL_CERT_FILE={pki.path('other.crt')}", "SSL_CERT_DIR=/nowhere"
    for settings, expected in (([other, nowhere], False), ([other], True), ([nowhere], True),
                               (["SSL_CERT_FILE=/dev/null"], True), (["-u", "SSL_CERT_FILE"], True)):
        status, output = world.run(["env", *settings, *ruby], add=[pki.path("root.crt")])
        assert (status == 0) == expected, f"{settings}: status {status}\n{output}"


def present_variables(world):
    """what a variable names already stays trusted, and one that can't be read is left as it is"""
    pki, url = world.pki, world.hosts.url
    env = {"SSL_CERT_FILE": pki.path("other.crt"), "CURL_CA_BUNDLE": pki.path("other.crt"),
           "REQUESTS_CA_BUNDLE": "/no/such/file"}
    for host in ("good", "untrusted"):
        for command in ([CURL, "-sS", url(host)], ["ruby", world.other_programs / "client.rb", "get", url(host)]):
            status, output = world.run(command, env, [pki.path("root.crt")])
            assert status == 0 and f"hello from {host}" in output, output
    show = ["sh", "-c", "echo $REQUESTS_CA_BUNDLE $AWS_CA_BUNDLE; echo ${HTTPLIB2_CA_CERTS-unset}"]
    status, output = world.run(show, env, [pki.path("root.crt")], ["--stats"])
    assert re.match(r"/no/such/file /\S+/bundle-?\d*\.pem\nunset\n", output), output
    assert "REQUESTS_CA_BUNDLE was left unchanged: it names /no/such/file: No such file" in output, output


def outer_and_inner(world):
    """below another run --add-ca, both are trusted; a plain run below it changes nothing"""
    pki = world.pki
    for host, inner, expected in (("good", ["--add-ca", pki.path("other.crt")], True),
                                  ("untrusted", ["--add-ca", pki.path("other.crt")], True),
                                  ("good", [], True), ("untrusted", [], False)):
        for program in ([CURL, "-sS"], ["wget", "-nv", "-t", "1", "-O", "-"]):
            command = [world.windlass, "run", *inner, "--", *program, world.hosts.url(host)]
            status, output = world.run(command, add=[pki.path("root.crt")])
            assert (status == 0) == expected, f"{host} {inner}: {status}\n{output}"
    show = ["sh", "-c", "grep -c BEGIN $WINDLASS_ADD_CA; openssl crl2pkcs7 -nocrl -certfile $SSL_CERT_FILE | openssl "
                        "pkcs7 -print_certs "
            "-noout | grep -c subject=.*Windlass; echo $JDK_JAVA_OPTIONS | wc -w"]
    command = [world.windlass, "run", "--add-ca", pki.path("other.crt"), "--add-ca", pki.path("root.crt"), "--", *show]
    _, output = world.run(command, add=[pki.path("root.crt")])
    # The machine's own one of the tests as well, and no certificate twice; one trust store for Java.
    assert output == "2\n3\n3\n", output


def example(world):
    """the example of the manual page does what it says"""
    _, page = world.run([world.windlass, "man", "run"])
    # roff: fonts, a hyphen that is to be one, and a line that is to be no request.
    page = re.sub(r"\\f[BIR]|\\&", "", page).replace("\\-", "-")
    examples = [line.strip() for line in page.splitlines() if line.strip().startswith("windlass run --add-ca")]
    assert examples, page
    place = world.pki.path("example")
    place.mkdir()
    (place / "test-ca.pem").write_bytes(world.pki.path("root.crt").read_bytes())
    (place / "Makefile").write_text(f"check:\n\t@curl -sS {world.hosts.url('good')}\n")
    for line in examples:
        status, output = world.run(["sh", "-c",
                                    f"cd {place} && PATH={os.path.dirname(world.windlass)}:$PATH && {line}"])
        assert status == 0 and "hello from good" in output, output


def switched_off(world):
    """with WINDLASS_DISABLE the variables still work, and the library does nothing"""
    url, env, added = world.hosts.url("good"), {"WINDLASS_DISABLE": "1"}, [world.pki.path("root.crt")]
    status, output = world.run(["ruby", world.other_programs / "client.rb", "get", url], env, added)
    assert status == 0, output
    status, output = world.run(["wget", "-nv", "-t", "1", "-O", "-", url], env, added)
    assert status != 0, output


def refused(world):
    """files that can't be meant are refused before the program runs"""
    pki = world.pki
    (pki.path("text.pem")).write_text("no certificate\n")
    (pki.path("damaged.pem")).write_text("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
    for file, why in (("/no/such/file", "No such file or directory"), (pki.path("text.pem"), "it holds no certificate"),
                      (pki.path("empty.pem"), "it holds no certificate"), (pki.folder, "Is a directory"),
                      (pki.path("root.key"), "it holds a private key, and no certificate"),
                      (pki.path("root.csr"), "it holds a request for a certificate"),
                      (pki.path("damaged.pem"), "a certificate in it is damaged"),
                      (pki.path("trusted-certificate.pem"), "it holds a TRUSTED CERTIFICATE")):
        status, output = world.run(["echo", "ran"], add=[file])
        expected = f"windlass: cannot use {file} for --add-ca: {why}"
        assert status == 125 and expected in output and "  help: " in output and "ran" not in output, output


def warned(world):
    """a certificate that is no CA's, or has expired, is warned of and used"""
    pki = world.pki
    for file, why in (("alone.crt", "not the certificate of a CA"), ("expired.crt", "it has expired"),
                      ("root.crt", None)):
        status, output = world.run(["echo", "ran"], add=[pki.path(file)])
        assert status == 0 and output.startswith("ran\n"), output
        assert ("warning" in output) == (why is not None) and (why is None or why in output), output


def report(world):
    """--stats says what was done"""
    command = ["sh", "-c", f"curl -sS {world.hosts.url('good')}; wget -q -O - {world.hosts.url('good')}"]
    status, output = world.run(command, add=[world.pki.path("root.crt")], options=["--stats"])
    assert status == 0 and "windlass: 1 certificate trusted for this run only\n  Windlass Test Root (" in output, output
    loads = int(re.search(r"\n  added to (\d+) loads of OpenSSL and GnuTLS\n", output)[1])
    # wget once; curl's file has them, and its directory is the machine's.
    assert loads >= 2, output
    assert "SSL_CERT_FILE" in output and "JDK_JAVA_OPTIONS" in output and "out of reach: " in output, output


def report_json(world):
    """--stats=json has the same, and nothing of it without the flag"""
    command = ["wget", "-q", "-O", "-", world.hosts.url("good")]
    _, output = world.run(command, add=[world.pki.path("root.crt")], options=["--stats=json"])
    added = json.loads(output.splitlines()[-1])["add_ca"]
    assert added["loads"] == 1 and added["left"] == {}, added
    assert added["certificates"][0]["subject"] == "CN=Windlass Test Root,O=Windlass Tests,C=XX", added
    assert added["variables"]["NODE_EXTRA_CA_CERTS"].endswith("/added.pem"), added
    _, output = world.run(command, options=["--stats=json"])
    assert "add_ca" not in json.loads(output.splitlines()[-1]), output


def own_java_store(world):
    """a trust store that somebody has named for Java is left as it is"""
    env = {"JAVA_TOOL_OPTIONS": "-Djavax.net.ssl.trustStore=/nowhere"}
    _, output = world.run(["sh", "-c", "echo [$JDK_JAVA_OPTIONS]"], env, [world.pki.path("root.crt")], ["--stats"])
    assert "[]\n" in output, output
    assert "JDK_JAVA_OPTIONS was left unchanged: JAVA_TOOL_OPTIONS names a trust store" in output, output
    _, output = world.run(["sh", "-c", "echo $JDK_JAVA_OPTIONS"], {"JDK_JAVA_OPTIONS": "-Xmx99m"},
                          [world.pki.path("root.crt")])
    assert "java.p12" in output and output.strip().endswith(" -Xmx99m"), output
