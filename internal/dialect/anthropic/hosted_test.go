package anthropic_test

import (
	"testing"

	"weir/internal/dialect/anthropic"
	"weir/internal/upstream/upstreamtest"
)

// What providers write of the tools that they have run.
func TestHosted(t *testing.T) {
	t.Parallel()
	upstreamtest.Hosted(t, new(anthropic.Dialect), "testdata/hosted", 6)
}
