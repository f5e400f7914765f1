package alert

import (
	"context"
	"time"

	"weir/internal/audit"
)

// RuleStore keeps rules.
type RuleStore interface {
	// AlertRules lists the rules that are not as the program has them.
	AlertRules(ctx context.Context) ([]Rule, error)
	// PutAlertRule keeps a rule if the kept one has this version, 0 for none. It fails with fault.Conflict.
	PutAlertRule(ctx context.Context, r Rule, version int64, now time.Time, e audit.Event) error
	// DropAlertRule makes a rule as the program has it. Without one, there is nothing to do.
	DropAlertRule(ctx context.Context, k Kind, version int64, now time.Time, e audit.Event) error
}

// ChannelStore keeps channels.
type ChannelStore interface {
	// AlertChannels lists all, by id.
	AlertChannels(ctx context.Context) ([]Channel, error)
	// PutAlertChannel keeps a channel if the kept one has this version, 0 for none. It is no longer failed. It fails with fault.Conflict.
	PutAlertChannel(ctx context.Context, c Channel, version int64, now time.Time, e audit.Event) error
	// DropAlertChannel removes a channel and what waits for it. It fails with fault.NotFound, and with fault.Conflict for another version.
	DropAlertChannel(ctx context.Context, id string, version int64, now time.Time, e audit.Event) error
	// RewrapAlertChannel puts to in the place of the secret from, and does nothing when it was changed meanwhile.
	RewrapAlertChannel(ctx context.Context, id string, from, to []byte) (done bool, err error)
}

// IncidentStore keeps incidents, and what of them is to be said.
type IncidentStore interface {
	// OpenIncidents lists those that last, the oldest first.
	OpenIncidents(ctx context.Context) ([]Incident, error)
	// ApplyChanges applies each change that another node has not made meanwhile, and writes its message for each channel that is on and
	// wants such incidents. An end is written for those that have another message of the incident, whatever they want now.
	ApplyChanges(ctx context.Context, changes []Change, now time.Time) (written int, err error)
	// Incidents lists at most n that began before an id, the newest first, "" for the first page.
	Incidents(ctx context.Context, before string, n int) ([]Reported, error)
	// SweepIncidents forgets at most n that ended before, with their messages, and reports how many.
	SweepIncidents(ctx context.Context, before time.Time, n int) (int, error)
}

// Work is a channel that one node sends to, until its claim ends.
type Work struct {
	Channel
	Attempts int // begun without a success, this one included
	Fence    int64
	Waiting  []Message   // the oldest first
	Sent     []time.Time // when posts were sent within the last hour
}

// Outcome is what becomes of a claim.
type Outcome struct {
	Answer
	Post    string    // id of what was sent
	Parts   []Message // that it said
	Summary bool
	Dropped []Message // that are given up
	At      time.Time
	NextAt  time.Time // nothing is sent before
}

// PostStore hands out channels for which messages wait.
type PostStore interface {
	// ClaimAlerts hands out a channel that is on, not failed and due, for which messages wait; nil without one.
	ClaimAlerts(ctx context.Context, now, until time.Time) (*Work, error)
	// EndAlerts ends a claim. It does nothing, and says so, when another node has the channel meanwhile.
	EndAlerts(ctx context.Context, w *Work, o *Outcome) (done bool, err error)
	// NoteAlertTest notes the answer to a test, with its line of the audit log. One that arrived mends a channel.
	NoteAlertTest(ctx context.Context, c *Channel, a *Answer, now time.Time, e audit.Event) error
}

// Store is all of them.
type Store interface {
	RuleStore
	ChannelStore
	IncidentStore
	PostStore
}
