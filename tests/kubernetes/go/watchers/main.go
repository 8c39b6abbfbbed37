// watchers KUBECONFIG COUNT CHANGES: what one change of a ClusterTrustBundle costs with COUNT kubelets that watch.
//
// Each watcher is a client of its own, with a connection of its own, and does what a kubelet's informer does: it lists,
// then watches from there, in protobuf. Standard output is JSON: bytes and events that arrived for the changes, and
// for listing before. The bundle is named "windlass"; the changes are made by whoever started this, one for each line
// that it writes to standard input; "done" is printed when all watchers have seen one.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

var received, sent, events atomic.Int64

// counted counts what goes over the wire, TLS and HTTP included.
type counted struct{ net.Conn }

func (c counted) Read(buffer []byte) (int, error) {
	count, err := c.Conn.Read(buffer)
	received.Add(int64(count))
	return count, err
}

func (c counted) Write(buffer []byte) (int, error) {
	count, err := c.Conn.Write(buffer)
	sent.Add(int64(count))
	return count, err
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	count, err := strconv.Atoi(os.Args[2])
	if err != nil {
		return err
	}
	changes, err := strconv.Atoi(os.Args[3])
	if err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", os.Args[1])
	if err != nil {
		return err
	}
	config.ContentType = "application/vnd.kubernetes.protobuf"
	watches := make([]watch.Interface, count)
	slots := make(chan struct{}, 20)
	failed := make(chan error, count)
	var started sync.WaitGroup
	for number := range watches {
		started.Add(1)
		go func() {
			defer started.Done()
			slots <- struct{}{}
			defer func() { <-slots }()
			if watches[number], err = begin(config); err != nil {
				failed <- err
			}
		}()
	}
	started.Wait()
	if len(failed) > 0 {
		return <-failed
	}
	report := map[string]int64{"watchers": int64(count), "changes": int64(changes),
		"list_received": received.Load(), "list_sent": sent.Load()}
	fmt.Println("ready")
	commands := bufio.NewScanner(os.Stdin)
	var received0, sent0 = received.Load(), sent.Load()
	for range changes {
		if !commands.Scan() {
			return fmt.Errorf("standard input ended")
		}
		var seen sync.WaitGroup
		for _, one := range watches {
			seen.Add(1)
			go func() {
				defer seen.Done()
				for event := range one.ResultChan() {
					if event.Type == watch.Modified {
						events.Add(1)
						return
					}
				}
			}()
		}
		seen.Wait()
		fmt.Println("done")
	}
	// TLS records of the last event may still be on the way.
	time.Sleep(time.Second)
	report["received"], report["sent"] = received.Load()-received0, sent.Load()-sent0
	report["events"] = events.Load()
	return json.NewEncoder(os.Stdout).Encode(report)
}

func begin(config *rest.Config) (watch.Interface, error) {
	own := rest.CopyConfig(config)
	dialer := net.Dialer{}
	// A dialer of its own: client-go shares a connection between clients otherwise.
	own.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		connection, err := dialer.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return counted{connection}, nil
	}
	client, err := kubernetes.NewForConfig(own)
	if err != nil {
		return nil, err
	}
	bundles := client.CertificatesV1beta1().ClusterTrustBundles()
	listed, err := bundles.List(context.Background(), metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return nil, err
	}
	return bundles.Watch(context.Background(), metav1.ListOptions{
		ResourceVersion: listed.ResourceVersion, AllowWatchBookmarks: true})
}
