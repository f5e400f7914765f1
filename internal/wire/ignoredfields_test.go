package wire

import (
	"testing"

	"weir/internal/completion"
)

// What is passed without a look would pass with one.
func TestIgnoredFieldsAreHarmless(t *testing.T) {
	t.Parallel()
	for name, harmless := range harmless {
		if !harmless || completion.Diverts(name) || mayHold(name) || completion.GatewayOnly(name) {
			t.Errorf("%s is not harmless", name)
		}
	}
}
