// Package oidc asks other providers who a person is, with the authorization code flow of OpenID Connect. It knows no account of ours: what a
// provider says is a claim, and package person decides what it opens.
package oidc

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"weir/internal/auth"
	"weir/internal/fault"
	"weir/internal/secret"
)

// Provider is one of the configuration.
type Provider struct {
	auth.Provider `yaml:",inline"`
	ClientID      string      `yaml:"client_id"`
	ClientSecret  secret.Text `yaml:"client_secret"` // "": a client that has only PKCE
	Scopes        []string    `yaml:"scopes"`        // beside openid; none in settings: email, profile
	EmailClaim    string      `yaml:"email_claim"`   // the claim with the address; "": email
	GroupsClaim   string      `yaml:"groups_claim"`  // the claim with the groups of a person, that organizations follow; "": none
}

const (
	knownFor  = time.Hour       // what a provider says about itself is used for so long
	failedFor = 5 * time.Second // and not asked for again so soon after a failure

	maxClaim = 254 // bytes of a subject and of an address, which are stored
)

// Client asks providers. It is safe for concurrent use. Nothing is asked before the first person needs it.
type Client struct {
	all  []*known
	now  func() time.Time
	list []auth.Provider
}

// known is a provider with what it says about itself.
type known struct {
	Provider
	http *http.Client

	mu     sync.Mutex // held while the provider is asked: one request serves all who wait
	at     time.Time  // when it answered or failed
	err    error
	found  *oidc.Provider
	config oauth2.Config
	sends  bool // it names itself in its redirects (RFC 9207)
}

// New makes a Client. transportOf makes the connections to a provider with an issuer; they must be bounded in bytes and time.
func New(providers []Provider, transportOf func(issuer string) http.RoundTripper, now func() time.Time) *Client {
	c := &Client{now: now}
	for _, p := range providers {
		c.all = append(c.all, &known{Provider: p, http: &http.Client{Transport: transportOf(p.Issuer), CheckRedirect: noRedirect}})
		c.list = append(c.list, p.Provider)
	}
	return c
}

func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// Providers lists all of them.
func (c *Client) Providers() []auth.Provider { return c.list }

func (c *Client) named(id string) (*known, error) {
	for _, k := range c.all {
		if k.ID == id {
			return k, nil
		}
	}
	return nil, fault.New(fault.NotFound, "oidc.named", "There is no such provider here.")
}

// unavailable is the error of a provider that does not answer as it should. The person can only try again.
func unavailable(op string, err error) error {
	why := err.Error()
	if len(why) > 300 { // the library puts whole answers into it
		why = why[:300] + "..."
	}
	return fault.New(fault.ProviderUnavailable, op, "The sign-in provider does not answer as it should.").Because(errors.New(strings.ToValidUTF8(why, "?")))
}

// ready asks a provider about itself, unless it has answered or failed a short while ago.
func (k *known) ready(ctx context.Context, now time.Time) (*oidc.Provider, oauth2.Config, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.found != nil && now.Sub(k.at) < knownFor || k.err != nil && now.Sub(k.at) < failedFor {
		return k.found, k.config, k.err
	}
	var p *oidc.Provider
	var err error
	for range 2 { // a connection that was cut says nothing about the provider
		if p, err = oidc.NewProvider(oidc.ClientContext(ctx, k.http), k.Issuer); err == nil {
			break
		}
	}
	var says struct {
		Methods []string `json:"token_endpoint_auth_methods_supported"`
		Sends   bool     `json:"authorization_response_iss_parameter_supported"`
	}
	if err == nil {
		err = p.Claims(&says)
	}
	if err == nil && !isWeb(p.Endpoint().AuthURL) {
		err = errors.New("its authorization endpoint is no web address")
	}
	if err != nil && ctx.Err() != nil {
		return nil, k.config, unavailable("oidc.ready", err) // the person went away; that says nothing about the provider
	}
	k.at = now
	if err != nil {
		if k.found != nil { // what it said before is better than nothing
			return k.found, k.config, nil
		}
		k.err = unavailable("oidc.ready", err)
		return nil, k.config, k.err
	}
	e := p.Endpoint()
	e.AuthStyle = oauth2.AuthStyleInParams
	if k.ClientSecret.Reveal() != "" && (len(says.Methods) == 0 || has(says.Methods, "client_secret_basic")) {
		e.AuthStyle = oauth2.AuthStyleInHeader
	}
	k.found, k.err, k.sends = p, nil, says.Sends
	k.config = oauth2.Config{ClientID: k.ClientID, ClientSecret: k.ClientSecret.Reveal(), Endpoint: e, Scopes: append([]string{oidc.ScopeOpenID}, k.Scopes...)}
	return k.found, k.config, nil
}

