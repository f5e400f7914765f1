package apptest

import (
	"encoding/json"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func (gw *Gateway) Metrics(t *testing.T) string {
	t.Helper()
	scraper := &Account{Gw: &Gateway{URL: gw.Node.AdminURL(), Client: gw.Client}}
	got := scraper.Send(t, http.MethodGet, "/metrics", nil, map[string]string{"Authorization": ""})
	if got.Status != http.StatusOK {
		t.Fatalf("metrics: status %d", got.Status)
	}
	return string(got.Body)
}

// Disk returns all files that the node has written into its data directory.
func (gw *Gateway) Disk(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(gw.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		all.Write(text)
		return err
	})
	if err != nil || all.Len() == 0 {
		t.Fatalf("%d bytes of data, %v", all.Len(), err)
	}
	return all.String()
}

// WantLogLines checks that the log consists of lines of JSON without control characters, with one access record per request.
func (gw *Gateway) WantLogLines(t *testing.T) {
	t.Helper()
	for line := range strings.Lines(gw.Log.String()) {
		var record map[string]any
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			t.Errorf("%v: %s", err, line)
		}
		if _, forged := record["forged"]; forged || strings.ContainsAny(strings.TrimSuffix(line, "\n"), "\n\r\x00\x1b\u2028\u2029\u007f") {
			t.Errorf("text of a client is a log line: %q", line)
		}
	}
}
