package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// The commands of the operator's page work as they are written, in their order.
func TestDocumentedCommands(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a process for each command: runs without the race detector")
	}
	text, err := os.ReadFile("../../docs/operating.md")
	if err != nil {
		t.Fatal(err)
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
