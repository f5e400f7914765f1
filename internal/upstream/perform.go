package upstream

import (
	"context"
	"errors"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/fault"
)

// Performer is a Dialect that performs tasks: requests whose completion.Request.Task is set. Some need one call of the provider, some
// several, and some a wait between them; what must be done is plain control flow over an Ask.
type Performer interface {
	// Perform does req.Task at ep and yields what it gives. The sequence ends with an event that is Done, or with one error. A task that
	// the provider cannot do is an error of Unsupported. It returns when yield does, and leaves nothing behind.
	Perform(ask Ask, ep *catalog.Endpoint, req *completion.Request) iter.Seq2[*completion.Event, error]
}

// Fetcher gets what a provider's answer names by address. It follows the rules for addresses that strangers write.
type Fetcher interface {
	// ProviderBytes gives the bytes behind an address that a provider named, at most maxBytes, and their type as the server says. home is the
	// provider's base URL: what the operator has configured may be reached at whatever address it has.
	ProviderBytes(ctx context.Context, provider, home, address string, maxBytes int64) (data []byte, mediaType string, err error)
}

// Ask is what a Performer or a Filmer reaches its provider through: each call is an attempt with its credentials, timeouts and limits. All calls
// of one Ask go out with the credential that the first was accepted with. It is safe for concurrent use.
type Ask interface {
	// Do sends one request and waits for the head of a 2xx answer, which must be closed. Whatever else comes is a fault, as the dialect's
	// Failure classifies it.
	Do(call Call) (*Answer, error)
	// Failure is the dialect's Failure, for errors inside an answer.
	Failure(status int, header http.Header, body []byte) *fault.Error
	// Wait waits, or fails when the client is gone.
	Wait(d time.Duration) error
	// Now is the time.
	Now() time.Time
	// Fetch gets what an answer names by address, at most as long as a whole answer of this kind may be.
	Fetch(address string) (data []byte, mediaType string, err error)
	// FetchForClient gets what a client names by address. allowed is false where the operator does not let clients do that.
	FetchForClient(address string) (data []byte, allowed bool, err error)
	// AfterClient is an Ask for what must still be said to the provider though the client is gone. It lasts a few seconds; done ends it.
	AfterClient() (after Ask, done context.CancelFunc)
	// Endpoint is the endpoint that is asked.
	Endpoint() *catalog.Endpoint
	// Request is the request that is answered.
	Request() *completion.Request
}

// asking implements Ask over a Client.
type asking struct {
	client *Client
	ctx    context.Context
	ep     *catalog.Endpoint
	req    *completion.Request
	target *target
	told   func(http.Header) // gets the header of each answer; nil: nothing does

	mu  sync.Mutex
	key *credential // what the first answer came for
}

func (k *asking) Endpoint() *catalog.Endpoint  { return k.ep }
func (k *asking) Request() *completion.Request { return k.req }

func (k *asking) Failure(status int, header http.Header, body []byte) *fault.Error {
	return k.target.dialect.Failure(k.ep, status, header, body)
}

func (k *asking) AfterClient() (Ask, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(k.ctx), leaveTime)
	k.mu.Lock()
	defer k.mu.Unlock()
	return &asking{client: k.client, ctx: ctx, ep: k.ep, req: k.req, target: k.target, key: k.key}, cancel
}

const leaveTime = 5 * time.Second

// Unsupported is the fault of a task, or of a property of it, that an endpoint cannot do: another one may.
func Unsupported(ep *catalog.Endpoint, public string) *fault.Error {
	f := fault.New(fault.Invalid, "upstream.Perform", public)
	f.Next = fault.NextEndpoint
	f.Upstream = &fault.Upstream{Provider: ep.Provider.Name}
	return f
}

const (
	noText    = "The provider of this model does not serve requests for text."
	notServed = "The provider of this model does not serve requests of this kind."
)

// NotServed is what a Performer gives for a task that its wire has nothing for.
func NotServed(ep *catalog.Endpoint) iter.Seq2[*completion.Event, error] {
	return Fails(Unsupported(ep, notServed))
}

// Fails is the sequence of an attempt that comes to nothing but err.
func Fails(err error) iter.Seq2[*completion.Event, error] {
	return func(yield func(*completion.Event, error) bool) { yield(nil, err) }
}

// perform does a task.
func (c *Client) perform(ctx context.Context, ep *catalog.Endpoint, req *completion.Request, yield func(*completion.Event, error) bool) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // also ends what runs beside
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
		if !yield(ev, nil) || ev.Done {
			return
		}
	}
	yield(nil, c.polish(ep, Ended(ep)))
}

func (c *Client) newAsk(ctx context.Context, ep *catalog.Endpoint, req *completion.Request) (*asking, Performer, error) {
	t, err := c.target(ep.Provider)
	if err != nil {
		return nil, nil, err
	}
	performer, ok := t.dialect.(Performer)
	if !ok {
		return nil, nil, Unsupported(ep, notServed)
	}
	return &asking{client: c, ctx: ctx, ep: ep, req: req, target: t}, performer, nil
}

