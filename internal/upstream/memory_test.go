package upstream_test

import (
	"strings"
	"sync/atomic"
	"testing"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
)

type counted struct{ atomic.Int64 }

func (c *counted) Force(n int64) { c.Add(n) }

// A large answer counts with all the memory that it takes, also one that is cut; a small one counts nothing.
func TestAnswersReportTheirMemory(t *testing.T) {
	t.Parallel()
	for size, least := range map[int]int64{100: 0, 30 << 10: 0, 1 << 20: 1 << 20, 3 << 20: 2 << 20} {
		var c counted
		a := dialect.Answer{
			Endpoint: &catalog.Endpoint{Provider: &catalog.Provider{ID: "p", Name: "P"}},
			Request:  &completion.Request{Memory: &c}, Limits: dialect.Limits{Whole: 2 << 20}, Length: -1,
			Body: dialect.NewBody(strings.NewReader(strings.Repeat("x", size))),
		}
		_, _ = a.ReadAll(nil)
		if n := c.Load(); n < least || least == 0 && n != 0 || n > 4*int64(size) {
			t.Errorf("%d bytes count as %d", size, n)
		}
	}
}
