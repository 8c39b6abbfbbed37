// Fetches each URL that comes on standard input, with a new connection each.
package main

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"strings"
)

func main() {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		answer, err := client.Get(lines.Text())
		switch {
		case err == nil && answer.StatusCode == 200:
			fmt.Println("accepted")
		case err != nil && strings.Contains(err.Error(), "x509:"):
			fmt.Println("refused")
		default:
			fmt.Println(err)
		}
	}
}
