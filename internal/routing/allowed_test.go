package routing_test

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"weir/internal/fault"
	"weir/internal/routing"
)

// A pattern means what the same regular expression means.
func TestMatches(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.StringOfN(rapid.SampledFrom([]rune("ab/*")), 0, 9, -1).Draw(t, "pattern")
		text := rapid.StringOfN(rapid.SampledFrom([]rune("ab/")), 0, 9, -1).Draw(t, "text")
		want := regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, ".*") + "$").MatchString(text)
		if got := routing.Matches(pattern, text); got != want {
			t.Fatalf("%q of %q: %t", pattern, text, got)
		}
	})
}

func TestAllowedModels(t *testing.T) {
	t.Parallel()
	snap := snapshot(t, offer("alpha", "acme/one", "1", "1"), offer("beta", "acme/one", "1", "1"), offer("alpha", "zeta/two", "1", "1"))
	for _, c := range []struct {
		asked  string // models, separated by spaces
		lists  [][]string
		served string // model of the first attempt, "" refused
	}{
		{"acme/one", nil, "acme/one"},
		{"acme/one", [][]string{{"acme/*"}}, "acme/one"},
		{"acme/one", [][]string{{"zeta/*", "acme/one"}}, "acme/one"},
		{"acme/one", [][]string{{"zeta/*"}}, ""},
		{"acme/one", [][]string{{"ACME/*"}}, ""},
		{"acme/one", [][]string{{"acme"}}, ""},
		{"acme/one", [][]string{{"acme/*"}, {"zeta/*"}}, ""},
		{"acme/one zeta/two", [][]string{{"zeta/*"}}, "zeta/two"},
		{"zeta/two:floor", [][]string{{"zeta/two"}}, "zeta/two:floor"},
		{"zeta/two:floor", [][]string{{"zeta/two:floor"}}, "zeta/two:floor"},
		{"zeta/two", [][]string{{"zeta/two:floor"}}, ""},
	} {
		plan, err := routing.Choose(routing.Query{Models: strings.Fields(c.asked), Preferences: routing.Preferences{Models: c.lists}, Explain: true, Rand: func() float64 { return 0 }}, snap)
		switch {
		case c.served == "":
			if !fault.Is(err, fault.PermissionDenied) || len(plan.Attempts) > 0 || !strings.Contains(fault.From(err).Public, "This key may not call") {
				t.Errorf("%+v: %v", c, err)
			}
			for _, by := range dropped(plan) {
				if by != "allowed_models" {
					t.Errorf("%+v: dropped by %s", c, by)
				}
			}
		case err != nil || plan.Attempts[0].Slug != c.served:
			t.Errorf("%+v: %v, %v", c, plan.Attempts, err)
		}
	}
}
