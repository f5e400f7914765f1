// Package apptest starts whole nodes on loopback, with the simulator and small providers of its own behind them, and acts as their users.
package apptest

import (
	"os"
	"testing"

	"weir/internal/plugin/pdftext"
	"weir/internal/store/postgres/pgtest"
)

// Main runs the tests of a package. It lets the test binary run as its own child to read files, as the program does.
func Main(m *testing.M) int {
	if pdftext.IsChild(os.Args[1:]) {
		return pdftext.Main(os.Args[1:], os.Stdin, os.Stdout)
	}
	return pgtest.Main(m).Run()
}
