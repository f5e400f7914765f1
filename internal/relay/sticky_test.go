package relay //nolint:testpackage // the bound is of an unexported cache

import (
	"strconv"
	"testing"
	"time"

	"weir/internal/apikey"
	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/money"
	"weir/internal/routing"
)

// However many conversations there are, so many are remembered at most, and a new one always is.
func TestStickyIsBounded(t *testing.T) {
	t.Parallel()
	s := newSticky(time.Hour)
	m := &catalog.Model{Endpoints: make([]*catalog.Endpoint, 2)}
	ep := &catalog.Endpoint{ID: "e", Model: m}
	ep.Pricing.Base = catalog.Prices{Prompt: money.Price{Nano: 10, Set: true}, CacheRead: money.Price{Nano: 1, Set: true}}
	at := &routing.Attempt{Endpoint: ep, Slug: "v/m"}
	call := &Call{Caller: &apikey.Caller{}, Request: &completion.Request{}, At: time.Unix(1_772_000_000, 0)}
	most := len(s.shards) * perShard
	for i := range 2 * most {
		call.Request.SessionID = strconv.Itoa(i)
		call.At = call.At.Add(time.Millisecond)
		s.keep(call, at)
	}
	held := 0
	for i := range s.shards {
		held += len(s.shards[i].places)
	}
	if held > most || held < most/2 {
		t.Errorf("%d are remembered, want at most %d", held, most)
	}
	key, _ := s.key(call, "v/m", true)
	if _, known := s.shards[key%uint64(len(s.shards))].places[key]; !known {
		t.Error("the last one was forgotten")
	}
}
