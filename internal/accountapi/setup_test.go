package accountapi

import (
	"context"
	"testing"
	"time"

	"weir/internal/apikey"
)

// pagedKeys are the keys of a user, newest first.
type pagedKeys struct {
	apikey.Store
	keys []apikey.Key
}

func (s *pagedKeys) ListKeys(_ context.Context, f apikey.Filter) ([]apikey.Key, error) {
	from := min(f.Offset, len(s.keys))
	return s.keys[from:min(from+f.Count, len(s.keys))], nil
}

// hasKey finds a key that calls models, however many newer ones do not.
func TestHasKey(t *testing.T) {
	t.Parallel()
	management, web, laptop := apikey.Key{Name: "program", Management: true}, apikey.Key{Name: "web"}, apikey.Key{Name: "laptop"}
	many := func(n int, last ...apikey.Key) (keys []apikey.Key) {
		for range n {
			keys = append(keys, management)
		}
		return append(keys, last...)
	}
	for name, x := range map[string]struct {
		keys []apikey.Key
		want bool
	}{
		"none": {nil, false}, "one": {many(0, laptop), true}, "the browser's": {many(0, web), false}, "behind a page": {many(100, laptop), true}, "at the end of one": {many(99, laptop), true},
		"behind three": {many(300, web, laptop), true}, "many without": {many(200), false},
	} {
		keys := apikey.NewManager(&pagedKeys{keys: x.keys}, nil, time.Now, apikey.MostPerUser)
		if got, err := hasKey(t.Context(), Deps{Keys: keys}, "usr_a"); got != x.want || err != nil {
			t.Errorf("%s: %t, %v", name, got, err)
		}
	}
}
