package alert

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/seal"
)

// Sender sends posts. Its answers and errors never have a secret.
type Sender interface {
	Send(ctx context.Context, c *Channel, secret string, p *Post, now time.Time) Answer
}

// Deps are what a Manager works with.
type Deps struct {
	Store    Store
	Ring     func() *seal.Ring
	Sender   Sender
	Callback func(param, address string) error // refuses addresses that must not be called
	Base     func() string                     // how people reach the interface, without a slash at its end
	Names    func(Kind, string) string         // how people call a subject, "" where the subject is its name
	Now      func() time.Time
	Wake     func() // has the node look again at once; nil for commands
}

// Manager keeps rules and channels. It is safe for concurrent use.
type Manager struct{ Deps }

// NewManager makes a Manager.
func NewManager(d Deps) *Manager { return &Manager{d} }

// Condition is what must hold of something that is put.
type Condition struct {
	New     bool
	Version int64
	Dry     bool
}

func (c Condition) met(there bool, version int64) error {
	const op = "alert.Put"
	switch {
	case c.New && there:
		return fault.New(fault.Conflict, op, "There is such a channel already.").Coded("alert_exists")
	case c.Version != 0 && c.Version != version:
		return Moved()
	}
	return nil
}

// Moved is the refusal of a change of something that has another version.
func Moved() error {
	return fault.New(fault.Conflict, "alert.Put", "Somebody else has changed it since then: load it again.").Coded("alert_moved")
}

// Rules are those that hold, in the order of Kinds.
func (m *Manager) Rules(ctx context.Context) ([]Rule, error) {
	kept, err := m.Store.AlertRules(ctx)
	return Rules(kept), err
}

// Rule is the rule of a kind.
func (m *Manager) Rule(ctx context.Context, k Kind) (r Rule, err error) {
	all, err := m.Rules(ctx)
	for i := range all {
		if all[i].Kind == k {
			r = all[i]
		}
	}
	return r, err
}

// PutRule makes a rule as it is given, and reports whether anything changed.
func (m *Manager) PutRule(ctx context.Context, r Rule, only Condition, by audit.Actor) (changed bool, err error) {
	if err := r.Check(); err != nil {
		return false, err
	}
	was, err := m.Rule(ctx, r.Kind)
	if err != nil {
		return false, err
	}
	if err := only.met(was.Changed, was.Version); err != nil {
		return false, err
	}
	before := was
	was.Version, was.Changed, r.Version, r.Changed = 0, false, 0, false
	if was == r && (before.Changed || !only.New) || only.Dry {
		return was != r, nil
	}
	r.Version = before.Version + 1
	defer m.wake()
	return true, m.Store.PutAlertRule(ctx, r, before.Version, m.Now(), audit.Event{Actor: by, Action: audit.AlertChanged, Target: string(r.Kind), Before: was.String(), After: r.String()})
}

// ResetRule makes a rule as the program has it.
func (m *Manager) ResetRule(ctx context.Context, k Kind, only Condition, by audit.Actor) error {
	was, err := m.Rule(ctx, k)
	if err != nil || !was.Changed {
		return err
	}
	if err := only.met(false, was.Version); err != nil || only.Dry {
		return err
	}
	usual := k.Usual()
	defer m.wake()
	return m.Store.DropAlertRule(ctx, k, was.Version, m.Now(), audit.Event{Actor: by, Action: audit.AlertChanged, Target: string(k), Before: was.String(), After: usual.String()})
}

// String is a rule for the audit log.
func (r *Rule) String() string {
	if !r.On {
		return "off"
	}
	text := "on"
	if unit := r.Kind.Unit(); unit != "" {
		text = fmt.Sprintf("%d %s", r.Limit, unit)
	}
	if r.Kind.Counted() {
		text += fmt.Sprintf(" of %d calls in %d minutes", r.Calls, r.Minutes)
	}
	return text
}

// String is a channel for the audit log, without its secret.
func (c *Channel) String() string {
	text := string(c.Way)
	if c.Address != "" {
		text += " " + c.Address
	}
	if c.Last4 != "" {
		text += " ..." + c.Last4
	}
	text += " " + c.Language
	if len(c.Kinds) > 0 {
		text += " only " + join(c.Kinds)
	}
	if c.Least == Critical {
		text += " critical"
	}
	if !c.On {
		text += " off"
	}
	return text
}

// Channels are all, by id.
func (m *Manager) Channels(ctx context.Context) ([]Channel, error) { return m.Store.AlertChannels(ctx) }

// Channel finds one. It fails with fault.NotFound.
func (m *Manager) Channel(ctx context.Context, id string) (Channel, error) {
	all, err := m.Channels(ctx)
	if err != nil {
		return Channel{}, err
	}
	for i := range all {
		if all[i].ID == id {
			return all[i], nil
		}
	}
	return Channel{}, fault.New(fault.NotFound, "alert.Channel", "There is no such channel.").Coded("alert_no_channel")
}

