"""etcd and a real API server on the loopback interface, and kubectl for them."""

import json
import subprocess
import time

from servers import reserve_port
from sides import die_with_parent

TOKEN = "for-the-tests-on-loopback-only"
# There is no controller manager, and so nobody who makes the service accounts that the plugin of that name wants.
OPTIONS = ("--disable-admission-plugins=ServiceAccount", "--authorization-mode=Node,RBAC")
# Beyond the defaults: bundles, and the older version of the policies.
BUNDLES = ("--feature-gates=ClusterTrustBundle=true,ClusterTrustBundleProjection=true",
           "--runtime-config=certificates.k8s.io/v1beta1=true,admissionregistration.k8s.io/v1beta1=true")


class Cluster:
    def __init__(self, binaries, folder, options=BUNDLES):
        folder.mkdir()
        self.binaries, self.folder = binaries, folder
        self.log = (folder / "log").open("wb")
        etcd, peer, self.port = reserve_port(), reserve_port(), reserve_port()
        self.processes = []
        self._start("etcd", "--data-dir", folder / "etcd", "--listen-client-urls", f"http://127.0.0.1:{etcd}",
                    "--advertise-client-urls", f"http://127.0.0.1:{etcd}", "--listen-peer-urls",
                    f"http://127.0.0.1:{peer}", "--initial-advertise-peer-urls", f"http://127.0.0.1:{peer}",
                    "--initial-cluster", f"default=http://127.0.0.1:{peer}", "--unsafe-no-fsync")
        subprocess.run(["openssl", "genrsa", "-out", folder / "accounts.key", "2048"], check=True,
                       stderr=subprocess.DEVNULL)
        (folder / "tokens.csv").write_text(f"{TOKEN},admin,admin,system:masters\n")
        self.server = self._start(
            binaries / "kube-apiserver", f"--etcd-servers=http://127.0.0.1:{etcd}", "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1", f"--secure-port={self.port}", f"--cert-dir={folder / 'certificates'}",
            f"--token-auth-file={folder / 'tokens.csv'}", "--service-account-issuer=https://kubernetes.invalid",
            f"--service-account-key-file={folder / 'accounts.key'}", "--service-cluster-ip-range=10.0.0.0/24",
            f"--service-account-signing-key-file={folder / 'accounts.key'}", *OPTIONS, *options,
            f"--audit-policy-file={self._audit_policy()}", f"--audit-log-path={folder / 'audit.log'}")
        self.kubeconfig = folder / "kubeconfig"
        self._wait()

    def _start(self, *command):
        process = subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=self.log,
                                   stderr=subprocess.STDOUT, preexec_fn=die_with_parent,
                                   env={"PATH": "/usr/bin:/bin", "HOME": str(self.folder)})
        self.processes.append(process)
        return process

    def _audit_policy(self):
        path = self.folder / "audit.yaml"
        path.write_text(json.dumps({"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": [
            {"level": "Metadata", "resources": [{"group": "", "resources": ["pods"]}]}, {"level": "None"}]}))
        return path

    def _wait(self):
        certificate = self.folder / "certificates/apiserver.crt"
        deadline = time.monotonic() + 300
        while time.monotonic() < deadline:
            if any(process.poll() is not None for process in self.processes):
                break
            if certificate.exists():
                self.kubeconfig.write_text(json.dumps({
                    "apiVersion": "v1", "kind": "Config", "current-context": "tests",
                    "clusters": [{"name": "tests", "cluster": {"server": f"https://127.0.0.1:{self.port}",
                                                               "certificate-authority": str(certificate)}}],
                    "users": [{"name": "tests", "user": {"token": TOKEN}}],
                    "contexts": [{"name": "tests", "context": {"cluster": "tests", "user": "tests"}}]}))
                if self.try_kubectl("get", "--raw", "/readyz").returncode == 0:
                    return
            time.sleep(0.5)
        raise SystemExit((self.folder / "log").read_text(errors="replace")[-3000:] + "\nthe API server did not start")

    def try_kubectl(self, *arguments, input=None):
        return subprocess.run([self.binaries / "kubectl", *map(str, arguments)], input=input, text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120,
                              env={"PATH": "/usr/bin:/bin", "HOME": str(self.folder),
                                   "KUBECONFIG": str(self.kubeconfig)})

    def kubectl(self, *arguments, input=None):
        """What it prints, on both streams; it has to succeed."""
        done = self.try_kubectl(*arguments, input=input)
        assert done.returncode == 0, f"kubectl {arguments}: {done.stdout}{done.stderr}"
        return done.stdout + done.stderr

    def apply(self, *objects):
        """Replaces the objects, and makes those that are missing."""
        return self.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-",
                            input="\n---\n".join(map(json.dumps, objects)))

    def get(self, *arguments):
        return json.loads(self.kubectl("get", "-o", "json", *arguments))

    def eventually(self, what, condition, seconds=60):
        """Waits, as policies and bundles reach the API server's own caches a moment after kubectl has returned."""
        deadline = time.monotonic() + seconds
        while True:
            answer = condition()
            if answer:
                return answer
            assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
            time.sleep(0.1)

    def stop(self):
        for process in reversed(self.processes):
            process.terminate()
            try:
                process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.log.close()
