package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// operating are the pages for operators with commands, in the order in which their commands are tried.
var operating = []string{"run", "state", "watch", "books", "back-up", "alerts", "scale"}

// The commands of the operators' pages work as they are written, in their order.
func TestDocumentedCommands(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a process for each command: runs without the race detector")
	}
	var text []byte
	for _, page := range operating {
		more, err := os.ReadFile("../../docs/" + page + ".md")
		if err != nil {
			t.Fatal(err)
		}
		text = append(append(text, more...), '\n')
	}
	script := "env HUT_KEY=a OPENAI_API_KEY=b WEIR_MASTER_KEY=9b5635a456e1cff18f099343b87460dd800f48daa0550469cdb8b3eb89b34b89 WEIR_DATA_DIR=$WORK/data\n"
	commands := 0
	for _, line := range strings.Split(string(text), "\n") {
		line, indented := strings.CutPrefix(line, "    ")
		// Skipped: a node would not end, and these values belong to the reader's ledger.
		if !indented || !strings.HasPrefix(line, "weir ") || strings.HasPrefix(line, "weir serve") || strings.Contains(line, "…") && !strings.HasPrefix(line, "weir audit verify  ") {
			continue
		}
		commands++
		script += "exec sh -c 'echo key | " + strings.ReplaceAll(line, "'", "''") + "'\n"
	}
	if commands < 20 {
		t.Fatalf("only %d commands", commands)
	}
	file := filepath.Join(t.TempDir(), "operating.txtar")
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{Files: []string{file}, RequireExplicitExec: true})
}
