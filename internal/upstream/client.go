// Package upstream is the transport to providers: it performs attempts with their credentials, timeouts and limits, in whatever dialect a
// provider has, and keeps secrets out of the errors that are shown. It must not choose endpoints, retry, or know money or a provider's
// wire.
package upstream

import (
	"context"
	"crypto/tls"
	"iter"
	"net"
	"sync"
	"time"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/fault"
	"weir/internal/loop"
	"weir/internal/outbound"
	"weir/internal/redact"
	"weir/internal/upstream/h1"
)

// Timeouts bound the phases of an attempt.
type Timeouts struct {
	Connect         time.Duration `yaml:"connect_timeout"`           // TCP
	TLS             time.Duration `constant:"tls_timeout"`           // handshake
	FirstByte       time.Duration `yaml:"first_byte_timeout"`        // until the response headers of a whole answer
	StreamFirstByte time.Duration `yaml:"stream_first_byte_timeout"` // the same for a stream
	Leave           Leave         `constant:"leave_after"`           // when a provider is left for another
	Idle            time.Duration `yaml:"idle_timeout"`              // while waiting for the next bytes of a body
	Linger          time.Duration `constant:"linger_timeout"`        // for usage and the end mark, once every choice of a stream has ended
	Total           time.Duration `yaml:"total_timeout"`             // a whole answer from start to end
	StreamTotal     time.Duration `yaml:"stream_total_timeout"`      // the same for a stream
	Connection      time.Duration `constant:"connection_age"`        // age at which a connection of our own client is no longer used
}

// Leave is after which silence, from the beginning of an attempt to the first byte of its body, a provider is left while another endpoint can
// be asked. It never lasts longer than the time-outs that hold for the last one.
type Leave struct {
	Stream          time.Duration `constant:"stream"`
	StreamReasoning time.Duration `constant:"stream_reasoning"` // of a model that is silent while it reasons
	Whole           time.Duration `constant:"whole"`            // an answer that comes in one piece, once it is made
	WholeReasoning  time.Duration `constant:"whole_reasoning"`
	Quick           time.Duration `constant:"quick"` // vectors, rankings, moderations
	Media           time.Duration `constant:"media"` // images, speech, transcriptions
}

// patience is how long a provider may be silent: less while another endpoint can be asked when it is left.
func (t *Timeouts) patience(ep *catalog.Endpoint, req *completion.Request, stream bool) time.Duration {
	most := t.FirstByte
	if stream {
		most = t.StreamFirstByte
	}
	if own := ep.Facts.FirstByteTimeout; own > 0 {
		most = own
	}
	if req == nil || !req.Elsewhere {
		return most
	}
	leave := ep.Facts.LeaveAfter
	if leave <= 0 {
		leave = t.Leave.after(ep, req, stream)
	}
	if req.Remaining > 0 && leave >= req.Remaining {
		return most // it would be left for none
	}
	return min(leave, most)
}

// after is the time for a kind of request.
func (l *Leave) after(ep *catalog.Endpoint, req *completion.Request, stream bool) time.Duration {
	if !req.Chats() {
		switch ep.Model.Type {
		case catalog.TypeEmbedding, catalog.TypeRerank, catalog.TypeModeration:
			return l.Quick
		}
		return l.Media
	}
	switch {
	case stream && !ep.ReasonsInSight():
		return l.StreamReasoning
	case stream:
		return l.Stream
	case ep.Params&(catalog.ParamReasoning|catalog.ParamReasoningEffort) != 0:
		return l.WholeReasoning
	}
	return l.Whole
}

// Config configures a Client. It begins with Default; every other field but Dialects may be zero.
type Config struct {
	Timeouts `yaml:",inline"`
	Limits   dialect.Limits `yaml:",inline"`

	Dialects map[string]dialect.Dialect // by catalog.Provider.Dialect
	HTTP2    map[string]bool            // ids of the providers that may be called over HTTP/2
	TLS      *tls.Config                // base for connections, for private certificate authorities; nil: the system's
	Redactor *redact.Redactor           // removes the configured secrets; nil: only text that looks like a secret
	Standard bool                       // use net/http's client instead of our own
	Fetcher  Fetcher                    // reads the addresses in answers; nil: they are not read
	Ways     *outbound.Ways             // of the whole gateway; nil: directly
	Resting  func(Rest)                 // gets each credential that begins to rest; may be nil
	Now      func() time.Time           // for the time that credentials are out of use; nil: the system's clock

	// Tunnel opens a connection to "host:port" through a proxy. It may be nil where no way leads through one.
	Tunnel func(ctx context.Context, through outbound.Proxy, address string) (net.Conn, error)
	// Dial opens connections of our own client to "host:port", where no proxy does; nil: TCP.
	Dial func(ctx context.Context, address string) (net.Conn, error)
	// Wait is what happens between polls of a task at the provider; it fails when ctx ends first; nil: with a timer.
	Wait func(ctx context.Context, d time.Duration) error
}

