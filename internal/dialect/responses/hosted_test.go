package responses_test

import (
	"testing"

	"weir/internal/dialect/responses"
	"weir/internal/upstream/upstreamtest"
)

// What providers write of the tools that they have run.
func TestHosted(t *testing.T) {
	t.Parallel()
	upstreamtest.Hosted(t, new(responses.Dialect), "testdata/hosted", 6)
}