func has(list []string, want string) bool {
	for _, s := range list {
		if s == want {
			return true
		}
	}
	return false
}

// isWeb reports whether a browser may be sent to an address.
func isWeb(address string) bool {
	return strings.HasPrefix(address, "https://") || strings.HasPrefix(address, "http://")
}

// Begin makes the address to which the browser goes.
func (c *Client) Begin(ctx context.Context, id string, t *auth.Trip) (string, error) {
	k, err := c.named(id)
	if err != nil {
		return "", err
	}
	_, config, err := k.ready(ctx, c.now())
	if err != nil {
		return "", err
	}
	config.RedirectURL = t.Redirect
	options := []oauth2.AuthCodeOption{oidc.Nonce(t.Nonce), oauth2.S256ChallengeOption(t.Verifier)}
	if t.Again {
		// With max_age the token must say when the person has signed in (OpenID Connect Core 1.0, section 3.1.2.1).
		options = append(options, oauth2.SetAuthURLParam("prompt", "login"), oauth2.SetAuthURLParam("max_age", strconv.Itoa(int(auth.FreshFor/time.Second))))
	}
	return config.AuthCodeURL(t.State, options...), nil
}

// Finish trades the code of the browser for claims, and checks them: signature, issuer, audience, time, nonce.
func (c *Client) Finish(ctx context.Context, id string, t *auth.Trip, code, issuer string) (auth.Claims, error) {
	const op = "oidc.Finish"
	k, err := c.named(id)
	if err != nil {
		return auth.Claims{}, err
	}
	p, config, err := k.ready(ctx, c.now())
	if err != nil {
		return auth.Claims{}, err
	}
	if issuer != k.Issuer && (issuer != "" || k.sends) {
		return auth.Claims{}, unavailable(op, errors.New("the redirect is of another issuer"))
	}
	config.RedirectURL = t.Redirect
	ctx = oidc.ClientContext(ctx, k.http)
	token, err := config.Exchange(ctx, code, oauth2.VerifierOption(t.Verifier))
	if err != nil {
		return auth.Claims{}, unavailable(op, err)
	}
	raw, _ := token.Extra("id_token").(string)
	if raw == "" {
		return auth.Claims{}, unavailable(op, errors.New("there is no id_token in its answer"))
	}
	checked, err := p.Verifier(&oidc.Config{ClientID: k.ClientID, Now: c.now}).Verify(ctx, raw)
	if err != nil {
		return auth.Claims{}, unavailable(op, err)
	}
	says, err := k.read(checked.Claims)
	if err != nil {
		return auth.Claims{}, unavailable(op, err)
	}
	switch {
	case checked.Nonce != t.Nonce:
		err = errors.New("the nonce is not that of this sign-in")
	case checked.Subject == "" || len(checked.Subject) > maxClaim:
		err = errors.New("the subject is missing or too long")
	case len(checked.Audience) > 1 && says.Party == "", says.Party != "" && says.Party != k.ClientID:
		err = errors.New("the token is for another party, too")
	case checked.IssuedAt.After(c.now().Add(skew)):
		err = errors.New("the token is of the future")
	}
	if err != nil {
		return auth.Claims{}, unavailable(op, err)
	}
	if (says.address == "" || k.GroupsClaim != "" && !says.listed) && p.UserInfoEndpoint() != "" {
		if says, err = k.more(ctx, p, token, checked.Subject, says); err != nil {
			return auth.Claims{}, unavailable(op, err)
		}
	}
	out := auth.Claims{Issuer: k.Issuer, Subject: checked.Subject, Email: says.address, Name: cmp.Or(says.Name, says.Handle), SignedIn: says.signedIn()}
	out.Groups, out.Grouped = says.groups, k.GroupsClaim != "" && !says.distributed
	out.Verified, out.Silent = says.verified(k.emailClaim())
	if len(out.Email) > maxClaim {
		out.Email = ""
	}
	return out, nil
}