// PutChannel makes a channel as it is given, and reports whether anything changed. A nil secret leaves that of the same way as it is,
// and "" takes it away.
func (m *Manager) PutChannel(ctx context.Context, c Channel, secret *string, only Condition, by audit.Actor) (changed bool, err error) {
	was, err := m.Channel(ctx, c.ID)
	there := err == nil
	if err != nil && !fault.Is(err, fault.NotFound) {
		return false, err
	}
	if err := only.met(there, was.Version); err != nil {
		return false, err
	}
	kept := ""
	if was.Way == c.Way {
		if kept, err = m.secretOf(&was); err != nil && secret == nil {
			return false, err
		}
	}
	now := kept
	if secret != nil {
		now = strings.TrimSpace(*secret)
	}
	if err := c.check(now, m.Callback); err != nil {
		return false, err
	}
	c.choose()
	if there && was.Way == c.Way && was.Address == c.Address && was.Language == c.Language && was.On == c.On && was.Least == c.Least && slices.Equal(was.Kinds, c.Kinds) && now == kept && was.Failed == "" {
		return false, nil
	}
	if all, err := m.Channels(ctx); err != nil || !there && len(all) >= MostChannels {
		if err == nil {
			err = fault.Newf(fault.Conflict, "alert.PutChannel", "There are %d channels already: remove one first.", MostChannels).Coded("alert_channels", "most", MostChannels)
		}
		return false, err
	}
	if only.Dry {
		return true, nil
	}
	c.Sealed, c.Last4, c.Version = nil, "", was.Version+1
	if now != "" {
		if c.Sealed, err = m.Ring().Seal(now, sealedRow(c.ID), sealedColumn); err != nil {
			return false, err
		}
		c.Last4 = now[max(len(now)-4, 0):]
	}
	e := audit.Event{Actor: by, Action: audit.AlertChannelAdded, Target: c.ID, After: c.String()}
	if there {
		e.Action, e.Before = audit.AlertChannelChanged, was.String()
	}
	defer m.wake()
	return true, m.Store.PutAlertChannel(ctx, c, was.Version, m.Now(), e)
}

// RemoveChannel removes one.
func (m *Manager) RemoveChannel(ctx context.Context, id string, only Condition, by audit.Actor) error {
	was, err := m.Channel(ctx, id)
	if err != nil {
		return err
	}
	if err := only.met(false, was.Version); err != nil || only.Dry {
		return err
	}
	return m.Store.DropAlertChannel(ctx, id, was.Version, m.Now(), audit.Event{Actor: by, Action: audit.AlertChannelRemoved, Target: id, Before: was.String()})
}

// choose brings what a channel gets into its one form.
func (c *Channel) choose() {
	c.Kinds = slices.DeleteFunc(slices.Clone(Kinds), func(k Kind) bool { return !slices.Contains(c.Kinds, k) })
	if len(c.Kinds) == 0 {
		c.Kinds = nil
	}
	c.Least = cmp.Or(c.Least, Warning)
}

func (m *Manager) wake() {
	if m.Wake != nil {
		m.Wake()
	}
}

func (m *Manager) secretOf(c *Channel) (string, error) {
	if len(c.Sealed) == 0 {
		return "", nil
	}
	return m.Ring().Open(c.Sealed, sealedRow(c.ID), sealedColumn)
}

// Test sends a test to a channel, also when it is off, and returns the receiver's answer. One that arrives mends a channel that had failed.
func (m *Manager) Test(ctx context.Context, id string, by audit.Actor) (Answer, error) {
	c, err := m.Channel(ctx, id)
	if err != nil {
		return Answer{}, err
	}
	secret, err := m.secretOf(&c)
	if err != nil {
		return Answer{}, err
	}
	now := m.Now()
	defer m.wake() // what waits for a channel that had failed
	p := m.compose(&c, Test, nil)
	p.ID = "alert-test-" + c.ID + "-" + now.UTC().Format("20060102150405.000")
	a := m.Sender.Send(ctx, &c, secret, p, now)
	e := audit.Event{Actor: by, Action: audit.AlertChannelTested, Target: c.ID, After: "it arrived"}
	if !a.Sent {
		e.After = a.Reason.Sentence(a.Words)
	}
	return a, m.Store.NoteAlertTest(ctx, &c, &a, now, e)
}

// Incidents lists at most n, the newest first.
func (m *Manager) Incidents(ctx context.Context, before string, n int) ([]Reported, error) {
	return m.Store.Incidents(ctx, before, n)
}

// Rewrap wraps all secrets with the current master key, and reports how many it changed.
func (m *Manager) Rewrap(ctx context.Context) (n int, err error) {
	all, err := m.Channels(ctx)
	if err != nil {
		return 0, err
	}
	for i := range all {
		c := &all[i]
		if len(c.Sealed) == 0 {
			continue
		}
		to, _, err := m.Ring().Rewrap(c.Sealed, sealedRow(c.ID), sealedColumn)
		if err != nil {
			return n, err
		}
		if bytes.Equal(to, c.Sealed) {
			continue
		}
		done, err := m.Store.RewrapAlertChannel(ctx, c.ID, c.Sealed, to)
		if err != nil {
			return n, err
		}
		if done {
			n++
		}
	}
	return n, nil
}
