package alert

import (
	"cmp"
	"math"
	"slices"
	"time"

	"weir/internal/catalog/edit"
	"weir/internal/console"
)

// World is what the console knows, of all nodes.
type World struct {
	Now      time.Time
	Nodes    []console.Node  // that give signs of life, the one that looks first
	Gone     []console.Node  // that have given none for a while, and did not say that they end
	Checks   []console.Check // about money
	Fetched  bool            // the rate is fetched every day, so that it can be old
	Provider func(endpoint string) string
	Out      []edit.Out // what operators took out of service
}

// Fact is whether something is well. What is not among the facts is not known.
type Fact struct {
	Kind    Kind
	Subject string
	Bad     bool
	Value   int
	Failed  int64
	Calls   int64
	Detail  string
	Since   time.Time // when it began, zero: now
}

const (
	day = 24 * time.Hour
	mib = 1 << 20
)

// Find compares the world with the rules that are on.
func Find(rules []Rule, w *World) (facts []Fact) {
	for i := range rules {
		if r := &rules[i]; r.On {
			facts = append(facts, finders[r.Kind](r, w)...)
		}
	}
	return facts
}

var finders = map[Kind]func(*Rule, *World) []Fact{
	Provider: func(r *Rule, w *World) []Fact { return failing(r, w, w.Provider) },
	Endpoint: func(r *Rule, w *World) []Fact { return failing(r, w, func(id string) string { return id }) },
	Ejected:  ejected,
	Money:    money,
	Prices: func(r *Rule, w *World) []Fact {
		return aged(r, w, console.PricesCheck, func(k *console.Check) bool { return k.Detail != "" })
	},
	Rate: func(r *Rule, w *World) []Fact {
		return aged(r, w, console.RateCheck, func(k *console.Check) bool { return w.Fetched && !k.At.IsZero() })
	},
	Certificate: certificates,
	Disk:        disks,
	Journal:     journal,
	Nodes:       nodes,
}

// failing adds up what all nodes have counted.
func failing(r *Rule, w *World, of func(endpoint string) string) (facts []Fact) {
	sums := map[string]*Fact{}
	for i := range w.Nodes {
		for _, e := range w.Nodes[i].Endpoints {
			served, failed := e.Served, e.Failed
			if r.Minutes == Spans[1] {
				served, failed = e.ServedLong, e.FailedLong
			}
			subject := of(e.ID)
			if subject == "" || served+failed == 0 {
				continue
			}
			f := sums[subject]
			if f == nil {
				f = &Fact{Kind: r.Kind, Subject: subject}
				sums[subject] = f
			}
			f.Failed += failed
			f.Calls += served + failed
		}
	}
	for _, f := range sums {
		if f.Calls >= int64(r.Calls) {
			f.Value = int(100 * f.Failed / f.Calls)
			f.Bad = f.Value >= r.Limit
			facts = append(facts, *f)
		}
	}
	slices.SortFunc(facts, func(x, y Fact) int { return cmp.Compare(x.Subject, y.Subject) })
	return facts
}

// ejected finds what some node sends no calls, and what operators have ejected or drained. What is not among its facts serves.
func ejected(r *Rule, w *World) (facts []Fact) {
	since := map[string]time.Time{}
	for i := range w.Nodes {
		for _, e := range w.Nodes[i].Endpoints {
			if first, known := since[e.ID]; e.Ejected && (!known || !e.Since.IsZero() && e.Since.Before(first)) {
				since[e.ID] = cmp.Or(e.Since, w.Now)
			}
		}
	}
	for id, at := range since {
		facts = append(facts, Fact{Kind: r.Kind, Subject: id, Bad: true, Since: at})
	}
	for i := range w.Out {
		if o := &w.Out[i]; !o.Over(w.Now) {
			facts = append(facts, Fact{Kind: r.Kind, Subject: o.Target, Bad: true, Detail: o.Reason, Since: o.Since})
		}
	}
	slices.SortFunc(facts, func(x, y Fact) int { return cmp.Compare(x.Subject, y.Subject) })
	return facts
}

// money has the checks that are laws; ages and the journal have rules of their own.
func money(r *Rule, w *World) (facts []Fact) {
	for i := range w.Checks {
		k := &w.Checks[i]
		if k.At.IsZero() || k.Kind != console.LedgerCheck && k.Kind != console.AsideCheck && k.Kind != console.AuditCheck {
			continue
		}
		facts = append(facts, Fact{Kind: r.Kind, Subject: k.Kind, Bad: !k.OK, Value: int(k.Value), Detail: k.Detail})
	}
	return facts
}

func aged(r *Rule, w *World, kind string, known func(*console.Check) bool) []Fact {
	for i := range w.Checks {
		if k := &w.Checks[i]; k.Kind == kind && known(k) {
			return []Fact{{Kind: r.Kind, Bad: int(k.Value) > r.Limit, Value: int(k.Value), Detail: k.Detail}}
		}
	}
	return nil
}

func certificates(r *Rule, w *World) (facts []Fact) {
	for i := range w.Nodes {
		n := &w.Nodes[i]
		if n.CertificateEnds.IsZero() {
			continue
		}
		left := n.CertificateEnds.Sub(w.Now)
		least := min(time.Duration(r.Limit)*day, n.CertificateEnds.Sub(n.CertificateFrom)/4) // one of a few days is renewed late
		facts = append(facts, Fact{Kind: r.Kind, Subject: n.ID, Bad: left < least, Value: int(math.Floor(left.Hours() / 24))})
	}
	return facts
}

func disks(r *Rule, w *World) (facts []Fact) {
	for i := range w.Nodes {
		if n := &w.Nodes[i]; n.DiskFull > 0 {
			facts = append(facts, Fact{Kind: r.Kind, Subject: n.ID, Bad: int(n.DiskFull) >= r.Limit, Value: int(n.DiskFull)})
		}
	}
	return facts
}

func journal(r *Rule, w *World) []Fact {
	lag := 0.0
	for i := range w.Nodes {
		lag += w.Nodes[i].LagBytes
	}
	return []Fact{{Kind: r.Kind, Bad: lag > float64(r.Limit)*mib, Value: int(math.Ceil(lag / mib))}}
}

// nodes finds those that serve something else than the node that looks, and those that are gone.
func nodes(r *Rule, w *World) (facts []Fact) {
	for i := range w.Nodes {
		n := &w.Nodes[i]
		facts = append(facts, Fact{Kind: r.Kind, Subject: n.ID, Bad: n.Differs != "", Detail: n.Differs})
	}
	for i := range w.Gone {
		n := &w.Gone[i]
		facts = append(facts, Fact{Kind: r.Kind, Subject: n.ID, Bad: true, Value: int(w.Now.Sub(n.Seen).Minutes()), Since: n.Seen})
	}
	return facts
}
