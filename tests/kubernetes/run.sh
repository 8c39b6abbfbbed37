#!/bin/sh
# deploy/kubernetes against a real API server, with the kubelet's own code for volumes. As root: the pods' commands run
# in mount namespaces.
#
#   tests/kubernetes/run.sh                 all cases
#   tests/kubernetes/run.sh freshness       the cases whose name contains one of these
#
# tests/kubernetes/build.sh has to have run. CARGO_TARGET_DIR names another build than target/. WINDLASS_BLESS=1 writes
# what `make test-kubernetes-manifests` compares with.
set -eu
cd "$(dirname "$0")/../.."
exec env -i HOME="${HOME:-/}" PATH=/usr/local/go/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    LC_ALL=C.UTF-8 CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-}" TMPDIR="${TMPDIR:-/tmp}" \
    WINDLASS_BLESS="${WINDLASS_BLESS:-}" \
    unshare --mount --propagation private /usr/bin/python3 -B tests/kubernetes/harness/main.py "$@"
