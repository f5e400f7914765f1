package app

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"weir/internal/config"
	"weir/internal/console"
	"weir/internal/loop"
	"weir/internal/rawjson"
	"weir/internal/store/nodedb"
)

// serving is what a node says of itself, so that others can compare: versions by name.
type serving map[string]string

// Names of a serving beside those of sections, which begin with sectionOf.
const (
	servesProgram = "program"
	servesCatalog = "catalog"
	servesPrices  = "prices"
	servesRate    = "rate"
	servesKeys    = "master_keys" // ids of the master keys that the node has, between spaces
	servesFigures = "figures"     // what changes all the time: see reportText
	sectionOf     = "config."
)

func (s serving) String() string {
	var w rawjson.Writer
	w.Object()
	for _, name := range slices.Sorted(maps.Keys(s)) {
		w.Name(name).Text(s[name])
	}
	w.EndObject()
	return string(w.B)
}

func readServing(text string) serving {
	s := serving{}
	for m := rawjson.MembersOf([]byte(text)); m.Next(); {
		s[string(m.Name)] = rawjson.Text(m.Value)
	}
	return s
}

// serves is what this node serves now.
func (g *Gateway) serves() serving {
	s := serving{servesProgram: Version, servesCatalog: g.catalog.Load().Version}
	for name, digest := range config.Sections(&g.cfg) {
		s[sectionOf+name] = digest
	}
	l := g.live
	l.mu.Lock()
	defer l.mu.Unlock()
	s[servesRate], s[servesPrices], s[servesKeys] = l.rate, l.list, strings.Join(l.ring.IDs(), " ")
	return s
}

// differs says in which respects another node serves something else, "" when in none.
func (s serving) differs(other serving) string {
	var list, sections []string
	for _, x := range []struct{ name, what string }{{servesProgram, "program"}, {servesPrices, "price list"}, {servesRate, "rate"}} {
		if s[x.name] != other[x.name] {
			list = append(list, fmt.Sprintf("%s %q instead of %q", x.what, other[x.name], s[x.name]))
		}
	}
	if s[servesCatalog] != other[servesCatalog] {
		list = append(list, "other models, providers or prices")
	}
	if s[servesKeys] != other[servesKeys] {
		list = append(list, "other master keys")
	}
	for _, name := range slices.Sorted(maps.Keys(s)) {
		if section, is := strings.CutPrefix(name, sectionOf); is && other[name] != s[name] && s[servesProgram] == other[servesProgram] {
			sections = append(sections, section)
		}
	}
	if sections != nil {
		list = append(list, "other settings in "+strings.Join(sections, ", "))
	}
	return strings.Join(list, "; ")
}

// seenWithin is for how long a node counts that gives no sign of life: it may have been killed.
const seenWithin = time.Minute

// compare says which other nodes serve something else than this one.
func (s serving) compare(self string, all []nodedb.Serving, now time.Time) (differences []string) {
	for _, n := range all {
		if n.Node == self || n.What == "" || now.Sub(n.Seen) > seenWithin {
			continue
		}
		if how := s.differs(readServing(n.What)); how != "" {
			differences = append(differences, fmt.Sprintf("node %s serves something else: %s", n.Node, how))
		}
	}
	return differences
}

// peers is what a node knows of the others.
type peers struct {
	told        string // what this node last published about itself
	before      string // the differences a round ago
	differences atomic.Pointer[[]string]
	nodes       atomic.Pointer[[]console.Node]
	gone        atomic.Pointer[[]console.Node]
}

// Nodes are the other nodes that gave a sign of life lately.
func (p *peers) Nodes() []console.Node {
	if list := p.nodes.Load(); list != nil {
		return *list
	}
	return nil
}

// Gone are the nodes that have given no sign of life for a while, and had not said that they end.
func (p *peers) Gone() []console.Node {
	if list := p.gone.Load(); list != nil {
		return *list
	}
	return nil
}

// missedFor is for how long a node counts as gone; then it is taken to be gone for good.
const missedFor = 24 * time.Hour

// hear notes what the others say.
func (p *peers) hear(mine serving, self string, all []nodedb.Serving, now time.Time) {
	nodes, gone := []console.Node{}, []console.Node{}
	for _, n := range all {
		if n.Node == self || n.What == "" {
			continue
		}
		if silent := now.Sub(n.Seen); silent > seenWithin {
			if silent < missedFor {
				gone = append(gone, console.Node{ID: n.Node, Seen: n.Seen})
			}
			continue
		}
		theirs := readServing(n.What)
		one := theirs.node()
		one.ID, one.Seen, one.Differs = n.Node, n.Seen, mine.differs(theirs)
		nodes = append(nodes, one)
	}
	p.nodes.Store(&nodes)
	p.gone.Store(&gone)
}

// Differences are shown to operators.
func (p *peers) Differences() []string {
	if list := p.differences.Load(); list != nil {
		return *list
	}
	return nil
}

// comparing returns a loop that says what this node serves, and hears what others do. A difference counts when two rounds have seen the same:
// nodes take up a change one after another.
func (g *Gateway) comparing() *loop.Loop {
	return loop.Every(lookEvery, func(ctx context.Context) {
		mine := g.serves()
		if g.cfg.Store.DSN.Postgres() { // other nodes may be there
			report := g.console.Report()
			mine[servesFigures] = reportText(&report)
		}
		if text := mine.String(); text != g.others.told {
			if g.store.Nodes.SetServing(ctx, g.book.Node(), text) == nil {
				g.others.told = text
			}
		}
		all, err := g.store.Nodes.AllServing(ctx)
		if err != nil {
			return // the calls that need the store report that
		}
		g.others.hear(mine, g.book.Node(), all, time.Now())
		list := mine.compare(g.book.Node(), all, time.Now())
		was := g.others.Differences()
		if now := strings.Join(list, "\n"); now != g.others.before {
			g.others.before = now
			return
		}
		g.others.differences.Store(&list)
		for _, what := range list {
			if !slices.Contains(was, what) {
				g.slog.Warn("the nodes differ: " + what)
			}
		}
	})
}

// nodesHaveKey fails when a node that runs has another current master key than this command, and not this one beside it.
func (o *Admin) nodesHaveKey(ctx context.Context) error {
	ring, err := o.cfg.Ring(os.LookupEnv)
	if err != nil || !ring.Ready() {
		return err
	}
	all, err := o.Store.Nodes.AllServing(ctx)
	if err != nil {
		return err
	}
	for _, n := range all {
		if time.Since(n.Seen) > seenWithin || slices.Contains(strings.Fields(readServing(n.What)[servesKeys]), ring.IDs()[0]) {
			continue
		}
		return fmt.Errorf("node %s, which gave its last sign of life %s ago, does not have the master key of this command and could open no secret any more: "+
			"give each node the new key, with the old one in secrets.previous_key_files, restart it, and run this again", n.Node, time.Since(n.Seen).Round(time.Second))
	}
	return nil
}
