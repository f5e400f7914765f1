package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/dialect/auth"
	"weir/internal/fault"
)

// methodOf is the auth.Method of requests with the credential p.Key, nil when a fixed header field is enough. Key files of service
// accounts work with every dialect. It may change p, which is a copy.
func methodOf(d dialect.Dialect, p *catalog.Provider, deps auth.Deps) (auth.Method, error) {
	if special, ok := d.(dialect.Authorizer); ok {
		if m, err := special.Authorize(p, deps); m != nil || err != nil {
			return m, err
		}
	}
	if auth.IsAccount(p.Key) {
		issuer, err := auth.Account(p.Key, p.Quirks.AuthURL)
		if err != nil {
			return nil, err
		}
		return auth.NewTokens(issuer, deps), nil
	}
	if p.Quirks.AuthScheme == auth.YandexScheme && auth.IsYandexToken(p.Key) {
		p.Quirks.AuthScheme = "Bearer"
	}
	return nil, nil
}

// authDeps is what methods of p's credentials need from the client.
func (c *Client) authDeps(p *catalog.Provider) auth.Deps {
	return auth.Deps{
		Now:   c.cfg.Now,
		Fetch: func(ctx context.Context, call *auth.Call) (int, []byte, error) { return c.fetch(ctx, p, call) },
		Go: func(run func(context.Context)) {
			c.drains.Add(1)
			go func() {
				defer c.drains.Done()
				run(c.closing)
			}()
		},
	}
}

const maxTokenBytes = 64 << 10 // of an answer with a token

// fetch sends a request for a token, with the certificate authorities and the timeouts of p.
func (c *Client) fetch(ctx context.Context, p *catalog.Provider, call *auth.Call) (status int, body []byte, err error) {
	return c.simple(ctx, p, call.URL, call.Header, &dialect.Call{Body: call.Body}, maxTokenBytes)
}

// Look asks the server of a provider something that is no call of a model, with the provider's first key: a GET without a body, else a POST of
// JSON. The answer is cut at so many bytes.
func (c *Client) Look(ctx context.Context, p *catalog.Provider, address string, body []byte, most int64) (status int, answer []byte, err error) {
	d := c.cfg.Dialects[p.Dialect]
	if d == nil {
		return 0, nil, fmt.Errorf("upstream: there is no dialect %q", p.Dialect)
	}
	call := dialect.Call{Body: body}
	if body == nil {
		call.Method = http.MethodGet
	}
	return c.simple(ctx, p, address, d.Header(p), &call, most)
}

// simple sends a request outside of an attempt, and returns the whole answer, cut at so many bytes.
func (c *Client) simple(ctx context.Context, p *catalog.Provider, address string, header http.Header, call *dialect.Call, most int64) (status int, body []byte, err error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return 0, nil, errors.New("upstream: there is no address to ask") // the address comes from a configuration that Parse has checked
	}
	t := &target{provider: &catalog.Provider{BaseURL: u.Scheme + "://" + u.Host}, host: u.Host, group: c.groups.get(groupKey{u.Scheme, u.Host, p.CA, false, c.way(p, u)}, c)}
	l, err := newLane(header, u.Host, "application/json", "identity")
	if err != nil {
		return 0, nil, err
	}
	var x exchange = new(own)
	if t.group.standard != nil {
		x = &standard{transport: t.group.standard}
	}
	defer x.Close()
	stop := context.AfterFunc(ctx, x.Abort)
	defer stop()
	call.Path = u.RequestURI()
	head, err := x.send(t, &l, call)
	if err != nil {
		return 0, nil, err
	}
	if head.Encoding != "" && !strings.EqualFold(head.Encoding, "identity") {
		return 0, nil, fmt.Errorf("upstream: an answer came under the content encoding %q", head.Encoding)
	}
	body, err = io.ReadAll(io.LimitReader(x, most))
	return head.Status, body, err
}

// admitted sends a request with the header fields that a method gives. If the provider refuses them, it sends the request once more with
// new ones.
func (a *attempt) admitted(t *target, m auth.Method, l *lane, req *completion.Request, call *dialect.Call) (*dialect.Answer, error) {
	for again := false; ; again = true {
		fields, err := a.fields(t, m, call)
		if err != nil {
			return nil, err
		}
		full, err := l.with(fields, t.host)
		if err != nil {
			return nil, fault.Wrap("upstream.lane", err)
		}
		answer, err := a.askOver(t, full, req, call)
		if err == nil || again || a.head.Status != http.StatusUnauthorized || !m.Refused(fields) {
			return answer, err
		}
		if a.again(); a.why() != nil {
			return nil, err
		}
	}
}

// fields waits for the method's header fields, as long as the attempt may last.
func (a *attempt) fields(t *target, m auth.Method, call *dialect.Call) (http.Header, error) {
	ctx, cancel := context.WithCancel(a.caller)
	defer cancel()
	a.mu.Lock()
	if a.cause != nil {
		cancel()
	}
	a.wake = cancel
	a.mu.Unlock()
	fields, err := m.Fields(ctx, &auth.Request{Host: t.host, Path: t.base + call.Path, Body: call.Pieces()})
	a.mu.Lock()
	a.wake = nil
	a.mu.Unlock()
	if err == nil {
		return fields, nil
	}
	a.head.Status = 0
	if f := a.interrupted(); f != nil {
		return nil, f
	}
	return nil, notAdmitted(a.ep, err)
}

// notAdmitted is the fault of a credential for which no token or signature could be made.
func notAdmitted(ep *catalog.Endpoint, cause error) *fault.Error {
	f := dialect.Fault(ep, fault.ProviderUnavailable, "The provider did not accept the gateway's request.", cause)
	f.Next = fault.NextEndpoint
	f.Details = map[string]any{"reason": "upstream_auth"}
	var refused *auth.RefusedError
	if errors.As(cause, &refused) && refused.Status >= 400 && refused.Status <= 403 {
		f.Upstream.Status = http.StatusUnauthorized // another credential may work
	}
	return f
}

// secrets lists the secrets that no configuration contains: those that methods keep for p's credentials, above all tokens, and people's
// own keys.
func (c *Client) secrets(p *catalog.Provider) (list []string) {
	var of *target
	if p.OwnKey != "" {
		of = c.owned.find(ownedBy{p.OwnKey, p.Wire()}, p)
		list = append(strings.Split(p.Key, ":"), p.Key) // access key and secret, and the whole
	} else if t, ok := c.targets.Load(p.Wire()); ok {
		of, _ = t.(*target)
	}
	if of != nil {
		for _, key := range of.keys.all {
			if key.method != nil {
				list = append(list, key.method.Secrets()...)
			}
		}
	}
	return slices.DeleteFunc(list, func(s string) bool { return len(s) < 6 })
}
