"""What each consumer does. A case gives what is compared between the two sides, and asserts what must be so on both."""

import os
import re
import socket
import subprocess
import time


class Cases:
    def __init__(self, pki, programs):
        self.pki, self.programs = pki, programs

    def all(self):
        for name in sorted(name for name in dir(self) if name.startswith("case_")):
            yield name.removeprefix("case_").replace("_", " "), getattr(self, name)

    # p11tool

    def case_p11tool_lists(self, side):
        listed = side.run(self.pki.bundles["trusted"], "p11tool", "--list-all-trusted", "pkcs11:")
        assert "Windlass Test CA" in listed
        return objects(listed)

    def case_p11tool_lists_distrust(self, side):
        listed = side.run(self.pki.bundles["distrusted"], "p11tool", "--list-all-certs", "pkcs11:")
        assert "CKA_X_DISTRUSTED" in listed
        return objects(listed)

    def case_p11tool_exports_with_stapled_purposes(self, side):
        url = "pkcs11:object=Windlass%20Test%20CA;type=cert"
        return side.run(self.pki.bundles["limited"], "p11tool", "--export-stapled", url)

    # p11-kit's own command

    def case_trust_list(self, side):
        listed = side.run(self.pki.bundles["distrusted"], "trust", "list")
        assert "trust: distrusted" in listed
        return sorted(listed.split("\n\n"))

    def case_trust_extract(self, side):
        folder = os.path.join(self.pki.folder, "extract-" + side.name)
        os.makedirs(folder, exist_ok=True)
        out = os.path.join(folder, "bundle.pem")
        options = ["--format=pem-bundle", "--filter=ca-anchors", "--purpose=server-auth", "--overwrite"]
        found = {}
        for bundle in ("trusted", "limited", "distrusted"):
            side.run(self.pki.bundles[bundle], "trust", "extract", *options, out)
            with open(out, encoding="utf-8") as file:
                found[bundle] = sorted(re.findall("-----BEGIN.*?END CERTIFICATE-----", file.read(), re.DOTALL))
        assert len(found["trusted"]) == len(found["limited"]) + 1 == len(found["distrusted"]) + 1
        return found

    # OpenSC

    def case_pkcs11_tool_lists(self, side):
        listed = side.run(self.pki.bundles["trusted"], "pkcs11-tool", "--module", side.module, "--list-objects",
                          "--type", "cert")
        assert "Windlass Test CA" in listed
        return sorted(re.sub("uri: *pkcs11:.*?;(id|object)=", r"\1=", part)
                      for part in listed.split("Certificate Object;"))

    # GnuTLS

    def case_gnutls_verifies(self, side):
        program = self.programs["verify"]
        verdicts = {}
        for name, bundle in self.pki.bundles.items():
            lines = side.run(bundle, program, "pkcs11:", self.pki.chain).splitlines()
            verdicts[name] = lines
            assert ("is trusted" in lines[-1]) == (name in ("trusted", "allowed")), (name, lines)
        return verdicts

    def case_gnutls_looks_once_a_session(self, side):
        command = ["strace", "-f", "-o", "/dev/stdout", "-e",
                   "trace=openat,newfstatat,stat,faccessat,faccessat2,access"]
        text = side.run(self.pki.bundles["trusted"], *command, self.programs["verify"], "pkcs11:", self.pki.chain)
        calls = [line for line in text.splitlines() if '"/etc/ssl/certs/ca-certificates.crt"' in line]
        opened = sum("openat(" in line for line in calls)
        asked = sum("access" in line for line in calls)
        looked = sum("stat(" in line or "newfstatat(" in line for line in calls)
        if side.name == "windlass":
            # The first session reads it: by itself, and through the cache, each with looks before and after.
            assert opened <= 2 and asked >= 8 and looked - asked <= 8, (opened, asked, looked)

    def case_gnutls_under_valgrind(self, side):
        command = ["valgrind", "--quiet", "--error-exitcode=9", "--leak-check=full", "--errors-for-leak-kinds=definite"]
        command += ["--log-fd=1", self.programs["verify"], "pkcs11:", self.pki.chain]
        if side.name == "windlass":
            text = side.run(self.pki.bundles["distrusted"], *command)
            assert "NOT trusted" in text, text

    def case_gnutls_cli_connects(self, side):
        seen = {}
        with Server(self.pki) as port:
            for name in ("trusted", "absent", "distrusted"):
                command = ["gnutls-cli", "--x509cafile", "pkcs11:", "--port", str(port), "localhost"]
                text = side.run(self.pki.bundles[name], *command, fails=name != "trusted")
                seen[name] = [line for line in text.splitlines() if line.startswith(("Processed", "- Status"))]
                assert any("is trusted" in line for line in seen[name]) == (name == "trusted"), (name, text)
        return seen

    # NSS

    def case_certutil_lists(self, side):
        database = self.database(side)
        listed = {}
        for name in ("trusted", "limited", "distrusted"):
            text = side.run(self.pki.bundles[name], "certutil", "-L", "-d", database, "-h", "all")
            listed[name] = sorted(line for line in text.splitlines() if line.strip())
        flags = {name: line.split()[-1] for name, lines in listed.items()
                 for line in lines if "Windlass Test CA" in line}
        assert flags == {"trusted": "CT,C,C", "limited": ",C,", "distrusted": "p,p,p"}, flags
        return listed

    def case_vfychain_verifies(self, side):
        database = self.database(side)
        verdicts = {}
        for name, bundle in self.pki.bundles.items():
            command = ["vfychain", "-d", database, "-u", "1", "-a", self.pki.chain]
            text = side.run(bundle, *command, fails=name not in ("trusted", "allowed"))
            verdicts[name] = text.splitlines()
        return verdicts

    # Java

    def case_keytool_lists(self, side):
        configuration = self.java_configuration(side)
        command = ["keytool", "-list", "-keystore", "NONE", "-storetype", "PKCS11", "-storepass", "", "-addprovider",
                   "SunPKCS11"]
        text = side.run(self.pki.bundles["trusted"], *command, "-providerarg", configuration)
        assert "Windlass Test CA" in text
        return sorted(re.findall(r"^(.*), trustedCertEntry, *\n.*: (.*)$", text, re.MULTILINE))

    def case_java_connects(self, side):
        configuration = self.java_configuration(side)
        seen = {}
        with Server(self.pki) as port:
            for name in ("trusted", "absent"):
                command = ["java", "-cp", self.programs["java"], "Client", configuration, f"https://localhost:{port}/"]
                seen[name] = side.run(self.pki.bundles[name], *command).splitlines()
        assert seen["trusted"][-1] == "status 200" and seen["absent"][-1] == "refused", seen
        return seen

    def database(self, side):
        folder = os.path.join(self.pki.folder, "nss-" + side.name)
        if not os.path.isdir(folder):
            os.mkdir(folder)
            bundle = self.pki.bundles["trusted"]
            side.run(bundle, "certutil", "-N", "-d", "sql:" + folder, "--empty-password")
            side.run(bundle, "modutil", "-dbdir", "sql:" + folder, "-add", "roots", "-libfile", side.module, "-force")
        return "sql:" + folder

    def java_configuration(self, side):
        path = os.path.join(self.pki.folder, f"java-{side.name}.cfg")
        with open(path, "w", encoding="ascii") as file:
            file.write(f"name = Trust\nlibrary = {side.module}\n")
        return path


class Server:
    """An HTTPS server with the chain, on the loopback interface; gone at the end."""

    def __init__(self, pki):
        self.pki = pki

    def __enter__(self):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        command = ["openssl", "s_server", "-www", "-quiet", "-accept", f"127.0.0.1:{port}"]
        files = ["-cert", self.pki.chain, "-key", self.pki.key]
        self.process = subprocess.Popen([*command, *files], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        for _ in range(600):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    return port
            assert self.process.poll() is None, "the server ended"
            time.sleep(0.05)
        raise AssertionError("the server does not answer")

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


def objects(listed):
    """The objects of p11tool's list without their numbers and the names of token and module."""
    parts = re.split(r"Object \d+:\n", listed)[1:]
    return sorted(re.sub(r"URL: pkcs11:.*?;(id|object)=", r"URL: \1=", part) for part in parts)
