package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"weir/internal/store/postgres/pgtest"
)

// TestMain makes the test binary serve as the program weir, for scripts and for tests of the whole process. So a run with the race
// detector has it in the nodes, too.
func TestMain(m *testing.M) {
	testscript.Main(pgtest.Main(m), map[string]func(){"weir": func() { os.Exit(run(os.Args[1:])) }})
}
