"""generate.py [--check]: writes base/, overlays/, components/, agent/ and chart/ from what is in here.

Kustomize and Helm get the same text: the chart's templates are the base's files, and where an overlay differs, what it
puts there. The variables that name the bundle are those of `windlass run --add-ca` (variables.txt of windlass-run).
--check writes nothing, and fails if a file is not what would be written.
"""

import pathlib
import re
import sys

import agent_manifests as agent
import expressions as cel

HERE = pathlib.Path(__file__).resolve().parent
VERSION = re.search(r'^version = "(.*)"', (HERE / "../../Cargo.toml").read_text(encoding="utf-8"), re.M)[1]
NOTE = "# Made by deploy/kubernetes/generate.py. docs/kubernetes.md explains it.\n"
IMAGE = f"registry.example/windlass-library:{VERSION}"
AGENT_IMAGE = f"registry.example/windlass-agent:{VERSION}"
MUTATIONS, VALIDATIONS = "MutatingAdmissionPolicy", "ValidatingAdmissionPolicy"
GROUP = "admissionregistration.k8s.io"
# What a delivery decides: the volume, in which namespaces it may be used, and the containers that fill it.
DELIVERIES = {
    "image": (cel.image_volume(IMAGE), "true", "[]"),
    "hostPath": (cel.HOST_VOLUME, cel.HOST_PATHS_ALLOWED, "[]"),
    "initContainer": (cel.EMPTY_VOLUME, "true", cel.installers(IMAGE)),
}
OVERLAYS = {"hostPath": "hostpath", "initContainer": "init-container"}
DELIVERED = ("volume", "allowed", "installers")


