package alert_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/internal/alert"
	"weir/internal/audit"
	"weir/internal/catalog/edit"
	"weir/internal/console"
	"weir/internal/seal"
)

// memory is a store in memory, with the guarantees that storetest checks of databases.
type memory struct {
	alert.Store // what is not asked
	rules       []alert.Rule
	channels    []alert.Channel
	incidents   []alert.Reported
	waiting     map[string][]alert.Message
	sent        map[string][]time.Time
	next        map[string]time.Time
	leased      map[string]time.Time
	attempts    map[string]int
	said        map[string]bool // "CHANNEL INCIDENT": the channel has a message of it
	mark        string
}

func (m *memory) AlertRules(context.Context) ([]alert.Rule, error)       { return m.rules, nil }
func (m *memory) AlertChannels(context.Context) ([]alert.Channel, error) { return m.channels, nil }

func (m *memory) PutAlertChannel(_ context.Context, c alert.Channel, _ int64, _ time.Time, _ audit.Event) error {
	m.channels = append(m.channels, c)
	return nil
}

func (m *memory) OpenIncidents(context.Context) (open []alert.Incident, _ error) {
	for _, i := range m.incidents {
		if i.EndedAt.IsZero() {
			open = append(open, i.Incident)
		}
	}
	return open, nil
}

func (m *memory) ApplyChanges(_ context.Context, changes []alert.Change, now time.Time) (written int, _ error) {
	for _, c := range changes {
		at := slices.IndexFunc(m.incidents, func(i alert.Reported) bool {
			return i.EndedAt.IsZero() && i.Kind == c.Kind && i.Subject == c.Subject
		})
		switch {
		case c.New && at >= 0, !c.New && at < 0:
			continue
		case c.New:
			c.ID = fmt.Sprintf("al_%06d", len(m.incidents))
			m.incidents = append(m.incidents, alert.Reported{Incident: c.Incident})
		default:
			m.incidents[at].Incident = c.Incident
		}
		if c.What == "" {
			continue
		}
		for i := range m.channels {
			ch := &m.channels[i]
			said := m.said[ch.ID+" "+c.ID]
			if c.What == alert.Over && !said || c.What != alert.Over && !ch.Wants(&c.Incident) {
				continue
			}
			m.said[ch.ID+" "+c.ID] = true
			m.waiting[ch.ID] = append(m.waiting[ch.ID], alert.Message{Incident: c.Incident, What: c.What, At: now})
			written++
		}
	}
	return written, nil
}

func (m *memory) SweepIncidents(context.Context, time.Time, int) (int, error) { return 0, nil }

func (m *memory) ClaimAlerts(_ context.Context, now, until time.Time) (*alert.Work, error) {
	for i := range m.channels {
		c := &m.channels[i]
		if len(m.waiting[c.ID]) == 0 || c.Failed != "" || m.next[c.ID].After(now) || m.leased[c.ID].After(now) {
			continue
		}
		m.leased[c.ID] = until
		m.attempts[c.ID]++
		w := &alert.Work{Channel: *c, Attempts: m.attempts[c.ID], Waiting: slices.Clone(m.waiting[c.ID])}
		for _, at := range m.sent[c.ID] {
			if now.Sub(at) < time.Hour {
				w.Sent = append(w.Sent, at)
			}
		}
		return w, nil
	}
	return nil, nil
}

func (m *memory) EndAlerts(_ context.Context, w *alert.Work, o *alert.Outcome) (bool, error) {
	m.leased[w.ID], m.next[w.ID] = time.Time{}, o.NextAt
	gone := o.Dropped
	if o.Sent {
		m.sent[w.ID] = append(m.sent[w.ID], o.At)
		gone = append(slices.Clone(gone), o.Parts...)
	}
	if o.Sent || len(o.Parts) == 0 {
		m.attempts[w.ID] = 0
	}
	for i := range m.channels {
		if c := &m.channels[i]; c.ID == w.ID && o.Failed {
			c.Failed = o.Words
		}
	}
	m.waiting[w.ID] = slices.DeleteFunc(m.waiting[w.ID], func(x alert.Message) bool {
		return slices.ContainsFunc(gone, func(g alert.Message) bool {
			return g.Incident.ID == x.Incident.ID && g.What == x.What && g.At.Equal(x.At)
		})
	})
	return true, nil
}

// receiver notes what arrives.
type receiver struct {
	posts  []alert.Post
	to     []string // the channel of each
	at     []time.Time
	answer func(n int) alert.Answer
	tries  int
}

func (r *receiver) Send(_ context.Context, c *alert.Channel, _ string, p *alert.Post, now time.Time) alert.Answer {
	r.tries++
	a := alert.Answer{Sent: true}
	if r.answer != nil {
		a = r.answer(r.tries)
	}
	if a.Sent {
		r.posts, r.at, r.to = append(r.posts, *p), append(r.at, now), append(r.to, c.ID)
	}
	return a
}

