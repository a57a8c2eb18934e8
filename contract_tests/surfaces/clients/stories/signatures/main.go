// One delivery a line: method, endpoint, header, body and time; a line with 1 or 0 for each.
package main

import (
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

func main() {
	lines, _ := io.ReadAll(os.Stdin)
	for _, line := range strings.Split(strings.TrimSuffix(string(lines), "\n"), "\n") {
		parts := strings.Split(line, "\t")
		header, _ := base64.StdEncoding.DecodeString(parts[2])
		body, _ := base64.StdEncoding.DecodeString(parts[3])
		now, _ := strconv.ParseInt(parts[4], 10, 64)
		if isGenuine(parts[0], parts[1], os.Args[1], string(header), body, now) {
			fmt.Println(1)
		} else {
			fmt.Println(0)
		}
	}
}
