package e2e_test

import (
	"bytes"
	"image"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The commands of docs/images.md do what the page says.
func TestDocumentedImages(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/images.md")
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := png.Encode(&file, image.NewGray(image.Rect(0, 0, 16, 16))); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "weir.png"), file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	commands := shellBlocks(string(text), "curl ")
	if len(commands) < 4 {
		t.Fatalf("%d commands", len(commands))
	}
	for _, command := range commands {
		run := exec.CommandContext(t.Context(), "sh", "-c", command)
		run.Dir = dir
		run.Env = append(os.Environ(), "BASE="+strings.TrimSuffix(strings.TrimSuffix(theDemo.BaseURL, "/"), "/v1"), "KEY="+theDemo.APIKey)
		out, err := run.Output()
		if err != nil || !bytes.Contains(out, []byte(`"b64_json":"`)) || bytes.Contains(out, []byte(`"error"`)) {
			t.Errorf("%s: %v\n%.500s", command, err, out)
		}
		if strings.Contains(command, `"stream":true`) && !bytes.HasSuffix(out, []byte("data: [DONE]\n\n")) {
			t.Errorf("%s does not stream", command)
		}
	}
}

// shellBlocks returns the indented lines of a page that begin with a word, with their continuation lines.
func shellBlocks(page, word string) (out []string) {
	lines := strings.Split(page, "\n")
	for i := 0; i < len(lines); i++ {
		if !strings.HasPrefix(lines[i], "    "+word) {
			continue
		}
		command := lines[i]
		for (strings.HasSuffix(command, `\`) || strings.Count(command, "'")%2 == 1) && i+1 < len(lines) {
			i++
			command += "\n" + lines[i]
		}
		out = append(out, command)
	}
	return out
}