// fleet is some nodes of one store, and a world that they all see.
type fleet struct {
	*memory
	receiver
	now   time.Time
	world alert.World
	does  [3]float64 // calls, moved and failing of an ejection
	nodes []*alert.Watcher
}

func newFleet(nodes int) *fleet {
	f := &fleet{memory: &memory{waiting: map[string][]alert.Message{}, sent: map[string][]time.Time{}, next: map[string]time.Time{}, leased: map[string]time.Time{}, attempts: map[string]int{}, said: map[string]bool{}},
		now: time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)}
	f.channels = []alert.Channel{{ID: "ops", Way: alert.Mail, Address: "ops@example.org", Language: "en", On: true}}
	for i := range nodes {
		f.nodes = append(f.nodes, f.node(fmt.Sprint("n", i)))
	}
	return f
}

func (f *fleet) node(id string) *alert.Watcher {
	m := alert.NewManager(alert.Deps{Store: f, Ring: func() *seal.Ring { return nil }, Sender: &f.receiver, Base: func() string { return "https://weir.example" },
		Names: func(alert.Kind, string) string { return "" }, Now: func() time.Time { return f.now }})
	return alert.NewWatcher(m, alert.WatchDeps{
		Node: id, Chance: func() float64 { return 0 },
		World: func() *alert.World {
			w := f.world
			w.Provider = func(endpoint string) string { return endpoint }
			return &w
		},
		Mark: func(context.Context) (string, error) { return f.mark, nil },
		Swap: func(_ context.Context, old, value string) (bool, error) {
			if f.mark != old {
				return false, nil
			}
			f.mark = value
			return true, nil
		},
		Report: func(string, string, error) {},
		Effect: func(context.Context, string) (float64, float64, float64, error) {
			return f.does[0], f.does[1], f.does[2], nil
		},
	})
}

// round lets all nodes look and send, and time pass.
func (f *fleet) round(d time.Duration) {
	for _, n := range f.nodes {
		n.Look(context.Background())
		n.SendAll(context.Background())
	}
	f.now = f.now.Add(d)
}

// report makes a node report attempts at providers, by their ids.
func (f *fleet) report(served, failed map[string]int64) {
	n := console.Node{ID: "n0"}
	for id := range served {
		n.Endpoints = append(n.Endpoints, console.Endpoint{ID: id, Served: served[id], Failed: failed[id]})
	}
	f.world.Nodes = []console.Node{n}
}

func (f *fleet) said() (list []string) {
	for i := range f.posts {
		p := &f.posts[i]
		list = append(list, string(p.What)+" "+p.Title)
	}
	return list
}

func want(t interface {
	Helper()
	Fatalf(string, ...any)
}, got []string, wanted ...string) {
	t.Helper()
	if !slices.Equal(got, wanted) {
		t.Fatalf("was said:\n%s\nwanted:\n%s", strings.Join(got, "\n"), strings.Join(wanted, "\n"))
	}
}

// Of an incident each channel hears once that it begins, once a day that it lasts, and once that it is over, however many nodes there are and
// also when the one that looks ends in the middle.
func TestSaidOnce(t *testing.T) {
	t.Parallel()
	f := newFleet(2)
	f.report(map[string]int64{"hut": 6}, map[string]int64{"hut": 34})
	for range 20 {
		f.round(15 * time.Second)
	}
	want(t, f.said(), "began Provider hut fails")
	if text := f.posts[0].Text; !strings.Contains(text, "34 of 40 attempts at it failed within 5 minutes, 85 %; the limit is 50 %") || !strings.Contains(text, "Since 29 November 12:00 UTC") {
		t.Errorf("the text is %q", text)
	}
	f.nodes = []*alert.Watcher{f.node("n2"), f.nodes[1]} // the first one was killed, and another one begins
	f.world.Nodes = []console.Node{{ID: "n2"}}           // which knows nothing of the past
	for range 20 {
		f.round(15 * time.Second)
	}
	want(t, f.said(), "began Provider hut fails")
	f.report(map[string]int64{"hut": 6}, map[string]int64{"hut": 34})
	for range 26 {
		f.round(time.Hour)
	}
	want(t, f.said(), "began Provider hut fails", "lasts Still: Provider hut fails")
	f.report(map[string]int64{"hut": 40}, map[string]int64{"hut": 1})
	for range 30 {
		f.round(15 * time.Second)
	}
	want(t, f.said(), "began Provider hut fails", "lasts Still: Provider hut fails", "over Over: Provider hut fails")
	if text := f.posts[2].Text; !strings.HasPrefix(text, "All is well again.\nIt began 29 November 12:00 UTC and lasted 1 d 2 h") {
		t.Errorf("the end is %q", text)
	}
}

