package gemini_test

import (
	"testing"

	"weir/internal/dialect/gemini"
	"weir/internal/upstream/upstreamtest"
)

// What providers write of the tools that they have run.
func TestHosted(t *testing.T) {
	t.Parallel()
	upstreamtest.Hosted(t, new(gemini.Dialect), "testdata/hosted", 7)
}
