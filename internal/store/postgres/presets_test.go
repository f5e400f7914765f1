package postgres_test

import (
	"testing"

	"weir/internal/store/storetest"
)

func TestPresets(t *testing.T) {
	t.Parallel()
	storetest.Presets(t, func(t *testing.T) storetest.PresetStore {
		s, _ := openStore(t)
		return s
	})
}