func (k *asking) Do(call Call) (*Answer, error) {
	if k.ctx.Err() != nil {
		return nil, callerFault(k.ctx)
	}
	a := k.client.newAttempt(k.ctx, k.ep, k.target, k.target.dialect, call.Stream)
	a.limit, a.told = k.client.cfg.Limits.Media, k.told
	if call.Content != nil || call.URL != "" {
		a.x = &standard{transport: k.client.plainTransport(k.target.group)}
	}
	answer, err := k.ask(a, &call)
	if err != nil {
		a.end()
		return nil, err
	}
	return answer, nil
}

func (k *asking) ask(a *attempt, call *Call) (*Answer, error) {
	if call.URL != "" && !kin(k.target.provider.BaseURL, call.URL) {
		return nil, Broken(k.ep, errors.New("the provider names a host that is not its own"))
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

// Whole sends one request and reads its whole answer.
func Whole(ask Ask, call Call) ([]byte, error) {
	answer, err := ask.Do(call)
	if err != nil {
		return nil, err
	}
	defer answer.Close()
	return answer.ReadAll(nil)
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
		return nil, "", Broken(k.ep, errors.New("addresses in answers are not followed"))
	}
	data, mediaType, err = k.client.cfg.Fetcher.ProviderBytes(k.ctx, k.ep.Provider.Name, k.target.provider.BaseURL, address, k.client.cfg.Limits.Media)
	if err == nil {
		if k.req != nil && k.req.Memory != nil {
			k.req.Memory.Force(int64(len(data)))
		}
		return data, mediaType, nil
	}
	if k.ctx.Err() != nil {
		return nil, "", callerFault(k.ctx)
	}
	return nil, "", Broken(k.ep, err)
}

func (k *asking) FetchForClient(address string) (data []byte, allowed bool, err error) {
	fetcher, ok := k.client.cfg.Fetcher.(clientFetcher)
	if !ok {
		return nil, false, nil
	}
	data, _, err = fetcher.Bytes(k.ctx, address, k.client.cfg.Limits.Media)
	return data, true, err
}

// clientFetcher also gets what clients name by address, if the operator lets it.
type clientFetcher interface {
	Bytes(ctx context.Context, address string, maxBytes int64) (data []byte, mediaType string, err error)
}

// Each calls do for 0 to n-1, at most so many at a time, and gives the error of the lowest number that failed. After an error it begins no more.
func Each(n, parallel int, do func(i int) error) error {
	if n == 1 {
		return do(0)
	}
	var (
		mu   sync.Mutex
		next int
		at   = n
		errs error
		wg   sync.WaitGroup
		lost any // what a call panicked with
	)
	take := func() (int, bool) {
		mu.Lock()
		defer mu.Unlock()
		if next >= n || errs != nil {
			return 0, false
		}
		next++
		return next - 1, true
	}
	for range min(n, parallel) {
		wg.Go(func() {
			defer func() {
				if p := recover(); p != nil { // it is the handler's business, and must not end the process
					mu.Lock()
					lost, next = p, n
					mu.Unlock()
				}
			}()
			for i, more := take(); more; i, more = take() {
				if err := do(i); err != nil {
					mu.Lock()
					if i < at {
						at, errs = i, err
					}
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	if lost != nil {
		panic(lost)
	}
	return errs
}

// Close ends an attempt whose answer is no longer read.
func (a *attempt) Close() {
	a.done = true // what is left of it may be read on for a moment, so that the connection serves again
	a.end()
}

// content is a request body that is read from its source as it is sent.
func (call *Call) content() (io.ReadCloser, int64) {
	if call.Content == nil {
		return nil, 0
	}
	r, size := call.Content()
	return io.NopCloser(r), size
}

// kin reports whether an address is of the provider at base: the same scheme, and the same host or one of the same domain, so that no
// credential goes anywhere else.
func kin(base, address string) bool {
	b, errB := url.Parse(base)
	u, errU := url.Parse(address)
	if errB != nil || errU != nil || u.User != nil || u.Scheme != b.Scheme {
		return false
	}
	return strings.EqualFold(u.Host, b.Host) || u.Port() == b.Port() && domain(u.Hostname()) != "" && domain(u.Hostname()) == domain(b.Hostname())
}

// domain is the last two labels of a host's name, "" for an address and for a name of one label.
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

// plainTransport is a transport of net/http to the host of g, made when it is first needed: for bodies that are not in memory and for
// addresses that a provider gives.
func (c *Client) plainTransport(g *group) *http.Transport {
	if g.standard != nil {
		return g.standard
	}
	g.once.Do(func() {
		g.plain = newTransport(false, &c.cfg)
		g.plain.TLSClientConfig = g.tls
	})
	return g.plain
}
