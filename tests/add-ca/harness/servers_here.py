"""One nginx with the three hosts, which also serves a repository of git's."""

import subprocess

from servers import NGINX, nginx_config, reserve_port, wait_for_port
from sides import die_with_parent, environment

NAMES = ("good", "untrusted", "normal")
SERVER = """  server {{
    listen 127.0.0.1:{port} ssl; ssl_certificate {chain}; ssl_certificate_key {key};
    ssl_protocols TLSv1.2 TLSv1.3; root {content};
    location = / {{ return 200 "hello from {name}\\n"; }}
  }}
"""


class Hosts:
    def __init__(self, pki, folder):
        content = folder / "content"
        content.mkdir(parents=True)
        repository(content, folder)
        self.ports = {name: reserve_port() for name in NAMES}
        servers = "".join(SERVER.format(port=self.ports[name], chain=pki.path(name + ".pem"), key=pki.path(name + ".key"),
                                        content=content, name=name) for name in NAMES)
        config = folder / "nginx.conf"
        config.write_text(nginx_config(folder, servers, log=folder / "error.log", workers=False))
        self.process = subprocess.Popen([NGINX, "-e", folder / "error.log", "-p", folder, "-c", config], env=environment(None),
                                        stdin=subprocess.DEVNULL, preexec_fn=die_with_parent)
        for port in self.ports.values():
            wait_for_port(port, self.process)

    def url(self, name):
        return f"https://localhost:{self.ports[name]}/"

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=60)


def repository(content, folder):
    env = environment({"HOME": folder, "GIT_CONFIG_NOSYSTEM": "1"})
    for command in (["init", "-q", "-b", "main", folder / "work"], ["-C", folder / "work", "commit", "-q", "--allow-empty", "-m", "x"],
                    ["clone", "-q", "--bare", folder / "work", content / "r.git"], ["-C", content / "r.git", "update-server-info"]):
        subprocess.run(["git", "-c", "user.name=T", "-c", "user.email=t@localhost", *map(str, command)], check=True, env=env,
                       timeout=60)
