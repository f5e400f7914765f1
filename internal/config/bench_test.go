package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/internal/config"
)

// A catalog of 2,000 models and 3,000 endpoints is read, checked and built.
func BenchmarkLoad(b *testing.B) {
	var text strings.Builder
	for p, models := range []int{2000, 1000} {
		if p == 0 {
			text.WriteString("providers:\n")
		}
		fmt.Fprintf(&text, "  - id: provider%d\n    base_url: http://127.0.0.1:1/v1\n    api_key: upstream\n    models:\n", p)
		for i := range models {
			fmt.Fprintf(&text, "      - id: vendor/model-%d\n        upstream_id: model-%d\n        context_length: 131072\n        max_output: 8192\n        input: [text, image]\n        output: [text]\n        prices: {prompt: \"0.0001\", completion: \"0.0002\"}\n", i, i)
		}
	}
	file := filepath.Join(b.TempDir(), "weir.yaml")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := config.Load(file, func(string) (string, bool) { return "", false }, nil); err != nil {
			b.Fatal(err)
		}
	}
}
