package upstream

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/fault"
	"weir/internal/outbound"
)

// Fetcher reads addresses in a provider's answer. It follows the rules for untrusted addresses.
type Fetcher interface {
	// ProviderBytes reads the bytes at an address in a provider's answer, at most maxBytes, and their type as the server reports it, by the
	// way of home. That is the provider's base URL: its host may be reached even at an address that is otherwise forbidden, because the
	// operator has configured it.
	ProviderBytes(ctx context.Context, provider string, home outbound.Home, address string, maxBytes int64) (data []byte, mediaType string, err error)
}

// asking implements Ask over a Client.
type asking struct {
	client   *Client
	ctx      context.Context
	ep       *catalog.Endpoint
	req      *completion.Request
	target   *target
	reported func(http.Header) // gets the header of each answer; may be nil

	mu     sync.Mutex
	key    *credential // with which the first answer came
	notice string      // what of the task the provider does not get
}

func (k *asking) Endpoint() *catalog.Endpoint  { return k.ep }
func (k *asking) Request() *completion.Request { return k.req }

func (k *asking) Failure(status int, header http.Header, body []byte) *fault.Error {
	return k.target.dialect.Failure(k.ep, status, header, body)
}

func (k *asking) AfterClient() (dialect.Ask, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(k.ctx), leaveTime)
	k.mu.Lock()
	defer k.mu.Unlock()
	return &asking{client: k.client, ctx: ctx, ep: k.ep, req: k.req, target: k.target, key: k.key}, cancel
}

const leaveTime = 5 * time.Second

// perform does a task.
func (c *Client) perform(ctx context.Context, ep *catalog.Endpoint, req *completion.Request, yield func(*completion.Event, error) bool) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // also ends calls that run at the same time
	ask, performer, err := c.newAsk(ctx, ep, req)
	if err != nil {
		yield(nil, c.polish(ep, err))
		return
	}
	for ev, err := range performer.Perform(ask, ep, req) {
		if err != nil {
			yield(nil, c.polish(ep, err))
			return
		}
		ask.report(ev)
		if !yield(ev, nil) || ev.Done {
			return
		}
	}
	yield(nil, c.polish(ep, dialect.Ended(ep)))
}

func (c *Client) newAsk(ctx context.Context, ep *catalog.Endpoint, req *completion.Request) (*asking, dialect.Performer, error) {
	t, err := c.target(ep.Provider)
	if err != nil {
		return nil, nil, err
	}
	performer, ok := t.dialect.(dialect.Performer)
	if !ok {
		return nil, nil, dialect.NoTask(ep)
	}
	return &asking{client: c, ctx: ctx, ep: ep, req: req, target: t}, performer, nil
}

// report puts what the provider does not get into the head of the answer.
func (k *asking) report(ev *completion.Event) {
	if ev.Head == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	ev.Head.Notice, k.notice = strings.TrimSpace(k.notice+" "+ev.Head.Notice), ""
}

// check refuses a call without all that the client requires of it.
func (k *asking) check(call *dialect.Call) error {
	if k.req == nil || len(call.Unsent)+len(k.req.Unknown) == 0 {
		return nil
	}
	notice, err := dialect.Unsent(k.req, slices.Concat(call.Unsent, k.req.Unknown))
	if err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(notice) > len(k.notice) { // further calls of the same task, such as polls, leave out nothing
		k.notice = notice
	}
	return nil
}

func (k *asking) Do(call dialect.Call) (*dialect.Answer, error) {
	if k.ctx.Err() != nil {
		return nil, callerFault(k.ctx)
	}
	if err := k.check(&call); err != nil {
		return nil, err
	}
	if k.req != nil {
		call.Header = traced(call.Header, k.req)
	}
	over := k.target.group.standard
	if call.Content != nil || call.URL != "" {
		over = k.client.plainTransport(k.target.group)
	}
	a := k.client.newAttempt(k.ctx, k.ep, k.target.dialect, k.req, call.Stream, over)
	a.limit, a.reported = k.client.cfg.Limits.Media, k.reported
	answer, err := k.ask(a, &call)
	if err != nil {
		a.end()
		return nil, err
	}
	return answer, nil
}

