"""The DaemonSet with `windlass top --metrics`, as text: for kustomize, and for the chart with values in it."""

PORT = 9753
NAME = "windlass-agent"
# Where the policies mount the cluster's trust: no place of an image, so the agent has to be told.
BUNDLE = "/etc/windlass/trust/ca-certificates.crt"
# In brackets, as an IPv6 address needs them.
LOOPBACK = "{name: ADDRESS, value: 127.0.0.1}"
POD_ADDRESS = "{name: ADDRESS, valueFrom: {fieldRef: {fieldPath: status.podIP}}}"
LABELS = f"{{app: {NAME}, windlass: disabled}}"
ANNOTATIONS = f'{{prometheus.io/scrape: "true", prometheus.io/port: "{PORT}", prometheus.io/path: /metrics}}'
NOBODY = "[]"
PROMETHEUS = (f"[{{ports: [{{port: {PORT}}}], from: [{{\n"
              "    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: monitoring}},\n"
              "    podSelector: {matchLabels: {app.kubernetes.io/name: prometheus}}}]}]")


def manifests(image, address=f" [{LOOPBACK}]", annotations="", ingress=f" {NOBODY}"):
    return f"""apiVersion: v1
kind: Namespace
metadata:
  name: {NAME}
  labels:
    pod-security.kubernetes.io/enforce: privileged
---
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: {NAME}
  namespace: {NAME}
spec:
  selector:
    matchLabels: {{app: {NAME}}}
  updateStrategy: {{rollingUpdate: {{maxUnavailable: 10%}}}}
  template:
    metadata:
      labels: {LABELS}
{annotations}    spec:
      automountServiceAccountToken: false
      enableServiceLinks: false
      # Without it the kernel tells no process ids, and the files of other pods are out of sight.
      hostPID: true
      nodeSelector: {{kubernetes.io/os: linux, kubernetes.io/arch: amd64}}
      tolerations: [{{operator: Exists}}]
      containers:
        - name: agent
          image: {image}
          command: ["/bin/windlass", "top"]
          args: ["--metrics", "[$(ADDRESS)]:{PORT}", "--watch", "{BUNDLE}"]
          env:{address}
          ports:
            - {{name: metrics, containerPort: {PORT}}}
          # No limit of CPU: an agent that is held back loses events.
          resources:
            requests: {{cpu: 50m, memory: 32Mi}}
            limits: {{memory: 128Mi}}
          securityContext:
            runAsUser: 0
            runAsGroup: 0
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities:
              drop: [ALL]
              # SYS_ADMIN: fanotify. SYS_PTRACE: root directories, libraries and variables of other processes in /proc.
              # DAC_READ_SEARCH: bundles in directories that only their owner may enter.
              add: [SYS_ADMIN, SYS_PTRACE, DAC_READ_SEARCH]
            seccompProfile: {{type: RuntimeDefault}}
            # The runtimes' own profile, and SELinux's type for containers, deny looking at other pods' processes.
            appArmorProfile: {{type: Unconfined}}
            seLinuxOptions: {{type: spc_t}}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: {NAME}
  namespace: {NAME}
spec:
  podSelector: {{matchLabels: {{app: {NAME}}}}}
  policyTypes: [Ingress, Egress]
  egress: []
  ingress:{ingress}
"""


def patches():
    """What the pod's own address differs in."""
    changes = {
        "DaemonSet": [("/spec/template/metadata", f"{{labels: {LABELS},\n    annotations: {ANNOTATIONS}}}"),
                      ("/spec/template/spec/containers/0/env/0", POD_ADDRESS)],
        "NetworkPolicy": [("/spec/ingress", PROMETHEUS)],
    }
    return "patches:\n" + "".join(
        f"  - target: {{kind: {kind}, name: {NAME}}}\n    patch: |-\n" + "".join(
            f"      - op: replace\n        path: {path}\n        value: " + value.replace("\n", "\n        ") + "\n"
            for path, value in listed) for kind, listed in changes.items())


def chart():
    def either(indent, loopback, pod):
        return (f'\n{{{{- if eq .Values.agent "pod" }}}}\n{indent}{pod}\n{{{{- else }}}}\n{indent}{loopback}'
                '\n{{- end }}')
    annotations = f'{{{{- if eq .Values.agent "pod" }}}}\n      annotations: {ANNOTATIONS}\n{{{{- end }}}}\n'
    return ('{{- if has .Values.agent (list "loopback" "pod") }}\n'
            + manifests("{{ .Values.agentImage }}", either(" " * 12, f"[{LOOPBACK}]", f"[{POD_ADDRESS}]"), annotations,
                        either("    ", NOBODY, PROMETHEUS))
            + '{{- else if ne .Values.agent "none" }}\n{{- fail "agent is none, loopback or pod" }}\n{{- end }}\n')
