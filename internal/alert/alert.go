// Package alert reports to operators what they should act on: a provider fails, a money check failed, a disk fills. It finds facts in what the
// console knows, begins and ends incidents, and sends each once, by mail, webhook, Slack and Telegram. It opens no connection and measures nothing.
package alert

import (
	"strings"
	"time"

	"weir/internal/fault"
)

// Kind is what a rule looks at.
type Kind string

// The kinds.
const (
	Provider    Kind = "provider"    // the share of failed attempts at a provider
	Endpoint    Kind = "endpoint"    // likewise at an endpoint
	Ejected     Kind = "ejected"     // an endpoint gets no calls, because it failed too often or because an operator says so
	Money       Kind = "money"       // a money check failed
	Prices      Kind = "prices"      // the price list is old
	Rate        Kind = "rate"        // the fetched rate is old
	Certificate Kind = "certificate" // the certificate of a node ends
	Disk        Kind = "disk"        // the disk of a node is full
	Journal     Kind = "journal"     // the database does not take charges
	Nodes       Kind = "nodes"       // a node serves something else, or is gone
)

// Kinds lists all, in the order of pages and documents.
var Kinds = []Kind{Provider, Endpoint, Ejected, Money, Prices, Rate, Certificate, Disk, Journal, Nodes}

// Rule says when an incident of a kind begins. There is one rule for each kind.
type Rule struct {
	Kind    Kind
	On      bool
	Limit   int // percent, days, MiB or minutes: see Unit; 0 where there is nothing to set
	Minutes int // how far back attempts count: 5 or 30; 0 for other kinds
	Calls   int // fewer attempts say nothing; 0 for other kinds
	Version int64
	Changed bool // the database has it; else it is as the program has it
}

// form is what a kind of rules has.
type form struct {
	unit        string // of the limit; "": none
	least, most int    // of the limit
	usual       Rule
}

var forms = map[Kind]form{
	Provider:    {"percent", 1, 100, Rule{On: true, Limit: 50, Minutes: 5, Calls: 20}},
	Endpoint:    {"percent", 1, 100, Rule{Limit: 80, Minutes: 5, Calls: 20}},
	Ejected:     {"minutes", 1, 1440, Rule{On: true, Limit: 5}},
	Money:       {"", 0, 0, Rule{On: true}},
	Prices:      {"days", 1, 3650, Rule{On: true, Limit: 30}},
	Rate:        {"days", 1, 3650, Rule{On: true, Limit: 5}},
	Certificate: {"days", 1, 365, Rule{On: true, Limit: 14}},
	Disk:        {"percent", 1, 100, Rule{On: true, Limit: 90}},
	Journal:     {"MiB", 1, 1 << 20, Rule{On: true, Limit: 1}},
	Nodes:       {"minutes", 1, 1440, Rule{On: true, Limit: 2}},
}

// Unit is that of the limits of a kind: percent, days, MiB, minutes, or "" where nothing can be set.
func (k Kind) Unit() string { return forms[k].unit }

// Counted reports whether a kind counts attempts.
func (k Kind) Counted() bool { return forms[k].usual.Calls > 0 }

// Usual is the rule of a kind as the program has it.
func (k Kind) Usual() Rule {
	r := forms[k].usual
	r.Kind = k
	return r
}

// ParseKind reads the name of a kind. It fails with fault.NotFound.
func ParseKind(name string) (Kind, error) {
	if _, ok := forms[Kind(name)]; !ok {
		return "", fault.Newf(fault.NotFound, "alert.ParseKind", "There is no alert %q. There are %s.", name, join(Kinds)).Coded("alert_kind", "kind", name)
	}
	return Kind(name), nil
}

// Spans are how far back attempts may be counted, in minutes.
var Spans = []int{5, 30}

const mostCalls = 1_000_000

// Check fails with fault.Invalid for a rule that cannot hold.
func (r *Rule) Check() error {
	const op = "alert.Rule.Check"
	f := forms[r.Kind]
	switch {
	case r.Limit < f.least || r.Limit > f.most:
		return fault.Field(op, "limit", "limit must be from %d to %d.", f.least, f.most).Coded("alert_limit", "least", f.least, "most", f.most)
	case r.Kind.Counted() && r.Minutes != 5 && r.Minutes != 30:
		return fault.Field(op, "minutes", "minutes must be 5 or 30.").Coded("alert_minutes")
	case r.Kind.Counted() && (r.Calls < 1 || r.Calls > mostCalls):
		return fault.Field(op, "calls", "calls must be from %d to %d.", 1, mostCalls).Coded("alert_calls", "least", 1, "most", mostCalls)
	case !r.Kind.Counted() && (r.Minutes != 0 || r.Calls != 0):
		return fault.Field(op, "calls", "Only rules about providers and endpoints count calls.").Coded("alert_no_calls")
	}
	return nil
}

// Rules completes the rules of a database with those that it does not have, in the order of Kinds.
func Rules(kept []Rule) []Rule {
	out := make([]Rule, len(Kinds))
	for i, k := range Kinds {
		out[i] = k.Usual()
		for _, r := range kept {
			if r.Kind == k {
				out[i] = r
			}
		}
	}
	return out
}

// Incident is something that is not well, from its beginning to its end.
type Incident struct {
	ID      string
	Kind    Kind
	Subject string // provider, endpoint, check or node; of Ejected by hand, a target of package edit; "" where there is only one
	BeganAt time.Time
	SeenAt  time.Time // when it was last found
	FineAt  time.Time // since when all is well again, zero: it is not
	SaidAt  time.Time // when messages of it were last written
	EndedAt time.Time // zero: it lasts
	Why     End       // why it ended
	Value   int       // in the unit of the limit, as it was last found; of Ejected, calls an hour that go elsewhere
	Limit   int       // of the rule
	Failed  int64     // attempts, of kinds that count them; of Ejected, calls an hour that nothing else takes
	Calls   int64     // attempts; of Ejected, calls an hour before it was
	Minutes int       // in which they were counted
	Detail  string    // what is wrong, in a sentence of the console
}

// End is why an incident ended.
type End string

// The ends.
const (
	Fine  End = "fine"  // it was found to be well
	Quiet End = "quiet" // nothing is known of it any more
	Off   End = "off"   // its rule was switched off
)

// What is what a message says of an incident.
type What string

// What messages say. A summary is of several incidents, and a test of none.
const (
	Began   What = "began"
	Lasts   What = "lasts"
	Over    What = "over"
	Summary What = "summary"
	Test    What = "test"
)

func join[T ~string](list []T) string {
	names := make([]string, len(list))
	for i, v := range list {
		names[i] = string(v)
	}
	return strings.Join(names, ", ")
}
