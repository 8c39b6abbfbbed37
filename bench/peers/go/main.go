// peers-go pem|system MODE N ROOT LEAF: crypto/x509's pools. What it prints: bench/peers/README.md.
package main

import (
	"bufio"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"syscall"
)

var leaf *x509.Certificate

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func makePool(kind string) *x509.CertPool {
	if kind == "system" {
		pool, err := x509.SystemCertPool()
		must(err)
		return pool
	}
	bundle, err := os.ReadFile(os.Getenv("SSL_CERT_FILE"))
	must(err)
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(bundle) {
		must(fmt.Errorf("no certificates in the bundle"))
	}
	return pool
}

func verify(pool *x509.CertPool) {
	_, err := leaf.Verify(x509.VerifyOptions{Roots: pool, DNSName: "localhost"})
	must(err)
}

// Milliseconds of processor time, user and system, of all threads: the collector's too.
func cpu() float64 {
	var used syscall.Rusage
	must(syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return float64(used.Utime.Nano()+used.Stime.Nano()) / 1e6
}

func turns(kind string, count int, verifying bool) float64 {
	before := cpu()
	for i := 0; i < count; i++ {
		pool := makePool(kind)
		if verifying {
			verify(pool)
		}
	}
	return (cpu() - before) / float64(count)
}

func residentKiB() float64 {
	runtime.GC()
	debug.FreeOSMemory()
	file, err := os.Open("/proc/self/smaps_rollup")
	must(err)
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var kib float64
		if _, err := fmt.Sscanf(lines.Text(), "Rss: %f kB", &kib); err == nil {
			return kib
		}
	}
	must(fmt.Errorf("no Rss in /proc/self/smaps_rollup"))
	return 0
}

func main() {
	kind, mode := os.Args[1], os.Args[2]
	count, err := strconv.Atoi(os.Args[3])
	must(err)
	text, err := os.ReadFile(os.Args[5])
	must(err)
	block, _ := pem.Decode(text)
	leaf, err = x509.ParseCertificate(block.Bytes)
	must(err)
	if mode == "time" {
		first, next, verified := turns(kind, 1, false), turns(kind, count, false), turns(kind, count, true)
		fmt.Printf("{\"first\": %f, \"next\": %f, \"verified\": %f}\n", first, next, verified)
		return
	}
	kept := make([]*x509.CertPool, count+1)
	var before float64
	for i := range kept {
		if i == 1 {
			before = residentKiB()
		}
		kept[i] = makePool(kind)
		verify(kept[i])
	}
	fmt.Printf("{\"kib\": %f}\n", (residentKiB()-before)/float64(count))
	runtime.KeepAlive(kept)
}
