package nodes_test

import (
	"net/http"
	"testing"

	"weir/internal/apikey"
	"weir/internal/app/apptest"
	"weir/internal/store/postgres/pgtest"
)

// An event of a call at one node arrives at the other, with the amounts that its pages show. Either node resumes what was missed at the other.
func TestEventsOnTwoNodes(t *testing.T) {
	t.Parallel()
	nodes := apptest.StartNodes(t, 2, pgtest.New(t), apptest.Quick)
	here, there := nodes[0], nodes[1]
	o := here.NewOwner(t, 10, apikey.NewKey{})
	anything := func(map[string]any) bool { return true }
	f := there.Follow(t, o.Pages.Key, "topics=calls,money")
	f.Until("ready", anything)
	call := func() {
		t.Helper()
		if got := o.Chat(t, map[string]any{"model": "test/next", "messages": []any{map[string]any{"role": "user", "content": "hello"}}}); got.Status != http.StatusOK {
			t.Fatalf("status %d: %s", got.Status, got.Body)
		}
	}
	call()
	f.Until("calls", func(data map[string]any) bool { return data["calls"] == 1.0 })
	call()
	want := o.Page(t, "/api/overview")
	f.Until("money", func(data map[string]any) bool {
		return data["available"] == want["available"] && data["balance"] == want["balance"]
	})
	f.Stop()

	call()
	o.Page(t, "/api/overview") // it is in the database now
	again := here.Follow(t, o.Pages.Key, "topics=calls&after="+f.Last)
	again.Until("ready", anything)
	again.Until("calls", func(data map[string]any) bool { return data["calls"] == 3.0 })

	// No other account gets these events, whatever id it resumes from.
	stranger := here.NewOwner(t, 10, apikey.NewKey{})
	none := here.Follow(t, stranger.Pages.Key, "topics=calls&after="+f.Last)
	none.Until("ready", func(data map[string]any) bool {
		if calls := data["calls"].(map[string]any)["calls"]; calls != 0.0 {
			t.Errorf("another account gets events of %v calls", calls)
		}
		return true
	})
}
