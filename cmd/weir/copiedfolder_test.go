package main_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"weir/internal/ledger/journal"
	"weir/internal/store/postgres/pgtest"
)

// Two processes serve copies of one data directory on one database. The one that began first logs this and ends. What either of them
// delivered is charged once. Started again, it gets a new identity and runs in parallel with the other.
func TestCopiedDataDirectory(t *testing.T) {
	t.Parallel()
	for _, store := range []string{"SQLite", "PostgreSQL"} {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			dsn := filepath.Join(t.TempDir(), "books.db")
			if store == "PostgreSQL" {
				dsn = pgtest.New(t)
			}
			upstream := simulator(t)
			at := func() *site {
				dir := t.TempDir()
				s := &site{dir: dir, file: filepath.Join(dir, "weir.yaml"), upstream: upstream, node: &node{client: newClient(t), model: "test/chat"}}
				s.write(t, s.config(settings{price: "0.4", server: "shutdown_delay: 0s"})+"store: {dsn: \""+dsn+"\"}\nlog: {access: false}\n")
				return s
			}
			older, newer := at(), at()
			weir(t, "user", "add", "anna", "-c", older.file)
			weir(t, "topup", "anna", "1000", "-c", older.file)
			older.APIKey = strings.TrimSpace(weir(t, "key", "add", "-q", "anna", "-c", older.file))
			newer.APIKey = older.APIKey
			older.serve(t)
			var reported []reply
			say := func(s *site, must bool) {
				r, broken := s.whole(t.Context(), fmt.Sprint("call ", len(reported)))
				if broken == nil {
					reported = append(reported, r)
				} else if must {
					t.Fatal(broken)
				}
			}
			for range 5 {
				say(older, true)
			}
			if err := os.CopyFS(filepath.Join(newer.dir, "data"), os.DirFS(filepath.Join(older.dir, "data"))); err != nil {
				t.Fatal(err)
			}
			// os.CopyFS keeps no modes, and a node takes no master key that others may read.
			if err := os.Chmod(filepath.Join(newer.dir, "data", "master.key"), 0o600); err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
			newer.serve(t)
			waitFor(t, "the older life to end", func() bool {
				say(newer, true)
				say(older, false)
				return older.ended()
			})
			if older.err == nil {
				t.Error("it ended as if all was well")
			}
			if !strings.Contains(older.stderr.String(), `"level":"ERROR","msg":"another node began with a copy of this data directory`) {
				t.Errorf("it did not say why:\n%s", older.stderr)
			}
			older.serve(t)
			ids := map[string]bool{}
			for _, s := range []*site{older, newer} {
				id, err := journal.Node(filepath.Join(s.dir, "data", "journal"))
				if err != nil || id == "" || ids[id] {
					t.Errorf("identity %q, %v", id, err)
				}
				ids[id] = true
			}
			for range 5 {
				say(older, true)
				say(newer, true)
			}
			for _, s := range []*site{older, newer} {
				s.signal(t, syscall.SIGTERM)
				<-s.exited
				if s.err != nil {
					t.Errorf("%v\n%s", s.err, s.stderr)
				}
			}
			verify(t, "-c", older.file)
			newer.serve(t)
			for _, r := range reported {
				var is struct {
					Data struct {
						Cost json.Number `json:"total_cost"`
					}
				}
				if status, err := newer.getJSON("/v1/generation?id="+r.id, &is); err != nil || status != http.StatusOK || is.Data.Cost != r.usage.Cost {
					t.Errorf("%s: status %d, %v; charged %s, reported %s", r.id, status, err, is.Data.Cost, r.usage.Cost)
				}
			}
		})
	}
}
