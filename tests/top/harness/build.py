"""The programs; those that must be compiled, when a case asks for them."""

import os
import subprocess

HERE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "programs")


class Programs(dict):
    """Paths by name."""

    def __init__(self, folder):
        super().__init__({name: os.path.join(HERE, name) for name in os.listdir(HERE)})
        self.folder = folder

    def __missing__(self, name):
        makers = {"dynamic": lambda: self.compiled("loads", "-lcrypto"),
                  "static": lambda: self.compiled("loads", "-static", "-lcrypto", "-ldl", "-lpthread"),
                  "short": lambda: self.compiled("short", "-lcrypto"),
                  "containers": lambda: self.compiled("containers", "-static"), "go": self.go}
        self[name] = makers[name]()
        return self[name]

    def compiled(self, name, *libraries):
        path = os.path.join(self.folder, f"{name}-static" if "-static" in libraries else f"{name}-dynamic")
        # glibc says that a static program can't resolve names without its shared objects; this one resolves none.
        command = ["gcc", "-O1", "-Wall", "-o", path, os.path.join(HERE, f"{name}.c"), *libraries]
        subprocess.run(command, check=True, stderr=subprocess.PIPE)
        return path

    def go(self):
        path = os.path.join(self.folder, "loads-go")
        go = next(path for path in ("/usr/local/go/bin/go", "/usr/bin/go") if os.path.exists(path))
        own = {"GOCACHE": f"{self.folder}/go-cache", "GOPATH": f"{self.folder}/go", "GO111MODULE": "off",
               "CGO_ENABLED": "0"}
        subprocess.run([go, "build", "-o", path, os.path.join(HERE, "loads.go")], env={**os.environ, **own}, check=True)
        return path