// Default has the usual times and limits.
func Default() Config {
	return Config{
		Timeouts: Timeouts{
			Connect: 5 * time.Second, TLS: 5 * time.Second, FirstByte: 300 * time.Second, StreamFirstByte: 120 * time.Second,
			Leave: Leave{Stream: 30 * time.Second, StreamReasoning: 90 * time.Second, Whole: 120 * time.Second, WholeReasoning: 240 * time.Second, Quick: 30 * time.Second, Media: 180 * time.Second},
			Idle:  120 * time.Second, Linger: 2 * time.Second, Total: 600 * time.Second, StreamTotal: 1800 * time.Second, Connection: 10 * time.Minute,
		},
		Limits: dialect.DefaultLimits(),
	}
}

// Client implements relay.Upstream over a set of dialects. It is safe for concurrent use.
type Client struct {
	cfg      Config
	targets  sync.Map // catalog.Provider.Wire -> *target
	owned    owned
	uses     keyUses
	making   sync.Mutex
	groups   groups
	names    *h1.Names
	attempts sync.Pool // of *attempt
	drains   sync.WaitGroup
	closing  context.Context
	close    context.CancelFunc
}

// New makes a Client. Close ends it.
func New(cfg Config) *Client {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Wait == nil {
		cfg.Wait = loop.Wait
	}
	c := &Client{cfg: cfg, names: h1.NewNames(nil, nil)}
	c.closing, c.close = context.WithCancel(context.Background())
	return c
}

// Close ends attempts that are only draining and closes idle connections. Running attempts continue.
func (c *Client) Close() {
	c.close()
	c.drains.Wait()
	c.groups.close()
	c.names.Close()
}

// Complete sends req to ep and yields the answer's events. The sequence ends with an event that is Done or with one
// *fault.Error whose Next says what may be tried. Stopping the iteration or cancelling ctx closes the connection at once;
// a cancelled ctx yields fault.Canceled, or its cause when that is a *fault.Error, or fault.Timeout when its deadline passed.
//
// Of an answer of a conversation, client.Flush is called before more is waited for; client may be nil.
func (c *Client) Complete(ctx context.Context, ep *catalog.Endpoint, req *completion.Request, client Flusher) iter.Seq2[*completion.Event, error] {
	return func(yield func(*completion.Event, error) bool) {
		if req.Deferred != nil {
			c.deferred(ep, req, yield)
			return
		}
		if !req.Chats() {
			c.perform(ctx, ep, req, yield)
			return
		}
		a, texter, answer, err := c.open(ctx, ep, req)
		if err != nil {
			yield(nil, c.polish(ep, err))
			return
		}
		defer a.end()
		a.reader = client
		for ev, err := range texter.Events(answer) {
			if err != nil {
				yield(nil, c.polish(ep, err))
				return
			}
			a.done = ev.Done
			if !yield(ev, nil) || ev.Done {
				return
			}
		}
		if a.done {
			return
		}
		yield(nil, c.polish(ep, dialect.Ended(ep)))
	}
}

// Flusher is relay.Flusher.
type Flusher = interface{ Flush() error }

// polish makes sure that an error is a fault, names its provider, and has no secret in its public parts.
func (c *Client) polish(ep *catalog.Endpoint, err error) *fault.Error {
	f := fault.From(err)
	if f.Upstream == nil {
		return f
	}
	if f.Upstream.Provider == "" {
		f.Upstream.Provider = ep.Provider.Name
	}
	secrets := c.secrets(ep.Provider)
	f.Public = scrub(c.cfg.Redactor, ep.Provider, secrets, f.Public, maxPublicBytes)
	f.Upstream.Raw = scrub(c.cfg.Redactor, ep.Provider, secrets, f.Upstream.Raw, maxRawBytes)
	f.Upstream.Words = scrub(c.cfg.Redactor, ep.Provider, secrets, f.Upstream.Words, maxRawBytes)
	f.Upstream.Code = scrub(c.cfg.Redactor, ep.Provider, secrets, f.Upstream.Code, maxCodeBytes)
	if ep.Provider.OwnKey == "" && ofLimits(f) { // who brings the key may know its limits
		f.Public = string(withoutLimits([]byte(f.Public)))
		f.Upstream.Raw = string(cut(withoutLimits([]byte(f.Upstream.Raw)), maxRawBytes))
	}
	f.Cause = withoutFetched(f.Cause, secrets)
	return f
}