def main():
    files = {**base(), **overlays(), **agents(), **chart()}
    stale = [path for path, text in files.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    folders = ("base", "overlays", "components", "agent", "chart")
    made = {path for folder in folders for path in (HERE / folder).rglob("*") if path.is_file()}
    stale += sorted(made - set(files))
    if "--check" in sys.argv:
        for path in stale:
            print(f"{path.relative_to(HERE)} is not what generate.py writes", file=sys.stderr)
        return 1 if stale else 0
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for path in made - set(files):
        path.unlink()
    return 0


def base():
    return {
        HERE / "base/library.yaml": NOTE + library(dict(zip(DELIVERED, DELIVERIES["image"]))),
        HERE / "base/trust.yaml": NOTE + trust(),
        HERE / "base/warnings.yaml": NOTE + warnings(),
        HERE / "base/kustomization.yaml": NOTE + kustomization("library.yaml", "trust.yaml", "warnings.yaml"),
    }


def overlays():
    written = {}
    for delivery, folder in OVERLAYS.items():
        patches = "".join(f"      - op: replace\n        path: /spec/variables/{index}/expression\n        value: |-\n"
                          f"{indented(text, 10)}\n" for index, text in enumerate(DELIVERIES[delivery]))
        more = ["installer.yaml"] if delivery == "hostPath" else []
        written[HERE / f"overlays/{folder}/kustomization.yaml"] = NOTE + kustomization("../../base", *more) + (
            f"patches:\n  - target:\n      kind: {MUTATIONS}\n      name: windlass-library\n    patch: |-\n{patches}")
    written[HERE / "overlays/hostpath/installer.yaml"] = NOTE + installer(IMAGE)
    written[HERE / "components/v1beta1/kustomization.yaml"] = NOTE + (
        "# For Kubernetes 1.34 and 1.35.\napiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatches:\n"
        + "".join(f"  - target:\n      kind: {kind}\n    patch: |-\n      - op: replace\n        path: /apiVersion\n"
                  f"        value: {GROUP}/v1beta1\n" for kind in (MUTATIONS, MUTATIONS + "Binding")))
    folder = HERE / "overlays/trust-manager"
    written[folder / "kustomization.yaml"] = NOTE + kustomization("../../base", "config-maps.yaml")
    written[folder / "config-maps.yaml"] = NOTE + config_maps()
    return written


def agents():
    """Beside the policies, of which it needs none."""
    return {
        HERE / "agent/loopback/agent.yaml": NOTE + agent.manifests(AGENT_IMAGE),
        HERE / "agent/loopback/kustomization.yaml": NOTE + kustomization("agent.yaml"),
        HERE / "agent/pod/kustomization.yaml": NOTE + kustomization("../loopback") + agent.patches(),
    }


def chart():
    """The same files as templates: a value in each place where an overlay differs."""
    choices = {name: "\n".join(
        f'{{{{- {"if" if number == 0 else "else if"} eq .Values.delivery "{delivery}" }}}}\n'
        + indented(texts[index].replace(IMAGE, "{{ .Values.image }}"), 8)
        for number, (delivery, texts) in enumerate(DELIVERIES.items())) + "\n{{- end }}"
        for index, name in enumerate(DELIVERED)}
    folder = HERE / "chart"
    host_path = installer("{{ .Values.image }}")

    def versioned(text):
        for kind in (MUTATIONS, MUTATIONS + "Binding"):
            text = text.replace(f"apiVersion: {GROUP}/v1\nkind: {kind}\n",
                                f"apiVersion: {GROUP}/{{{{ .Values.policies }}}}\nkind: {kind}\n")
        return text
    return {
        folder / "Chart.yaml": NOTE + (
            "apiVersion: v2\nname: windlass\ntype: application\n"
            "description: Windlass and the cluster's trust for pods with the label windlass=enabled\n"
            f'version: {VERSION}\nappVersion: "{VERSION}"\nkubeVersion: ">=1.34.0-0"\n'),
        folder / "values.yaml": NOTE + (
            "# The image that deploy/kubernetes/image/build.sh makes, in your registry.\n"
            f"image: {IMAGE}\n# How pods get the library: image, hostPath or initContainer.\ndelivery: image\n"
            "# The version of the mutating policies' API: v1beta1 for Kubernetes 1.34 and 1.35.\npolicies: v1\n"
            "# Whether ConfigMaps with the label windlass=trust count as well, as trust-manager writes them.\n"
            "configMaps: false\n"
            "# The agent on each node, and where it serves metrics: none, loopback, or pod (the pod's address).\n"
            f"agent: none\nagentImage: {AGENT_IMAGE}\n"),
        folder / "templates/library.yaml": versioned(NOTE + library(choices, as_is=True)),
        folder / "templates/trust.yaml": versioned(NOTE + trust()),
        folder / "templates/warnings.yaml": NOTE + warnings(),
        folder / "templates/installer.yaml":
            '{{- if eq .Values.delivery "hostPath" }}\n' + NOTE + host_path + "{{- end }}\n",
        folder / "templates/config-maps.yaml":
            "{{- if .Values.configMaps }}\n" + NOTE + versioned(config_maps()) + "{{- end }}\n",
        folder / "templates/agent.yaml": NOTE + agent.chart(),
    }


def kustomization(*resources):
    listed = "".join(f"  - {name}\n" for name in resources)
    return f"apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n{listed}"


def library(delivered, as_is=False):
    variables = [(name, text, as_is) for name, text in delivered.items()] + [("preload", cel.PRELOAD, False)]
    changes = [cel.add_volume("windlass-library", cel.takes_library())]
    for kind in cel.KINDS:
        changes += [cel.set_preload(kind), cel.mount(kind, cel.takes_library(), "windlass-library", cel.LIBRARY)]
    changes.append(cel.install())
    return policy("windlass-library", None, variables, changes) + bindings("windlass-library", None)


def trust():
    return trust_policy("windlass-trust", ("certificates.k8s.io/v1beta1", "ClusterTrustBundle"), cel.BUNDLE_VOLUME)


def config_maps():
    return trust_policy("windlass-trust-config-maps", ("v1", "ConfigMap"), cel.CONFIG_MAP_VOLUME)


def trust_policy(name, param, volume):
    variables = [("volume", volume, False), ("environment", cel.environment(HERE), False)]
    changes = [cel.add_volume("windlass-trust", cel.takes_trust())]
    for kind in cel.KINDS:
        changes += [cel.set_environment(kind), cel.mount(kind, cel.takes_trust(), "windlass-trust", cel.TRUST)]
    return policy(name, param, variables, changes) + bindings(name, param)


def policy(name, param, variables, changes):
    """All changes are one mutation, as the API server decodes the pod anew for each. Java's need their result."""
    mutations = ["\n+ ".join(changes), "\n+ ".join(map(cel.java, cel.KINDS))]
    param = f"  paramKind:\n    apiVersion: {param[0]}\n    kind: {param[1]}\n" if param else ""
    variables = "".join(f"    - name: {name}\n      expression: |-\n{text if raw else indented(text, 8)}\n"
                        for name, text, raw in variables)
    mutations = "".join(f"    - patchType: JSONPatch\n      jsonPatch:\n        expression: |-\n{indented(text, 10)}\n"
                        for text in mutations)
    return (f"apiVersion: {GROUP}/v1\nkind: {MUTATIONS}\nmetadata:\n  name: {name}\nspec:\n"
            "  # An error, or an API server that does not know a field, leaves the pod as it is.\n"
            "  failurePolicy: Ignore\n"
            "  # Containers that another policy or webhook adds later count as well.\n"
            f"  reinvocationPolicy: IfNeeded\n{param}{cel.MATCHES}  variables:\n{variables}  mutations:\n{mutations}")


def bindings(name, param):
    """A namespace with the label, unless the pod says otherwise; and a pod with the label anywhere."""
    reference = ("  paramRef:\n    selector:\n      matchLabels: {windlass: trust}\n"
                 "    parameterNotFoundAction: Allow\n") if param else ""
    return binding("MutatingAdmissionPolicyBinding", name, reference)


def binding(kind, name, more):
    return "".join(
        f"---\napiVersion: {GROUP}/v1\nkind: {kind}\nmetadata:\n  name: {name}-{which}\nspec:\n"
        f"  policyName: {name}\n{more}  matchResources:\n{selectors}"
        for which, selectors in (("namespaces", cel.IN_NAMESPACES), ("pods", cel.IN_PODS)))


def warnings():
    validations = "".join(
        f"    - expression: |-\n{indented(expression, 8)}\n      messageExpression: |-\n{indented(message, 8)}\n"
        for expression, message in cel.WARNINGS)
    variables = "".join(f"    - name: {name}\n      expression: |-\n{indented(text, 8)}\n"
                        for name, text in cel.WARNING_VARIABLES)
    return (f"apiVersion: {GROUP}/v1\nkind: {VALIDATIONS}\nmetadata:\n"
            f"  name: windlass-warnings\nspec:\n  failurePolicy: Ignore\n{cel.MATCHES}  variables:\n{variables}"
            f"  validations:\n{validations}"
            ) + binding("ValidatingAdmissionPolicyBinding", "windlass-warnings", "  validationActions: [Warn, Audit]\n")


def installer(image):
    return f"""apiVersion: v1
kind: Namespace
metadata:
  name: windlass
  labels:
    pod-security.kubernetes.io/enforce: privileged
---
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: windlass-installer
  namespace: windlass
spec:
  selector:
    matchLabels: {{app: windlass-installer}}
  template:
    metadata:
      labels: {{app: windlass-installer}}
    spec:
      automountServiceAccountToken: false
      nodeSelector: {{kubernetes.io/os: linux, kubernetes.io/arch: amd64}}
      tolerations: [{{operator: Exists}}]
      containers:
        - name: installer
          image: {image}
          # It replaces by rename: a running process keeps the file that it has mapped.
          command: ["/bin/install-library", "--wait", "/opt/windlass"]
          resources:
            requests: {{cpu: 1m, memory: 4Mi}}
            limits: {{memory: 16Mi}}
          securityContext:
            allowPrivilegeEscalation: false
            capabilities: {{drop: [ALL]}}
            readOnlyRootFilesystem: true
          volumeMounts:
            - {{name: host, mountPath: /opt/windlass}}
      volumes:
        - name: host
          hostPath: {{path: /opt/windlass, type: DirectoryOrCreate}}
"""


def indented(text, width):
    return "\n".join(" " * width + line if line else "" for line in text.splitlines())


if __name__ == "__main__":
    sys.exit(main())
