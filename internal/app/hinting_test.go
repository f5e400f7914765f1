package app

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

// Messages are completed, also those of loggers that were made from the first one; attributes stay as they are.
func TestHinting(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	base := slog.NewTextHandler(&out, nil)
	hint := func(s string) string { return strings.ReplaceAll(s, "weir doctor", "weir doctor -c x") }
	log := slog.New(hinting{base, hint})
	log.Info("see weir doctor", "error", "weir doctor")
	log.With("a", 1).Info("see weir doctor")
	log.WithGroup("g").Info("see weir doctor", "a", 1)
	slog.New(hinting{base, nil}).Info("see weir doctor")
	lines := strings.Split(out.String(), "\n")
	for i, want := range []string{`msg="see weir doctor -c x" error="weir doctor"`, `msg="see weir doctor -c x" a=1`, `msg="see weir doctor -c x" g.a=1`, `msg="see weir doctor"`} {
		if !strings.HasSuffix(lines[i], want) {
			t.Errorf("%q, want %q at its end", lines[i], want)
		}
	}
}
