package apptest

import (
	"testing"

	"weir/internal/money"
)

// Bill returns the cost of an answer at the prices of the grid's models.
func (s *Said) Bill(t *testing.T, hour bool) money.Nano {
	t.Helper()
	var sum money.Sum
	write := "0.125"
	if hour {
		write = "0.2"
	}
	reasoning := max(s.Reasoned, 0)
	for _, line := range []struct {
		n     int64
		price string
	}{{s.Prompt - s.Read - s.Written, "0.1"}, {s.Read, "0.01"}, {s.Written, write}, {s.Answer - reasoning, "0.4"}, {reasoning, "0.3"}} {
		sum.PerThousand(line.n, Price(t, line.price).Nano)
	}
	cost, err := sum.Ceil()
	if err != nil {
		t.Fatal(err)
	}
	return cost
}

func (s *Said) WantText(t *testing.T, text, finish string) {
	t.Helper()
	if s.Text != text || s.Finish != finish || len(s.Calls) != 0 {
		t.Errorf("%q (%s, %d calls), want %q (%s)", s.Text, s.Finish, len(s.Calls), text, finish)
	}
}

func (s *Said) WantCall(t *testing.T, names ...string) {
	t.Helper()
	seen := map[string]bool{}
	for i, c := range s.Calls {
		if i >= len(names) || c.Name != names[i] || c.Arguments != `{"city":"Perm"}` || c.ID == "" || seen[c.ID] {
			t.Errorf("call %d: %+v", i, c)
		}
		seen[c.ID] = true
	}
	if len(s.Calls) != len(names) || s.Finish != "tools" {
		t.Fatalf("%d calls, finish %s (%s), want %v", len(s.Calls), s.Finish, s.Native, names)
	}
}

// Comparable returns the answer without the part that a client sends back, because the order of its members varies.
func (s *Said) Comparable() *Said {
	out := *s
	out.Back = nil
	return &out
}
