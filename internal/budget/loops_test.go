package budget_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"weir/internal/budget"
)

type saved struct{ list []budget.Loop }

func (s *saved) SaveLoops(_ context.Context, list []budget.Loop) error {
	s.list = append(s.list, list...)
	return nil
}

// An agent that asks for the same tools again and again is a loop, whatever number of tools it goes through; one that does various things is none, and
// an answer without tools ends it. Cases: read, edit and test in turn 134 times; one file read over and over (Kilo-Org/kilocode#3767); a tool that is
// refused each time (Kilo-Org/kilocode#13772).
func TestLoops(t *testing.T) {
	t.Parallel()
	turn := func(n int, tools ...string) (all []string) {
		for i := range n {
			all = append(all, tools[i%len(tools)])
		}
		return all
	}
	various := make([]string, 200)
	for i := range various {
		various[i] = fmt.Sprint("tool_", i*i%37)
	}
	for name, c := range map[string]struct {
		calls []string
		want  string
	}{
		"three in turn":        {turn(402, "read_file", "edit_file", "run_tests"), "read_file,edit_file,run_tests 134 402"},
		"one":                  {turn(20, "read_file"), "read_file 20 20"},
		"too few":              {turn(19, "read_file"), ""},
		"after others":         {append(turn(9, "a", "b", "c", "d"), turn(30, "bash")...), "bash 30 30"},
		"various":              {various, ""},
		"an answer between":    {append(append(turn(15, "bash"), ""), turn(15, "bash")...), ""},
		"several in an answer": {turn(20, "read_file read_file"), "read_file read_file 20 20"},
	} {
		s := &saved{}
		l := budget.NewLoops(s, time.Hour, func(err error) { t.Error(err) })
		at := time.Date(2026, 11, 3, 1, 22, 0, 0, time.UTC)
		for i, tools := range c.calls {
			l.Called("key_1", at.Add(time.Duration(i)*time.Second), strings.Fields(tools))
			l.Called("key_2", at, []string{fmt.Sprint("other_", i%9)})
		}
		l.Write(t.Context())
		got := ""
		if n := len(s.list); n > 0 {
			x := s.list[n-1]
			got = fmt.Sprint(strings.Join(x.Tools, ","), " ", x.Times, " ", x.Calls)
			if x.Key != "key_1" || !x.Since.Before(x.Until) {
				t.Errorf("%s: %+v", name, x)
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