// An endpoint that a node ejects is an incident after some minutes, with what it does, and is over when it has served for some minutes, also where
// no node speaks of it any more. What an operator takes out of service is one at once, and is over when it is returned.
func TestEjected(t *testing.T) {
	t.Parallel()
	f := newFleet(2)
	f.does = [3]float64{311, 300.4, 10.6}
	eject := func(is bool) {
		f.world.Nodes = []console.Node{{ID: "n0"}, {ID: "n1"}}
		if is {
			f.world.Nodes[1].Endpoints = []console.Endpoint{{ID: "hut/acme/tiny:free", Ejected: true, Since: f.now}}
		}
	}
	eject(true)
	for range 4 * 4 {
		f.round(15 * time.Second)
	}
	want(t, f.said()) // it may come back by itself
	for range 4 * 2 {
		f.round(15 * time.Second)
	}
	want(t, f.said(), "began Endpoint hut/acme/tiny:free gets no calls")
	if p := &f.posts[0]; !strings.Contains(p.Text, "Of the 311 calls an hour that it served, 300 go to other endpoints, and 11 fail") || !strings.Contains(p.Text, "Since 29 November 12:00 UTC") || p.Parts[0].Incident.Severity() != alert.Critical {
		t.Errorf("%q is %s", p.Text, p.Parts[0].Incident.Severity())
	}
	f.does = [3]float64{} // what was measured at the beginning stays
	eject(false)
	for range 4 * 6 {
		f.round(15 * time.Second)
	}
	want(t, f.said()[1:], "over Over: Endpoint hut/acme/tiny:free gets no calls")
	if i := f.posts[1].Parts[0].Incident; i.Calls != 311 || i.Why != alert.Fine {
		t.Errorf("%+v", i)
	}
	f.world.Out = []edit.Out{{Target: "provider:hut", Mode: edit.Eject, Since: f.now, Reason: "maintenance"}}
	f.round(15 * time.Second)
	want(t, f.said()[2:], "began Out of service: provider hut")
	if !strings.HasPrefix(f.posts[2].Text, "An operator took it out of service (maintenance).") {
		t.Errorf("%q", f.posts[2].Text)
	}
	f.world.Out = nil
	f.round(15 * time.Second)
	want(t, f.said()[3:], "over Over: Out of service: provider hut")
}

