// Loads the system's roots, says with which Go, and waits.
package main

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"runtime"
)

func main() {
	roots, err := x509.SystemCertPool()
	if err != nil {
		panic(err)
	}
	// Dialling nobody keeps crypto/tls in the program.
	_, err = tls.Dial("tcp", "127.0.0.1:1", &tls.Config{RootCAs: roots})
	fmt.Println(runtime.Version(), err != nil)
	bufio.NewReader(os.Stdin).ReadString('\n')
}
