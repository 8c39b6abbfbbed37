package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	storagelisters "k8s.io/client-go/listers/storage/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/kubernetes/pkg/kubelet/clustertrustbundle"
	"k8s.io/kubernetes/pkg/volume"
	"k8s.io/kubernetes/pkg/volume/emptydir"
	"k8s.io/kubernetes/pkg/volume/projected"
	"k8s.io/kubernetes/pkg/volume/util/hostutil"
	"k8s.io/kubernetes/pkg/volume/util/subpath"
	"k8s.io/mount-utils"
	"k8s.io/utils/strings"
)

// host is what a kubelet gives its volume plugins. Plugins, mounts and trust anchors are the kubelet's own code.
type host struct {
	root     string
	client   kubernetes.Interface
	factory  informers.SharedInformerFactory
	trust    clustertrustbundle.Manager
	plugins  volume.VolumePluginMgr
	mounter  mount.Interface
	recorder record.EventRecorder
}

func newHost(root string, client kubernetes.Interface, recorder record.EventRecorder) (*host, error) {
	factory := informers.NewSharedInformerFactory(client, 0)
	// The sizes of pkg/kubelet/kubelet.go.
	trust, err := clustertrustbundle.NewBetaInformerManager(context.Background(), factory, 256, 5*time.Minute)
	if err != nil {
		return nil, err
	}
	made := &host{root: root, client: client, factory: factory, trust: trust, mounter: mount.New(""), recorder: recorder}
	plugins := append(projected.ProbeVolumePlugins(), emptydir.ProbeVolumePlugins()...)
	return made, made.plugins.InitPlugins(plugins, nil, made)
}

// setUp makes the volume what it has to be now, for the first time or again, and returns its directory.
func (h *host) setUp(pod *v1.Pod, described *v1.Volume) (string, error) {
	spec := volume.NewSpecFromVolume(described)
	plugin, err := h.plugins.FindPluginBySpec(spec)
	if err != nil {
		return "", err
	}
	mounter, err := plugin.NewMounter(spec, pod)
	if err != nil {
		return "", err
	}
	var group *int64
	if pod.Spec.SecurityContext != nil {
		group = pod.Spec.SecurityContext.FSGroup
	}
	return mounter.GetPath(), mounter.SetUp(volume.MounterArgs{FsGroup: group})
}

func (h *host) GetPodsDir() string { return filepath.Join(h.root, "pods") }

func (h *host) GetPluginDir(plugin string) string { return filepath.Join(h.root, "plugins", plugin) }

func (h *host) GetVolumeDevicePluginDir(plugin string) string {
	return filepath.Join(h.root, "plugins", plugin, "volumeDevices")
}

func (h *host) pod(uid types.UID, below, plugin string) string {
	return filepath.Join(h.GetPodsDir(), string(uid), below, strings.EscapeQualifiedName(plugin))
}

func (h *host) GetPodVolumeDir(uid types.UID, plugin, name string) string {
	return filepath.Join(h.root, "pods", string(uid), "volumes", plugin, name)
}

func (h *host) GetPodPluginDir(uid types.UID, plugin string) string { return h.pod(uid, "plugins", plugin) }

func (h *host) GetPodVolumeDeviceDir(uid types.UID, plugin string) string {
	return h.pod(uid, "volumeDevices", plugin)
}

func (h *host) GetKubeClient() kubernetes.Interface { return h.client }

func (h *host) NewWrapperMounter(name string, spec volume.Spec, pod *v1.Pod) (volume.Mounter, error) {
	if spec.Volume != nil {
		spec.Volume.Name = "wrapped_" + name
	}
	plugin, err := h.plugins.FindPluginBySpec(&spec)
	if err != nil {
		return nil, err
	}
	return plugin.NewMounter(&spec, pod)
}

func (h *host) NewWrapperUnmounter(name string, spec volume.Spec, uid types.UID) (volume.Unmounter, error) {
	plugin, err := h.plugins.FindPluginBySpec(&spec)
	if err != nil {
		return nil, err
	}
	return plugin.NewUnmounter("wrapped_"+name, uid)
}

func (h *host) GetMounter() mount.Interface { return h.mounter }

func (h *host) GetNodeAllocatable() (v1.ResourceList, error) { return v1.ResourceList{}, nil }

func (h *host) GetSecretFunc() func(namespace, name string) (*v1.Secret, error) {
	return func(namespace, name string) (*v1.Secret, error) {
		return h.client.CoreV1().Secrets(namespace).Get(context.Background(), name, metav1.GetOptions{})
	}
}

func (h *host) GetConfigMapFunc() func(namespace, name string) (*v1.ConfigMap, error) {
	return func(namespace, name string) (*v1.ConfigMap, error) {
		return h.client.CoreV1().ConfigMaps(namespace).Get(context.Background(), name, metav1.GetOptions{})
	}
}

func (h *host) GetServiceAccountTokenFunc() func(string, string, *authenticationv1.TokenRequest) (
	*authenticationv1.TokenRequest, error) {
	return func(string, string, *authenticationv1.TokenRequest) (*authenticationv1.TokenRequest, error) {
		return nil, errUnused
	}
}

func (h *host) DeleteServiceAccountTokenFunc() func(types.UID) { return func(types.UID) {} }

func (h *host) GetNodeLabels() (map[string]string, error) { return nil, nil }

func (h *host) GetNodeName() types.NodeName { return "node" }

func (h *host) GetAttachedVolumesFromNodeStatus() (map[v1.UniqueVolumeName]string, error) { return nil, nil }

func (h *host) GetEventRecorder() record.EventRecorder { return h.recorder }

func (h *host) GetSubpather() subpath.Interface { return subpath.New(h.mounter) }

func (h *host) SetKubeletError(err error) {
	if err != nil {
		fmt.Println("kubelet error:", err)
	}
}

func (h *host) GetInformerFactory() informers.SharedInformerFactory { return h.factory }

func (h *host) CSIDriverLister() storagelisters.CSIDriverLister { return nil }

func (h *host) CSIDriversSynced() cache.InformerSynced { return nil }

func (h *host) WaitForCacheSync() error { return nil }

func (h *host) GetHostUtil() hostutil.HostUtils { return hostutil.NewHostUtil() }

func (h *host) GetTrustAnchorsByName(name string, allowMissing bool) ([]byte, error) {
	return h.trust.GetTrustAnchorsByName(name, allowMissing)
}

func (h *host) GetTrustAnchorsBySigner(name string, selector *metav1.LabelSelector, allowMissing bool) ([]byte, error) {
	return h.trust.GetTrustAnchorsBySigner(name, selector, allowMissing)
}

func (h *host) GetPodCertificateCredentialBundle(context.Context, string, string, string, string, int) (
	[]byte, []byte, error) {
	return nil, nil, errUnused
}

// No pod of the tests has such a volume.
var errUnused = errors.New("not part of this node")
