package e2e_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// The commands of docs/videos.md do what the page says, in their order.
func TestDocumentedVideos(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/videos.md")
	if err != nil {
		t.Fatal(err)
	}
	d, dir, job := ownDemo(t), t.TempDir(), ""
	run := func(command string) []byte {
		c := exec.CommandContext(t.Context(), "sh", "-ec", command)
		c.Dir = dir
		c.Env = append(os.Environ(), "BASE="+d.site(), "KEY="+d.APIKey, "JOB="+job)
		out, err := c.Output()
		if err != nil || bytes.Contains(out, []byte(`"error"`)) {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
		return out
	}
	commands := shellBlocks(string(text), "curl ")
	if len(commands) != 6 {
		t.Fatalf("%d commands", len(commands))
	}
	var is struct {
		ID, Status string
		Usage      struct{ Cost json.Number }
	}
	read := func(out []byte) {
		if err := json.Unmarshal(out, &is); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	read(run(commands[0]))
	if job = is.ID; is.Status != "pending" {
		t.Errorf("a new job is %s", is.Status)
	}
	if read(run(commands[0])); is.ID != job {
		t.Error("the same key made another job")
	}
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for read(run(commands[1])); is.Status == "pending" || is.Status == "in_progress"; read(run(commands[1])) {
		<-tick.C
	}
	if is.Status != "completed" || is.Usage.Cost != "12" {
		t.Fatalf("the job: %+v", is)
	}
	run(commands[2])
	run(commands[3])
	video, err := os.ReadFile(filepath.Join(dir, "heron.mp4"))
	if err != nil || len(video) < 1024 || string(video[4:8]) != "ftyp" {
		t.Fatalf("%d bytes, %v", len(video), err)
	}
	if part, err := os.ReadFile(filepath.Join(dir, "beginning.mp4")); err != nil || !bytes.Equal(part, video[:1024]) {
		t.Errorf("%d bytes, %v", len(part), err)
	}
	if list := run(commands[4]); !bytes.Contains(list, []byte(job)) || !bytes.Contains(list, []byte(`"has_more":false`)) {
		t.Errorf("the list: %s", list)
	}
	if read(run(commands[5])); is.Status != "expired" {
		t.Errorf("a deleted job is %s", is.Status)
	}
}
