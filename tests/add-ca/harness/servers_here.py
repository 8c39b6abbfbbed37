"""One nginx with the three hosts, which also serves what package managers, AWS' and gRPC's clients ask for."""

import subprocess

from servers import NGINX, nginx_config, reserve_port, wait_for_port
from sides import die_with_parent, environment

NAMES = ("good", "untrusted", "normal")
# gRPC speaks HTTP/2 only; the others keep what they have without it.
SERVER = """  server {{
    listen 127.0.0.1:{port} ssl; listen 127.0.0.1:{http2_port} ssl http2;
    ssl_certificate {chain}; ssl_certificate_key {key};
    ssl_protocols TLSv1.2 TLSv1.3; root {content};
    location = / {{ return 200 "hello from {name}\\n"; }}
    # An index of pip's with one package (PEP 503).
    location = /simple/{name}/ {{
      default_type text/html;
      return 200 '<a href="{name}-1.0.tar.gz">{name}-1.0.tar.gz</a>';
    }}
    # A sparse registry of Cargo's, and its search.
    location = /config.json {{
      return 200 '{{"dl": "https://localhost:{port}/dl", "api": "https://localhost:{port}"}}';
    }}
    location = /api/v1/crates {{
      return 200 '{{"crates": [{{"name": "{name}", "max_version": "1.0.0", "description": "hello from {name}"}}],
                    "meta": {{"total": 1}}}}';
    }}
    # The list of S3's buckets.
    location = /s3/ {{
      default_type application/xml;
      return 200 '<ListAllMyBucketsResult><Buckets>
                    <Bucket><Name>hello from {name}</Name></Bucket>
                  </Buckets></ListAllMyBucketsResult>';
    }}
    # A method that says that it is not there: an answer of gRPC's without a body.
    location = /windlass.Test/Hello {{
      default_type application/grpc; add_header grpc-status 12; add_header grpc-message "hello from {name}"; return 200;
    }}
  }}
"""


class Hosts:
    def __init__(self, pki, folder):
        content = folder / "content"
        content.mkdir(parents=True)
        repository(content, folder)
        self.ports = {name: reserve_port() for name in NAMES}
        self.http2_ports = {name: reserve_port() for name in NAMES}
        servers = "".join(SERVER.format(port=self.ports[name], http2_port=self.http2_ports[name],
                                        chain=pki.path(name + ".pem"), key=pki.path(name + ".key"), content=content,
                                        name=name) for name in NAMES)
        config = folder / "nginx.conf"
        config.write_text(nginx_config(folder, servers, log=folder / "error.log", workers=False))
        self.process = subprocess.Popen([NGINX, "-e", folder / "error.log", "-p", folder, "-c", config],
                                        env=environment(None), stdin=subprocess.DEVNULL, preexec_fn=die_with_parent)
        for port in [*self.ports.values(), *self.http2_ports.values()]:
            wait_for_port(port, self.process)

    def url(self, name):
        return f"https://localhost:{self.ports[name]}/"

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=60)


def repository(content, folder):
    env = environment({"HOME": folder, "GIT_CONFIG_NOSYSTEM": "1"})
    for command in (["init", "-q", "-b", "main", folder / "work"],
                    ["-C", folder / "work", "commit", "-q", "--allow-empty", "-m", "x"],
                    ["clone", "-q", "--bare", folder / "work", content / "r.git"],
                    ["-C", content / "r.git", "update-server-info"]):
        subprocess.run(["git", "-c", "user.name=T", "-c", "user.email=t@localhost", *map(str, command)], check=True,
                       env=env, timeout=60)
