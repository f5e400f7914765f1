package nodes_test

import (
	"net/http"
	"testing"
	"time"

	"weir/internal/apikey"
	"weir/internal/app/apptest"
	"weir/internal/audit"
	"weir/internal/store/postgres/pgtest"
)

// A node whose clock stands still reads presets not again by the clock: that of another node reaches it by hints alone. Other changes arrive, too.
func TestHintsReachOtherNodes(t *testing.T) {
	t.Parallel()
	stopped := time.Now()
	dsn := pgtest.New(t)
	here := apptest.StartNodes(t, 1, dsn, apptest.Sealing(t))[0]
	there := apptest.StartNodes(t, 1, dsn, apptest.Sealing(t), func(s *apptest.Setup) { s.Clock = func() time.Time { return stopped } })[0]
	by := audit.Actor{Name: "test"}
	o := here.NewOwner(t, 1000, apikey.NewKey{})
	a := &apptest.Account{Gw: there, Key: o.Account.Key}
	hello := func(model string) int {
		return a.Chat(t, map[string]any{"model": model, "messages": []any{map[string]any{"role": "user", "content": "hello"}}}).Status
	}
	key, err := here.Node.Admin().Keys.ByHash(t.Context(), "", apikey.Hash(a.Key))
	if err != nil {
		t.Fatal(err)
	}
	off := true
	for _, x := range []struct {
		what          string
		model         string
		before, after int
		change        func() error
	}{
		{"a preset", "@preset/tone", http.StatusNotFound, http.StatusOK, func() error {
			o.MakePreset(t, map[string]any{"name": "tone", "model": "test/next"})
			return nil
		}},
		{"preferences", "test/flat", http.StatusOK, http.StatusNotFound, func() error {
			return here.Node.Admin().Users.SetPreferences(t.Context(), key.User, `{"only":["nobody"]}`, by)
		}},
		{"a disabled user", "test/flat", http.StatusNotFound, http.StatusUnauthorized, func() error {
			return here.Node.Admin().Users.SetDisabled(t.Context(), key.User, true, by)
		}},
		{"a user who may call again", "test/flat", http.StatusUnauthorized, http.StatusNotFound, func() error {
			return here.Node.Admin().Users.SetDisabled(t.Context(), key.User, false, by)
		}},
		{"a disabled key", "test/flat", http.StatusNotFound, http.StatusUnauthorized, func() error {
			_, err := here.Node.Admin().Keys.Change(t.Context(), "", key.Hash, apikey.Change{Disabled: &off}, by)
			return err
		}},
	} {
		if got := hello(x.model); got != x.before {
			t.Fatalf("before %s: status %d, want %d", x.what, got, x.before)
		}
		if err := x.change(); err != nil {
			t.Fatal(err)
		}
		apptest.WaitFor(t, "the other node to know of "+x.what, func() bool { return hello(x.model) == x.after })
	}
}
