package nodes_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/apikey"
	"weir/internal/app/apptest"
	"weir/internal/store/postgres/pgtest"
)

// A stop ends the streams of a key on every node, also on one that only looks by the clock. They are charged for what they have delivered, and a key
// beside it goes on.
func TestStopReachesOtherNodes(t *testing.T) {
	t.Parallel()
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		stopped(t, []*apptest.Gateway{apptest.StartGateway(t)})
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		stopped(t, apptest.StartNodes(t, 2, pgtest.New(t)))
	})
}

func stopped(t *testing.T, nodes []*apptest.Gateway) {
	keys := nodes[0].Open(t, apptest.Opening{Amount: 1000 * 1e9, Keys: []*apikey.Limit{nil, nil}})
	key, err := nodes[0].Node.Admin().Keys.ByHash(t.Context(), "", apikey.Hash(keys[0].Key))
	if err != nil {
		t.Fatal(err)
	}
	body := func(frames string) []byte {
		return []byte(`{"model":"test/flat","stream":true,"messages":[{"role":"user","content":"[[sim gap=20ms frames=` + frames + `]] hello"}]}`)
	}
	var begun, ended sync.WaitGroup
	begun.Add(2 * len(nodes))
	answers := make([]*apptest.Answer, 2*len(nodes))
	for i, a := range apptest.Everywhere(nodes, keys) {
		ended.Go(func() {
			frames := "100000" // half an hour
			if i%2 == 1 {
				frames = "20"
			}
			answers[i] = a.Read(t, body(frames), begun.Done)
		})
	}
	begun.Wait()
	began := time.Now()
	// Another program writes the stop to the store, so no node has stopped anything by itself.
	if err := nodes[0].Node.Admin().Store.Nodes.AddStop(t.Context(), key.ID); err != nil {
		t.Fatal(err)
	}
	ended.Wait()
	t.Logf("ended after %s", time.Since(began))
	for i, a := range answers {
		if said := strings.Contains(string(a.Body), "The calls of this key were stopped."); said != (i%2 == 0) {
			t.Errorf("call %d: status %d: %.300s", i, a.Status, a.Body)
		}
		if i%2 == 1 {
			a.WantComplete(t, true)
		}
	}
	nodes[0].WantBalanced(t)
	if c := keys[0].Credits(t); apptest.Parse(t, c.TotalUsage) == 0 || c.Reserved != "0" {
		t.Errorf("%+v", c)
	}
}
