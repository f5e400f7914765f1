package nodes_test

import (
	"testing"

	"weir/internal/app/apptest"
	"weir/internal/audit"
	"weir/internal/catalog/edit"
	"weir/internal/routing"
	"weir/internal/store/postgres/pgtest"
)

// What one node takes out of service is out on the others, and on one that starts later.
func TestOutOfServiceOnAllNodes(t *testing.T) {
	t.Parallel()
	dsn := pgtest.New(t)
	nodes := apptest.StartNodes(t, 2, dsn)
	by := audit.Actor{Name: "olga"}
	is := func(gw *apptest.Gateway) routing.Service {
		outs := gw.Node.Health().Outs()
		if outs == nil {
			return routing.InService
		}
		return outs("works/test/next")
	}
	agreed := func(want routing.Service) {
		t.Helper()
		apptest.WaitFor(t, "both nodes to know it", func() bool { return is(nodes[0]) == want && is(nodes[1]) == want })
	}
	for _, x := range []struct {
		mode edit.Mode
		want routing.Service
	}{{edit.Drain, routing.Drained}, {edit.Eject, routing.Cut}} {
		if _, err := nodes[0].Node.Editor().TakeOut(t.Context(), edit.TargetOfProvider("works"), x.mode, 0, "", by); err != nil {
			t.Fatal(err)
		}
		agreed(x.want)
	}
	if got := is(apptest.StartNodes(t, 1, dsn)[0]); got != routing.Cut {
		t.Errorf("a node that starts has it as %v", got)
	}
	if _, err := nodes[1].Node.Editor().Return(t.Context(), edit.TargetOfProvider("works"), by); err != nil {
		t.Fatal(err)
	}
	agreed(routing.InService)
}