func (k *asking) ask(a *attempt, call *dialect.Call) (*dialect.Answer, error) {
	if call.URL != "" && !sameSite(k.target.provider.BaseURL, call.URL) {
		return nil, dialect.Broken(k.ep, errors.New("the provider names a host that is not its own"))
	}
	k.mu.Lock()
	key := k.key
	k.mu.Unlock()
	if key != nil {
		return a.askWith(k.target, key, k.req, call)
	}
	answer, key, err := a.askAny(k.target, k.req, call)
	if err == nil {
		k.mu.Lock()
		if k.key == nil {
			k.key = key
		}
		k.mu.Unlock()
	}
	return answer, err
}

func (k *asking) Wait(d time.Duration) error {
	if err := k.client.cfg.Wait(k.ctx, d); err != nil {
		return callerFault(k.ctx)
	}
	return nil
}

func (k *asking) Now() time.Time { return k.client.cfg.Now() }

func (k *asking) Fetch(address string) (data []byte, mediaType string, err error) {
	if k.client.cfg.Fetcher == nil {
		return nil, "", dialect.Broken(k.ep, errors.New("addresses in answers are not followed"))
	}
	data, mediaType, err = k.client.cfg.Fetcher.ProviderBytes(k.ctx, k.ep.Provider.Name, k.target.home(k.target.provider.BaseURL), address, k.client.cfg.Limits.Media)
	if err == nil {
		if k.req != nil && k.req.Memory != nil {
			k.req.Memory.Force(int64(len(data)))
		}
		return data, mediaType, nil
	}
	if k.ctx.Err() != nil {
		return nil, "", callerFault(k.ctx)
	}
	return nil, "", dialect.Broken(k.ep, err)
}

func (k *asking) FetchForClient(address string) (data []byte, allowed bool, err error) {
	fetcher, ok := k.client.cfg.Fetcher.(clientFetcher)
	if !ok {
		return nil, false, nil
	}
	data, _, err = fetcher.Bytes(k.ctx, address, k.client.cfg.Limits.Media)
	return data, true, err
}

// clientFetcher also reads addresses in a client's request, if the operator allows that.
type clientFetcher interface {
	Bytes(ctx context.Context, address string, maxBytes int64) (data []byte, mediaType string, err error)
}

// Close ends an attempt whose answer is no longer read.
func (a *attempt) Close() {
	a.done = true // the rest of it may be read for a moment, so that the connection can be used again
	a.end()
}

// sameSite reports whether an address belongs to the provider at base: the same scheme, and the same host or one of the same domain, so
// that credentials go nowhere else.
func sameSite(base, address string) bool {
	b, errB := url.Parse(base)
	u, errU := url.Parse(address)
	if errB != nil || errU != nil || u.User != nil || u.Scheme != b.Scheme {
		return false
	}
	return strings.EqualFold(u.Host, b.Host) || u.Port() == b.Port() && domain(u.Hostname()) != "" && domain(u.Hostname()) == domain(b.Hostname())
}

// domain is the last two labels of a host's name, "" for an IP address and for a name of one label.
func domain(host string) string {
	host = strings.ToLower(host)
	if host == "" || strings.ContainsRune(host, ':') || host[len(host)-1] >= '0' && host[len(host)-1] <= '9' {
		return ""
	}
	labels := strings.Split(host, ".")
	if len(labels) < 2 {
		return ""
	}
	return strings.Join(labels[len(labels)-2:], ".")
}

// plainTransport is a net/http transport to the host of g, made when it is first needed: for bodies that are not in memory and for
// addresses that a provider returns.
func (c *Client) plainTransport(g *group) *http.Transport {
	if g.standard != nil {
		return g.standard
	}
	g.once.Do(func() {
		g.plain = newTransport(false, &c.cfg, g.dial)
		g.plain.TLSClientConfig = g.tls
	})
	return g.plain
}
