package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"weir/internal/config"
	"weir/internal/store/postgres/pgtest"
)

// TestMain makes the test binary run as the program weir, for scripts and for tests with whole processes. With the race detector the nodes
// have it, too.
func TestMain(m *testing.M) {
	config.SettableConstants = os.Getenv("SETTABLE_CONSTANTS") // of processes that take them from their configuration
	packaged = os.Getenv("PACKAGED_CONFIGURATION")             // this machine's service is another one
	testscript.Main(pgtest.Main(m), map[string]func(){"weir": func() { os.Exit(run(os.Args[1:])) }})
}
