#!/bin/sh
# Builds what the suite runs, from pinned Go modules, below target/kubernetes: the API server, kubectl, the kubelet's
# part for volumes, the watchers, Helm's rendering and trust-manager. Built once; and again if a go.mod or a program
# here is newer. Six minutes of CPU on an empty cache.
set -eu
cd "$(dirname "$0")"
cd ../..
mkdir -p "${CARGO_TARGET_DIR:-target}/kubernetes"
out=$(cd "${CARGO_TARGET_DIR:-target}/kubernetes" && pwd)
cd tests/kubernetes
if [ -e "$out/built" ] && [ -z "$(find go sources -newer "$out/built" -type f)" ]; then
    exit 0
fi
if ! (cd go && go list -m >/dev/null 2>&1); then
    echo "This needs the Go that tests/kubernetes/go/go.mod names, or 1.21 or newer with GOTOOLCHAIN=auto." >&2
    exit 2
fi
# What `kubectl version` and the version gates of the API server go by.
version=$(sed -n 's/^require k8s.io\/kubernetes //p; s/^\tk8s.io\/kubernetes \(v[0-9.]*\)$/\1/p' go/go.mod | head -n 1)
flags="-s -w"
for value in gitVersion="$version" gitMajor=1 gitMinor="$(echo "$version" | cut -d. -f2)"; do
    flags="$flags -X k8s.io/component-base/version.$value"
done
export GOFLAGS="-mod=readonly -buildvcs=false"
(cd go && nice -n 10 go build -trimpath -ldflags "$flags" -o "$out/" \
    k8s.io/kubernetes/cmd/kube-apiserver k8s.io/kubernetes/cmd/kubectl ./node ./watchers)
(cd sources && nice -n 10 go build -trimpath -ldflags "-s -w" -o "$out/" ./template ./trustmanager)
install -m 644 "$(cd sources && go list -m -f '{{.Dir}}' github.com/cert-manager/trust-manager)"\
/deploy/crds/trust.cert-manager.io_bundles.yaml "$out/trust-manager-bundles.yaml"
touch "$out/built"
