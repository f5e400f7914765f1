package e2e_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The commands of docs/audio.md do what the page says.
func TestDocumentedAudio(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/audio.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "speech.wav"), recording(10*time.Second), 0o600); err != nil {
		t.Fatal(err)
	}
	commands := shellBlocks(string(text), "curl ")
	if len(commands) != 8 {
		t.Fatalf("%d commands", len(commands))
	}
	for _, command := range commands {
		run := exec.CommandContext(t.Context(), "sh", "-c", command)
		run.Dir = dir
		run.Env = append(os.Environ(), "BASE="+strings.TrimSuffix(strings.TrimSuffix(theDemo.BaseURL, "/"), "/v1"), "KEY="+theDemo.APIKey)
		out, err := run.Output()
		if err != nil || bytes.Contains(out, []byte(`"error"`)) {
			t.Errorf("%s: %v\n%.500s", command, err, out)
		}
		if want := wanted(command); !bytes.Contains(out, []byte(want)) {
			t.Errorf("%s: no %q in\n%.500s", command, want, out)
		}
		if strings.Contains(command, "curl -N") && !bytes.HasSuffix(out, []byte("data: [DONE]\n\n")) {
			t.Errorf("%s does not stream", command)
		}
	}
	if audio, err := os.ReadFile(filepath.Join(dir, "weir.wav")); err != nil || !bytes.HasPrefix(audio, []byte("RIFF")) {
		t.Errorf("no sound: %v", err)
	}
}

// wanted returns a part of the expected answer to a documented command.
func wanted(command string) string {
	for part, want := range map[string]string{
		"=srt": "1\n00:00:00,000 --> ", "=verbose_json": `"words":[{"word":`, "=diarized_json": `"speaker":"B"`, "stream=true": `"transcript.text.delta"`,
		`"sse"`: `"speech.audio.done"`, "weir.wav": "",
	} {
		if strings.Contains(command, part) {
			return want
		}
	}
	return `{"text":"`
}
