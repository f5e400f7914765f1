package e2e_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// The commands of docs/batches.md do what the page says, in their order.
func TestDocumentedBatches(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/batches.md")
	if err != nil {
		t.Fatal(err)
	}
	d, dir := ownDemo(t), t.TempDir()
	env := append(os.Environ(), "BASE="+d.site(), "KEY="+d.APIKey)
	run := func(command string) []byte {
		c := exec.CommandContext(t.Context(), "sh", "-ec", command)
		c.Dir, c.Env = dir, env
		out, err := c.Output()
		if err != nil || strings.Contains(string(out), `"error":{`) {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
		return out
	}
	type object struct {
		ID, Status string
		Output     string `json:"output_file_id"`
		Processing string `json:"processing_status"`
	}
	read := func(out []byte) (is object) {
		if err := json.Unmarshal(out, &is); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return is
	}
	for _, command := range shellBlocks(string(text), "printf ") {
		run(command)
	}
	commands := shellBlocks(string(text), "curl ")
	if len(commands) != 7 {
		t.Fatalf("%d commands", len(commands))
	}
	env = append(env, "FILE="+read(run(commands[0])).ID)
	batch := read(run(commands[1]))
	if again := read(run(commands[1])); again.ID != batch.ID {
		t.Error("the same key made another batch")
	}
	env = append(env, "BATCH="+batch.ID)
	waitFor(t, func() bool { batch = read(run(commands[2])); return batch.Status == "completed" })
	env = append(env, "OUTPUT="+batch.Output)
	if out := string(run(commands[3])); strings.Count(out, "\n") != 2 || !strings.Contains(out, `"custom_id":"one"`) || !strings.Contains(out, `"custom_id":"two"`) {
		t.Errorf("%s", out)
	}
	batch = read(run(commands[4]))
	env = append(env, "MESSAGES="+batch.ID)
	waitFor(t, func() bool { return read(run(commands[5])).Processing == "ended" })
	if out := string(run(commands[6])); !strings.Contains(out, `"type":"succeeded"`) {
		t.Errorf("%s", out)
	}
}