// A channel gets the kinds and severities that it has chosen. It hears of what gets worse when it is bad enough for it, and of the end of all that it
// has heard of, whatever it has chosen since, and of no other end.
func TestChoices(t *testing.T) {
	t.Parallel()
	f := newFleet(1)
	channel := func(id string, least alert.Severity, kinds ...alert.Kind) alert.Channel {
		return alert.Channel{ID: id, Way: alert.Mail, Address: "a@example.org", Language: "en", On: true, Least: least, Kinds: kinds}
	}
	f.channels = []alert.Channel{channel("all", alert.Warning), channel("pager", alert.Critical), channel("disks", alert.Warning, alert.Disk), channel("money", "", alert.Money, alert.Rate)}
	heard := func() map[string]string {
		by := map[string][]string{}
		for i := range f.posts {
			by[f.to[i]] = append(by[f.to[i]], string(f.posts[i].What))
		}
		f.posts, f.to = nil, nil
		out := map[string]string{}
		for id, list := range by {
			out[id] = strings.Join(list, " ")
		}
		return out
	}
	full := func(percent float64) {
		f.world.Nodes = []console.Node{{ID: "n0", Report: console.Report{DiskFull: percent}}}
		for range 4 * 6 {
			f.round(15 * time.Second)
		}
	}
	check := func(what string, want map[string]string) {
		t.Helper()
		if got := heard(); !maps.Equal(got, want) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	full(91)
	check("a warning", map[string]string{"all": "began", "disks": "began"})
	full(98)
	check("it gets worse", map[string]string{"all": "lasts", "disks": "lasts", "pager": "lasts"})
	full(99)
	check("as bad as it was", map[string]string{})
	f.channels[2].Kinds = []alert.Kind{alert.Rate}
	f.channels = append(f.channels, channel("new", alert.Warning))
	full(50)
	check("its end", map[string]string{"all": "over", "disks": "over", "pager": "over"})
	f.world.Checks = []console.Check{{Kind: console.LedgerCheck, At: f.now, Detail: "entries do not sum to zero"}}
	full(50)
	check("money", map[string]string{"all": "began", "pager": "began", "money": "began", "new": "began"})
}

// What nothing is known of ends after an hour, and says why.
func TestQuietEnd(t *testing.T) {
	t.Parallel()
	f := newFleet(1)
	f.report(map[string]int64{"hut": 0}, map[string]int64{"hut": 40})
	f.round(15 * time.Second)
	f.world.Nodes = nil
	for range 5 * 61 {
		f.round(12 * time.Second)
	}
	want(t, f.said(), "began Provider hut fails", "over Over: Provider hut fails")
	if !strings.HasPrefix(f.posts[1].Text, "Nothing has been heard of it for an hour") {
		t.Errorf("the end is %q", f.posts[1].Text)
	}
}

// Many incidents at once are ten messages and then a summary that names the rest.
func TestNoFlood(t *testing.T) {
	t.Parallel()
	f := newFleet(2)
	served, failed := map[string]int64{}, map[string]int64{}
	for i := range 40 {
		served[fmt.Sprintf("p%02d", i)], failed[fmt.Sprintf("p%02d", i)] = 0, 20
	}
	f.report(served, failed)
	for range 60 {
		f.round(15 * time.Second)
	}
	if len(f.posts) != 11 || f.posts[10].What != alert.Summary || len(f.posts[10].Parts) != 30 || f.posts[10].Title != "30 more alerts within an hour" || !strings.HasSuffix(f.posts[10].Text, "and 15 more") {
		t.Fatalf("was said: %s", strings.Join(f.said(), "\n"))
	}
}

// A receiver that asks to wait is left alone for as long, and one that refuses for good gets nothing more.
func TestReceiverRefuses(t *testing.T) {
	t.Parallel()
	f := newFleet(1)
	f.report(map[string]int64{"hut": 0}, map[string]int64{"hut": 40})
	f.answer = func(n int) alert.Answer {
		if n == 1 {
			return alert.Answer{Wait: 10 * time.Minute, Words: "Too Many Requests: retry after 600"}
		}
		return alert.Answer{Failed: true, Words: "Forbidden: bot was kicked from the group chat"}
	}
	for range 39 {
		f.round(15 * time.Second)
	}
	if f.tries != 1 {
		t.Fatalf("%d tries within ten minutes", f.tries)
	}
	for range 100 {
		f.round(15 * time.Minute)
	}
	if f.tries != 2 || f.channels[0].Failed != "Forbidden: bot was kicked from the group chat" {
		t.Fatalf("%d tries, %q", f.tries, f.channels[0].Failed)
	}
}

// Whatever happens to providers, nodes and the receiver: no more than eleven messages in any hour, each incident begins once and ends once, ends
// are not said before beginnings, and what waits is said as soon as the receiver takes it.
func TestLaws(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := newFleet(rapid.IntRange(1, 3).Draw(t, "nodes"))
		down := false
		f.answer = func(int) alert.Answer { return alert.Answer{Sent: !down, Words: "away"} }
		served, failed := map[string]int64{}, map[string]int64{}
		for i := range rapid.IntRange(1, 15).Draw(t, "providers") {
			served[fmt.Sprint("p", i)] = 40
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch id := rapid.SampledFrom([]string{"p0", "p1", "p2", "p3", "p7", "p11"}).Draw(t, "id"); rapid.IntRange(0, 5).Draw(t, "what") {
			case 0, 1:
				if _, there := served[id]; there {
					served[id], failed[id] = failed[id], served[id]
				}
			case 2:
				down = !down
			case 3:
				f.nodes[0] = f.node(fmt.Sprint("r", f.now.Unix()))
			case 4:
				for id := range served {
					served[id], failed[id] = 0, 40
				}
			}
			f.report(served, failed)
			for range rapid.IntRange(1, 40).Draw(t, "rounds") {
				f.round(15 * time.Second)
			}
		}
		down = false
		for range 12 * 4 {
			f.round(5 * time.Minute)
		}
		f.check(t)
	})
}

func (f *fleet) check(t *rapid.T) {
	if n := len(f.waiting["ops"]); n > 0 {
		t.Fatalf("%d messages wait", n)
	}
	for i := range f.at {
		if i >= 11 && f.at[i].Sub(f.at[i-11]) < time.Hour {
			t.Fatalf("more than eleven messages from %s to %s", f.at[i-11], f.at[i])
		}
	}
	count := map[string]int{}
	for i := range f.posts {
		for _, m := range f.posts[i].Parts {
			k := m.Incident.ID + " " + string(m.What)
			if count[k]++; m.What != alert.Lasts && count[k] > 1 {
				t.Fatalf("%s was said twice", k)
			}
			if m.What == alert.Over && count[m.Incident.ID+" began"] == 0 {
				t.Fatalf("%s ended before it began", m.Incident.ID)
			}
		}
	}
	for i := range f.incidents {
		one := &f.incidents[i]
		if count[one.ID+" began"] != 1 || (count[one.ID+" over"] == 1) == one.EndedAt.IsZero() {
			t.Fatalf("%s: %d beginnings and %d ends were said", one.ID, count[one.ID+" began"], count[one.ID+" over"])
		}
	}
}
