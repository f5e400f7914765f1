package sqlite_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir/internal/history"
	"weir/internal/idempotency"
	"weir/internal/store/sqlite"
	"weir/internal/store/sqlite/sqlitetest"
)

// What was deleted, and what a sweep has deleted, is in no file of the database any more, however large it was and whatever was written since.
func TestDeletedContentIsGoneFromTheDisk(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_700_000_000, 0)
	path := sqlitetest.New(t, t.TempDir())
	s, err := sqlite.Open(t.Context(), path, sqlite.WithClock(func() time.Time { return at }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	canary := func(i int) []byte { return []byte("CANARY-" + strings.Repeat(string(rune('a'+i)), 12)) }
	has := func(want []byte) (found bool) {
		files, err := filepath.Glob(path + "*")
		if err != nil || len(files) < 2 {
			t.Fatalf("files %v, %v", files, err)
		}
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			found = found || bytes.Contains(b, want)
		}
		return found
	}
	bounds := history.Bounds{Responses: 1000, Bytes: 1 << 30}
	sizes := []int{10, 3_000, 9_000, 300_000} // inside a page, most of one, over one, over many
	for i, size := range sizes {
		text := append(append([]byte(`[{"text":"`), bytes.Repeat(append(canary(i), ' '), size/20+1)...), `"}]`...)
		r := &history.Response{Account: "usr_1", ID: "resp_" + string(rune('a'+i)), Status: history.Completed, Object: text, Input: text, Output: text, CreatedAt: at, ExpiresAt: at.Add(time.Duration(i) * time.Hour)}
		if err := s.Pages.KeepResponses(t.Context(), []*history.Response{r}); err != nil {
			t.Fatal(err)
		}
		e := idempotency.Entry{User: "usr_1", Name: "n" + string(rune('a'+i)), Hash: "h", Generation: "gen", Owner: "o", CreatedAt: at, StaleAt: at.Add(time.Hour), ExpiresAt: at.Add(time.Minute)}
		if _, err := s.Pages.BeginIdempotent(t.Context(), e, idempotency.Bounds{Entries: 100, Bytes: 1 << 30}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Pages.FinishIdempotent(t.Context(), e.User, e.Name, e.Generation, idempotency.Answer{Status: 200, Type: "application/json", Body: text}); err != nil {
			t.Fatal(err)
		}
		if !has(canary(i)) {
			t.Fatalf("%d bytes were never on the disk: this test would see nothing", size)
		}
	}
	if done, err := s.Pages.DeleteResponse(t.Context(), "usr_1", "resp_d"); err != nil || !done {
		t.Fatal(done, err)
	}
	if n, err := s.Pages.SweepResponses(t.Context(), at.Add(90*time.Minute), bounds, 100); err != nil || n != 2 {
		t.Fatal(n, err)
	}
	if n, err := s.Pages.SweepIdempotent(t.Context(), at.Add(2*time.Minute), 100); err != nil || n != len(sizes) {
		t.Fatal(n, err)
	}
	for i, size := range sizes {
		if kept := i == 2; has(canary(i)) != kept {
			t.Errorf("%d bytes: on the disk %t, want %t", size, !kept, kept)
		}
	}
}
