package relay_test

import (
	"slices"
	"testing"

	"weir/internal/completion"
	"weir/internal/relay"
)

// keeper is a sink that keeps events until Flush.
type keeper struct{ sink }

func (k *keeper) Flush() error { return k.note("flush") }

// What was delivered is shown before the call is charged for, which may take its time.
func TestFlushBeforeTheCharge(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, offer("alpha", "v/m", "1", "2"))
	w.plays("alpha/v/m", script{text("hello"), finish(completion.Stop), used(10, 5), done()})
	c := w.call(func(c *relay.Call) { c.Request.Stream = true })
	k := &keeper{}
	var charged []bool
	note := func() { charged = append(charged, w.settled(c) != nil) }
	k.at = map[string]func(){"flush": note, "end": note}
	if err := w.relay.Complete(t.Context(), c, k); err != nil {
		t.Fatal(err)
	}
	k.want(t, "start alpha/v/m", "text hello", "finish stop", "usage", "done", "flush", "end")
	if want := []bool{false, true}; !slices.Equal(charged, want) {
		t.Errorf("charged %v; want %v", charged, want)
	}
}