// skew is how far a provider's clock may be ahead.
const skew = 5 * time.Minute

type claims struct {
	Verified any     `json:"email_verified"` // some providers write "true" as a text
	Name     string  `json:"name"`
	Handle   string  `json:"preferred_username"`
	Party    string  `json:"azp"`
	At       float64 `json:"auth_time"`

	Elsewhere map[string]any `json:"_claim_names"` // claims that are not here: Microsoft Entra has groups there when they are too many

	address     string   // of the claim that the configuration names
	groups      []string // likewise
	listed      bool     // it is there
	distributed bool     // it is somewhere else, so that nothing is known
}

func (k *known) emailClaim() string { return cmp.Or(k.EmailClaim, "email") }

// read reads claims with a function that fills a structure from their JSON.
func (k *known) read(fill func(any) error) (says claims, err error) {
	if err := fill(&says); err != nil {
		return says, err
	}
	var all map[string]any
	if err := fill(&all); err != nil {
		return says, err
	}
	says.address, _ = all[k.emailClaim()].(string)
	if k.GroupsClaim != "" {
		says.groups, says.listed = groupsOf(all, k.GroupsClaim)
		_, says.distributed = says.Elsewhere[k.GroupsClaim]
	}
	return says, nil
}

// maxGroups is how many groups of a person are read. Entra ID gives 200 in a token.
const maxGroups = 2000

// groupsOf reads a claim: a list of texts, or one text. Its name may be a path with dots, as Keycloak has realm_access.roles.
func groupsOf(all map[string]any, name string) (groups []string, listed bool) {
	v, listed := all[name]
	for at := all; !listed; {
		first, rest, more := strings.Cut(name, ".")
		if !more {
			v, listed = at[first]
			break
		}
		inner, is := at[first].(map[string]any)
		if !is {
			break
		}
		at, name = inner, rest
	}
	switch v := v.(type) {
	case string:
		groups = []string{v}
	case []any:
		for _, one := range v[:min(len(v), maxGroups)] {
			if text, is := one.(string); is {
				groups = append(groups, text)
			}
		}
	}
	return groups, listed
}

// verified reports whether the provider says that the address is the person's, and whether it says nothing of that: Microsoft Entra never does. What
// it says is of the claim email, and not of another one.
func (c *claims) verified(claim string) (yes, silent bool) {
	if c.Verified == nil || claim != "email" {
		return false, true
	}
	return c.Verified == true || c.Verified == "true", false
}

// signedIn is when the person has signed in at the provider; zero: it does not say.
func (c *claims) signedIn() time.Time {
	if c.At <= 0 || c.At > 1<<40 {
		return time.Time{}
	}
	return time.Unix(int64(c.At), 0).UTC()
}

// more asks the provider for claims that are not in the token. They count only if they are about the same person.
func (k *known) more(ctx context.Context, p *oidc.Provider, token *oauth2.Token, subject string, before claims) (claims, error) {
	info, err := p.UserInfo(ctx, oauth2.StaticTokenSource(token))
	if err != nil {
		return before, err
	}
	if info.Subject != subject {
		return before, errors.New("its user info is about another person")
	}
	says, err := k.read(info.Claims)
	says.Party, says.At = before.Party, before.At // these are of the token
	says.Name, says.Handle = cmp.Or(says.Name, before.Name), cmp.Or(says.Handle, before.Handle)
	switch { // what the token says is signed
	case before.address != "":
		says.address, says.Verified = before.address, before.Verified
	case says.Verified == nil:
		says.Verified = before.Verified
	}
	if before.listed {
		says.groups, says.listed = before.groups, true
	}
	says.distributed = !says.listed && (says.distributed || before.distributed)
	return says, err
}
