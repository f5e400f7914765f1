// Package relay runs one call from end to end: plan, hold, attempt, stream, settle or release. It knows no wire: styles pass it a
// completion.Request and a Sink, dialects answer with events. Every path to an upstream goes through it.
package relay

import (
	"context"
	"iter"
	"time"

	"weir/internal/apikey"
	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/record"
	"weir/internal/routing"
	"weir/internal/trace"
	"weir/internal/usage"
)

// Upstream performs attempts. Package upstream implements it.
type Upstream interface {
	// Complete sends req to ep and yields the answer's events. The sequence ends with an event that is Done or with one error,
	// a *fault.Error whose Next says what may be tried. Stopping the iteration or cancelling ctx closes the connection.
	//
	// Of an answer of a conversation, client.Flush is called whenever everything that has arrived was yielded, before more is waited for.
	// client may be nil.
	Complete(ctx context.Context, ep *catalog.Endpoint, req *completion.Request, client Flusher) iter.Seq2[*completion.Event, error]
}

// Shaper makes requests and answers fit where an endpoint cannot do all that a request asks for. Package plugin is one. It is asked only
// about requests for answers of a certain shape, with files, or that are too long, and only when money is held for them. It must be safe
// for concurrent use.
type Shaper interface {
	// Begin is the shaping of one call by a user. It costs nothing and needs no end.
	Begin(user string) Shaping
}

// Shaping shapes the request of one call, for one attempt after the other. What the attempts cost together is bounded.
type Shaping interface {
	// Shape is req as an attempt at ep is to send it, and how the events of the answer are changed; nil: not at all.
	// req itself is not changed. It ends soon after ctx does, and fails with a *fault.Error whose Next says whether another endpoint or
	// model may do.
	Shape(ctx context.Context, ep *catalog.Endpoint, req *completion.Request) (*completion.Request, Reshape, error)
}

// Reshape changes the events of one answer, or ends them with an error where they will not do.
type Reshape func(iter.Seq2[*completion.Event, error]) iter.Seq2[*completion.Event, error]

// Sink is the client's side of one call. A style implements it. Its methods are called from one goroutine. An error from any of them
// means that the client has gone.
type Sink interface {
	// Start begins an answer by an attempt that has produced content. For a whole (not streamed) answer it may be called again after an
	// attempt that broke off; its content is then dropped.
	Start(Served) error
	// Event hands over one event; its slices are valid only during the call.
	Event(*completion.Event) error
	// End closes the answer. The charge is durable by now.
	End(Receipt) error
}

// Flusher is a Sink that may keep what it got until Flush: a burst of events costs one write. It is called from the Sink's goroutine. An
// error means that the client has gone; the next call of another method returns it, too.
type Flusher = interface{ Flush() error }

// Served describes the endpoint that answers.
type Served struct {
	Endpoint *catalog.Endpoint
	Model    string // public slug, variant suffix kept
	Head     completion.Head
}

// Receipt has the usage and the cost of the answer.
type Receipt struct {
	Usage      usage.Usage
	Cost       money.Nano
	OwnKey     bool // the caller's own key was used: Cost is the fee
	Lost       record.Lost
	Cached     *money.Nano // what reading from the provider's cache has saved, below zero when writing cost more; nil: neither was done, or not priced apart
	PromptCost money.Nano  // part of the upstream's or our cost that the prompt caused, rounded up for display
}

// Call is one request of a client, decoded and admitted.
type Call struct {
	Caller     *apikey.Caller
	Limits     []ledger.Limit // that bind the call beside those of its key and of the keys above it: budgets
	Request    *completion.Request
	Generation string
	RequestID  string
	At         time.Time
	Catalog    *catalog.Snapshot // price and model of a charge are those at admission
	API        string            // "completions", "responses", "messages"

	// PromptText yields the prompt's text piece by piece. It is read only when the upstream reports no usage.
	PromptText iter.Seq[[]byte]

	UserAgent, Referer, Title string
	Tags                      []string // by which the account sorts the call: see package tag; recorded
	Parameters                string   // JSON object of the request's settings, "" none; recorded

	Preset        string // name of the preset that the request used, "" none
	PresetVersion int64

	// Deferred is the part of the request in a provider's batch; nil: the call is an ordinary one. A call that only prepares the request is
	// not recorded, and its hold stays in Held.
	Deferred *completion.Deferred
	// Held is the hold that such a call made before, and that this one uses.
	Held *ledger.Hold
	// Alone is set for a request of a batch that is no part of a provider's.
	Alone bool

	// Trace records the attempts and their events; nil: the call is not traced.
	Trace *trace.Call

	// Record is the stored record of the call. Complete sets it, also when it fails; the access log reads it.
	Record *record.Call
}

// prefer lays the request's preferences over those of its account and key: this is the one place through which requests of all styles go.
func (c *Call) prefer() {
	if d := c.Caller.Defaults; d != nil {
		c.Request.Preferences = routing.Merge(d.Preferences, c.Request.Preferences)
	}
	if d := c.Deferred; d != nil {
		d.Required = c.Request.Preferences.Batch == routing.BatchNative
		c.Request.Deferred, c.Request.Needs.Batch = d, true
		if d.Answer != nil {
			c.Request.Needs.Endpoint = d.Endpoint
		}
	}
}

// preparing reports whether the call ends before a provider is called.
func (c *Call) preparing() bool { return c.Deferred.Prepares() }
