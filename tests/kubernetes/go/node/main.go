// node KUBECONFIG DIRECTORY: the part of a kubelet that makes volumes, for the pods that are bound to the node "node".
//
// DIRECTORY/ready/UID.json names the directory of each volume of a pod once all are there. A volume that can't be made
// is an event of the pod, as the kubelet's own (FailedMount). Trust that changes is written again at once; a kubelet
// does so when it next looks at the pod, within a minute or so. It ends when its standard input does.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	clientv1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/record"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func main() {
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(kubeconfig, root string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	broadcaster := record.NewBroadcaster()
	broadcaster.StartRecordingToSink(&clientv1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	recorder := broadcaster.NewRecorder(scheme.Scheme, v1.EventSource{Component: "kubelet", Host: "node"})
	host, err := newHost(root, client, recorder)
	if err != nil {
		return err
	}
	changed := make(chan struct{}, 1)
	pods := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTweakListOptions(
		func(options *metav1.ListOptions) {
			options.FieldSelector = fields.OneTermEqualSelector("spec.nodeName", "node").String()
		})).Core().V1().Pods().Informer()
	maps := host.factory.Core().V1().ConfigMaps().Informer()
	bundles := host.factory.Certificates().V1beta1().ClusterTrustBundles().Informer()
	for _, informer := range []cache.SharedIndexInformer{pods, maps, bundles} {
		if _, err := informer.AddEventHandler(waker(changed)); err != nil {
			return err
		}
	}
	stop := make(chan struct{})
	host.factory.Start(stop)
	go pods.Run(stop)
	if !cache.WaitForCacheSync(context.Background().Done(), pods.HasSynced, maps.HasSynced, bundles.HasSynced) {
		return fmt.Errorf("no answer from the API server")
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(stop)
	}()
	failures := map[string]string{}
	for {
		for _, item := range pods.GetStore().List() {
			sync(host, item.(*v1.Pod), failures)
		}
		select {
		case <-stop:
			broadcaster.Shutdown()
			return nil
		case <-changed:
		// What failed is tried again.
		case <-time.After(time.Second):
		}
	}
}

func waker(changed chan<- struct{}) cache.ResourceEventHandler {
	wake := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { wake() },
		UpdateFunc: func(any, any) { wake() },
		DeleteFunc: func(any) { wake() },
	}
}

// sync makes the pod's volumes; those of an image or of the host are the container runtime's affair.
func sync(host *host, pod *v1.Pod, failures map[string]string) {
	places := map[string]string{}
	for index := range pod.Spec.Volumes {
		described := &pod.Spec.Volumes[index]
		if described.Projected == nil && described.EmptyDir == nil {
			continue
		}
		place, err := host.setUp(pod, described)
		key := string(pod.UID) + described.Name
		if err != nil {
			if text := err.Error(); failures[key] != text {
				failures[key] = text
				host.recorder.Eventf(pod, v1.EventTypeWarning, "FailedMount",
					"MountVolume.SetUp failed for volume %q : %v", described.Name, err)
			}
			if _, err := os.Stat(ready(host, pod)); err != nil {
				return
			}
			continue
		}
		delete(failures, key)
		places[described.Name] = place
	}
	if _, err := os.Stat(ready(host, pod)); err == nil {
		return
	}
	if err := write(ready(host, pod), places); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

func ready(host *host, pod *v1.Pod) string {
	return filepath.Join(host.root, "ready", string(pod.UID)+".json")
}

// write replaces the file at once, so that a reader sees all of it.
func write(path string, content any) error {
	text, err := json.Marshal(content)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(path+".new", text, 0o644); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
