package accountapi

import (
	"context"
	"net/netip"
	"strings"
	"time"

	"weir/internal/agent"
	"weir/internal/apikey"
	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/operation"
	"weir/internal/organization"
	"weir/internal/rawjson"
	"weir/internal/report"
	"weir/internal/wire"
)

// FormerKey is the text of a key before its last rotation, while it works.
type FormerKey struct {
	Label string    `json:"label"`
	Until time.Time `json:"until"`
}

// AccountKey is a key of an account, without its text.
type AccountKey struct {
	Hash           string        `json:"hash" pattern:"^[0-9a-f]{64}$"`
	ID             string        `json:"id"`
	Label          string        `json:"label"`
	Name           string        `json:"name"`
	Member         *string       `json:"member"` // in an organization, id of the person or service for whom it works
	Management     bool          `json:"management"`
	Web            bool          `json:"web"` // the key of the browser's calls
	Disabled       bool          `json:"disabled"`
	Limit          *money.Nano   `json:"limit"`
	LimitRemaining *money.Nano   `json:"limit_remaining"`
	LimitReset     *string       `json:"limit_reset" enum:"daily,weekly,monthly"`
	Spent          money.Nano    `json:"spent"` // since the limit was last reset; without a limit, this month. Refunds are subtracted, as in the limit
	SpentDay       money.Nano    `json:"spent_day"`
	SpentWeek      money.Nano    `json:"spent_week"`
	SpentMonth     money.Nano    `json:"spent_month"`
	SpentTotal     money.Nano    `json:"spent_total"`
	RateLimits     *KeyRates     `json:"rate_limits"`
	Provider       operation.Raw `json:"provider" schema:"DefaultPreferences"`
	AllowedModels  *[]string     `json:"allowed_models" schema:"AllowedModels"`
	AllowedIPs     *[]string     `json:"allowed_ips" schema:"AllowedAddresses"`
	Schema         string        `json:"schema" schema:"AnswerSchema"`
	CreatedAt      time.Time     `json:"created_at"`
	UpdatedAt      time.Time     `json:"updated_at"`
	ExpiresAt      *time.Time    `json:"expires_at"`
	LastUsedAt     *time.Time    `json:"last_used_at"` // when its last recorded call began
	Previous       *FormerKey    `json:"previous"`     // the text before the last rotation, while it works
	Agent          *AgentSignIn  `json:"agent"`        // the program that the key is of; null: it is no program's that was signed in
}

// AccountKeyList is all keys of an account.
type AccountKeyList struct {
	Data []AccountKey   `json:"data"`
	Most int            `json:"most"` // how many keys an account may have
	Next operation.Null `json:"next"`
}

// NewAccountKey is a key with its text.
type NewAccountKey struct {
	Data AccountKey `json:"data"`
	Key  string     `json:"key" pattern:"^sk-weir-(mgmt-)?v1-[0-9A-Za-z]{49}$"` // shown only now
}

// KeyRates is what a key may use in each minute, refilled continuously, and how many of its calls may run at one time. Null is the operator's limit,
// 0 is none.
type KeyRates struct {
	Requests *int64                 `json:"requests_per_minute" minimum:"0"`
	Tokens   *int64                 `json:"tokens_per_minute" minimum:"0"` // tokens of prompts and answers
	Rubles   operation.As[*float64] `json:"rubles_per_minute" minimum:"0"` // in exact digits
	Calls    *int64                 `json:"concurrent_calls" minimum:"0"`  // calls of models at one time
}

// ratesOf shows a key's own allowances; nil: all are left to the operator.
func ratesOf(r *apikey.Rates) *KeyRates {
	if r == nil {
		return nil
	}
	own := func(n int64) *int64 {
		if n == apikey.DefaultRate {
			return nil
		}
		return &n
	}
	k := &KeyRates{Requests: own(r.Requests), Tokens: own(r.Tokens), Calls: own(r.Calls)}
	if r.Rubles != apikey.DefaultRate {
		k.Rubles.Raw = r.Rubles.Append(nil)
	}
	return k
}

// KeyRatesInput is what a key may use in each minute, and at one time. What is left out is the operator's limit, 0 is none.
type KeyRatesInput struct {
	Requests *int64      `json:"requests_per_minute,omitempty" null:"none" minimum:"0"`
	Tokens   *int64      `json:"tokens_per_minute,omitempty" null:"none" minimum:"0"`
	Rubles   *money.Nano `json:"rubles_per_minute,omitempty" null:"none"`
	Calls    *int64      `json:"concurrent_calls,omitempty" null:"none" minimum:"0"`
}

// rates are the allowances, which must not be above those that a client may give.
func (in *KeyRatesInput) rates(most apikey.Rates) (*apikey.Rates, error) {
	if in == nil {
		return nil, nil
	}
	r := &apikey.Rates{Requests: apikey.DefaultRate, Tokens: apikey.DefaultRate, Rubles: apikey.DefaultRate, Calls: apikey.DefaultRate}
	for _, f := range []struct {
		name string
		from *int64
		to   *int64
	}{{"requests_per_minute", in.Requests, &r.Requests}, {"tokens_per_minute", in.Tokens, &r.Tokens}, {"rubles_per_minute", (*int64)(in.Rubles), (*int64)(&r.Rubles)}, {"concurrent_calls", in.Calls, &r.Calls}} {
		if f.from == nil {
			continue
		}
		if *f.from < 0 {
			return nil, fault.Field("accountapi.keyRates", "rate_limits."+f.name, "It must be a number of at least 0, or null.").Coded("number_or_null")
		}
		*f.to = *f.from
	}
	return r, r.Within(most)
}

// KeyForm is what both a new key and a change may say.
type KeyForm struct {
	Limit         operation.Maybe[money.Nano]    `json:"limit" schema:"LimitInput"`
	LimitReset    operation.Maybe[string]        `json:"limit_reset" schema:"LimitReset"`
	RateLimits    operation.Maybe[KeyRatesInput] `json:"rate_limits"`
	Provider      operation.Raw                  `json:"provider,omitempty" schema:"DefaultPreferences"`
	ExpiresAt     operation.Maybe[time.Time]     `json:"expires_at"`
	AllowedModels operation.Maybe[[]string]      `json:"allowed_models" schema:"AllowedModels"`
	AllowedIPs    operation.Maybe[[]string]      `json:"allowed_ips" schema:"AllowedAddresses"`
	Schema        *string                        `json:"schema,omitempty" schema:"AnswerSchema"`
}

// AccountKeyInput is a new key.
type AccountKeyInput struct {
	Name       string `json:"name" minLength:"1" maxLength:"256"`
	Management bool   `json:"management,omitempty"` // a management key, which manages and calls no models; made only with a session
	Service    string `json:"service,omitempty"`    // in an organization, id of the service for which it works; without it, it works for who makes it
	KeyForm
}

// AccountKeyChange is what is to be different. What is left out stays.
type AccountKeyChange struct {
	Hash     string  `json:"-" path:"hash"` // SHA-256 of the key in hex; after a rotation the former one works as long as the former key
	Name     *string `json:"name,omitempty" null:"none" minLength:"1" maxLength:"256"`
	Disabled *bool   `json:"disabled,omitempty" null:"none"`
	KeyForm
}

type keyHash struct {
	Hash string `json:"-" path:"hash"` // SHA-256 of the key in hex; after a rotation the former one works as long as the former key
}

// KeyRotation is how long the former text of a key works on.
type KeyRotation struct {
	Hash  string `json:"-" path:"hash"`                                          // SHA-256 of the key in hex; after a rotation the former one works as long as the former key
	Hours *int   `json:"hours,omitempty" minimum:"0" maximum:"168" default:"24"` // how long the former text works; 0: not at all
}

// SpendingReset is why a key's spending is reset.
type SpendingReset struct {
	Hash   string `json:"-" path:"hash"`                                // SHA-256 of the key in hex; after a rotation the former one works as long as the former key
	Reason string `json:"reason,omitempty" null:"none" maxLength:"200"` // for the audit
}

const usualHours = 24

// change reads a form for a key with a limit; nil: it has none.
func (in *KeyForm) change(limit *apikey.Limit, most apikey.Rates) (c apikey.Change, err error) {
	const op = "accountapi.key"
	e := apikey.LimitEdit{AmountGiven: in.Limit.Given, Amount: in.Limit.Value, ResetGiven: in.LimitReset.Given}
	if v := in.LimitReset.Value; v != nil {
		if e.Reset = apikey.Reset(*v); e.Reset == apikey.Never {
			return c, fault.Field(op, "limit_reset", "limit_reset must be daily, weekly, monthly or null.").Coded("reset_period")
		}
	}
	if e.AmountGiven || e.ResetGiven {
		if limit, err = e.Of(limit); err != nil {
			return c, err
		}
		c.Limit = &limit
	}
	if in.RateLimits.Given {
		rates, err := in.RateLimits.Value.rates(most)
		if err != nil {
			return c, err
		}
		c.Rates = &rates
	}
	if in.Provider != nil {
		text, err := wire.PreferencesText(in.Provider)
		if err != nil {
			return c, err
		}
		c.Preferences = &text
	}
	if err := in.places(&c); err != nil {
		return c, err
	}
	if in.ExpiresAt.Given {
		c.ExpiresAt = &time.Time{}
		if t := in.ExpiresAt.Value; t != nil {
			if t.Year() > 9999 || t.Year() < 1970 {
				return c, fault.Field(op, "expires_at", "expires_at must be a time such as 2030-01-31T00:00:00Z.").Coded("time")
			}
			*c.ExpiresAt = t.UTC().Truncate(time.Microsecond)
		}
	}
	return c, nil
}

// places reads for which models a key is, from where it works, and the form of its answers.
func (in *KeyForm) places(c *apikey.Change) error {
	if in.AllowedModels.Given {
		c.Models = &[]string{}
		if v := in.AllowedModels.Value; v != nil {
			c.Models = v
		}
	}
	if in.AllowedIPs.Given {
		c.Addresses = &[]netip.Prefix{}
		if v := in.AllowedIPs.Value; v != nil {
			for _, text := range *v {
				p, err := apikey.ParseAddress(text)
				if err != nil {
					return err
				}
				*c.Addresses = append(*c.Addresses, p)
			}
		}
	}
	if v := in.Schema; v != nil {
		if *v != "strict" && *v != "lenient" {
			return fault.Field("accountapi.key", "schema", "schema must be lenient or strict.").Coded("lenient_or_strict")
		}
		strict := *v == "strict"
		c.Strict = &strict
	}
	return nil
}

func accountKeys(d Deps) []operation.Operation {
	return append(changesOfKeys(d),
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/keys", ID: "listAccountKeys", Org: operation.Workers, Access: operation.Management, Tag: "keys",
			Summary: "The keys of the account, newest first", Answer: "All keys; there are at most as many as most says",
		}, func(ctx context.Context, c *operation.Call, _ *operation.None) (l AccountKeyList, err error) {
			l.Most = d.Keys.MaxPerUser()
			l.Data, err = keysOf(ctx, d, apikey.Filter{User: c.User, Sees: c.Sees}, c.Wallet, webKeyOf(c))
			return l, err
		}),
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/keys/{hash}", ID: "getAccountKey", Org: operation.Workers, Access: operation.Management, Tag: "keys", Summary: "One key", Answer: "The key",
		}, func(ctx context.Context, c *operation.Call, in *keyHash) (out operation.Data[AccountKey], err error) {
			k, err := keyByHash(ctx, d, c, in.Hash)
			if err != nil {
				return out, err
			}
			return keyAnswer(ctx, d, c, &k)
		}),
		operation.Of(operation.Operation{
			Method: "DELETE", Path: "/api/keys/{hash}", ID: "deleteAccountKey", Org: operation.Workers, Access: operation.Management, Fresh: true, Tag: "keys",
			Summary: "Delete a key permanently", Answer: "It is no longer accepted",
		}, func(ctx context.Context, c *operation.Call, in *keyHash) (out operation.Deleted, err error) {
			k, err := keyByHash(ctx, d, c, in.Hash)
			if err != nil {
				return out, err
			}
			return out, d.Keys.Delete(ctx, c.User, k.Hash, c.Actor)
		}),
	)
}

func changesOfKeys(d Deps) []operation.Operation {
	form := rawjson.Limits{Depth: 10, Keys: 100, Values: 2000}
	return []operation.Operation{
		operation.Of(operation.Operation{
			Method: "POST", Path: "/api/keys", ID: "createAccountKey", Org: operation.Workers, Access: operation.Management, Fresh: true, Status: 201, Tag: "keys", Form: form,
			Summary: "Make a key; its text is only in this response. A session needs a recent sign-in", Answer: "The new key",
			Example: `{"name": "Laptop", "limit": "500", "limit_reset": "monthly", "allowed_models": ["sim/*"], "allowed_ips": ["192.0.2.0/24", "127.0.0.1", "::1"]}`,
		}, func(ctx context.Context, c *operation.Call, in *AccountKeyInput) (NewAccountKey, error) {
			return makeKey(ctx, d, c, in)
		}),
		operation.Of(operation.Operation{
			Method: "PATCH", Path: "/api/keys/{hash}", ID: "changeAccountKey", Org: operation.Workers, Access: operation.Management, Fresh: true, Tag: "keys", Form: form,
			Summary: "Change a key; fields that are missing stay as they are", Answer: "The key", Example: `{"name": "Old laptop", "allowed_models": null}`,
		}, func(ctx context.Context, c *operation.Call, in *AccountKeyChange) (out operation.Data[AccountKey], err error) {
			k, err := keyByHash(ctx, d, c, in.Hash)
			if err != nil {
				return out, err
			}
			if k, err = d.ChangeKey(ctx, c, c.User, &k, in); err != nil {
				return out, err
			}
			return keyAnswer(ctx, d, c, &k)
		}),
		operation.Of(operation.Operation{
			Method: "POST", Path: "/api/keys/{hash}/reset-spending", ID: "resetKeySpending", Org: operation.Workers, Access: operation.Management, Fresh: true, Tag: "keys",
			Summary: "Let a key's limit count from now on", Answer: "The key", Example: `{"reason": "The test is over"}`,
			Description: "It holds for limits of a day, week or month and for those without an interval. What the key has spent stays in spent_total, in activity and in the ledger. Calls that are running count when they end.",
		}, func(ctx context.Context, c *operation.Call, in *SpendingReset) (out operation.Data[AccountKey], err error) {
			k, err := keyByHash(ctx, d, c, in.Hash)
			if err != nil {
				return out, err
			}
			if k, err = d.ResetSpending(ctx, c, c.User, k.Hash, in.Reason); err != nil {
				return out, err
			}
			return keyAnswer(ctx, d, c, &k)
		}),
		operation.Of(operation.Operation{
			Method: "POST", Path: "/api/keys/{hash}/rotate", ID: "rotateAccountKey", Org: operation.Workers, Access: operation.Management, Fresh: true, Tag: "keys",
			Form: rawjson.Limits{Depth: 2, Keys: 10, Values: 20}, Answer: "The key with its new text", Example: `{"hours": 24}`,
			Summary:     "Give a key another text, which is only in this response; the former one works for some hours more",
			Description: "Limit, spending and all else stay. One former text works at a time: rotating again ends an older one at once.",
		}, func(ctx context.Context, c *operation.Call, in *KeyRotation) (out NewAccountKey, err error) {
			hours := usualHours
			if in.Hours != nil {
				if hours = *in.Hours; hours < 0 || hours > apikey.MostHours {
					return out, fault.Field("accountapi.rotate", "hours", "hours must be a whole number from 0 to %d.", apikey.MostHours).Coded("hours_range", "most", apikey.MostHours)
				}
			}
			k, err := keyByHash(ctx, d, c, in.Hash)
			if err != nil {
				return out, err
			}
			if err := noAgent(ctx, d, &k); err != nil {
				return out, err
			}
			if err := ownKey(c, &k); err != nil {
				return out, err
			}
			k, text, err := d.Keys.Rotate(ctx, c.User, k.Hash, hours, c.Actor)
			if err != nil {
				return out, err
			}
			return withText(ctx, d, c, &k, text)
		}),
	}
}

// ResetSpending lets the limit of a key of a user count from now on. What this node has charged is posted first, or it would count again.
func (d Deps) ResetSpending(ctx context.Context, c *operation.Call, user, hash, reason string) (k apikey.Key, err error) {
	if k, err = d.Keys.ByHash(ctx, user, hash); err != nil {
		return k, err
	}
	if _, err := d.Books.KeySpend(ctx, k.ID); err != nil {
		return k, err
	}
	return d.Keys.ResetSpending(ctx, user, k.Hash, reason, c.Actor)
}

// ChangeKey changes a key of a user.
func (d Deps) ChangeKey(ctx context.Context, c *operation.Call, user string, k *apikey.Key, in *AccountKeyChange) (apikey.Key, error) {
	change, err := in.change(k.Limit, d.MostRates)
	if err != nil {
		return *k, err
	}
	if change.ExpiresAt != nil {
		if err := noAgent(ctx, d, k); err != nil {
			return *k, err
		}
	}
	change.Name, change.Disabled = in.Name, in.Disabled
	return d.Keys.Change(ctx, user, k.Hash, change, c.Actor)
}

// MakeKey makes a key for a person, for somebody else who may.
func (d Deps) MakeKey(ctx context.Context, c *operation.Call, user, wallet string, in *AccountKeyInput) (NewAccountKey, error) {
	of := *c
	of.Caller, of.Session, of.Person = &apikey.Caller{User: user, Wallet: wallet}, nil, nil
	return makeKey(ctx, d, &of, in)
}

func makeKey(ctx context.Context, d Deps, c *operation.Call, in *AccountKeyInput) (out NewAccountKey, err error) {
	if in.Management && c.Session == nil {
		return out, fault.New(fault.PermissionDenied, "accountapi.createKey", "Management keys are made by people who are signed in, or by the operator: a management key that made others could not be taken away.")
	}
	form, err := in.change(nil, d.MostRates)
	if err != nil {
		return out, err
	}
	n := apikey.NewKey{Name: in.Name, User: c.User, Creator: c.User, Management: in.Management}
	if n.Member, err = keyMember(ctx, d, c, in); err != nil {
		return out, err
	}
	if n.Member != "" {
		n.Creator = c.Member
	}
	if form.Limit != nil {
		n.Limit = *form.Limit
	}
	if form.Rates != nil {
		n.Rates = *form.Rates
	}
	if form.Preferences != nil {
		n.Preferences = *form.Preferences
	}
	if form.Models != nil {
		n.Models = *form.Models
	}
	if form.Addresses != nil {
		n.Addresses = *form.Addresses
	}
	if form.ExpiresAt != nil {
		n.ExpiresAt = *form.ExpiresAt
	}
	n.Strict = form.Strict != nil && *form.Strict
	k, text, err := d.Keys.Create(ctx, n, c.Actor)
	if err != nil {
		return out, err
	}
	return withText(ctx, d, c, &k, text)
}

// keyMember is for whom a new key of an organization works, "" in a person's own account.
func keyMember(ctx context.Context, d Deps, c *operation.Call, in *AccountKeyInput) (string, error) {
	const op = "accountapi.createKey"
	switch {
	case c.Org == nil && in.Service != "":
		return "", fault.Field(op, "service", "Services are of organizations: name one in the query, account=org_....").Coded("service_org")
	case c.Org == nil:
		return "", nil
	case in.Management:
		return "", fault.Field(op, "management", "Management keys belong to people. Make one in your own account, and name the organization in the query, account=org_....").Coded("management_org")
	case in.Service == "":
		return c.Member, nil
	}
	s, err := d.Organizations.Service(ctx, c.User, in.Service)
	if err != nil {
		return "", err
	}
	return s.ID, c.Org.MayServe(s.Team)
}

// ownKey refuses to show the text of a key to others than for whom it works. That of a service is for who manages it.
func ownKey(c *operation.Call, k *apikey.Key) error {
	if c.Org == nil || k.Member == c.Member || strings.HasPrefix(k.Member, organization.ServicePrefix) && c.OrgRole != apikey.OrgMember {
		return nil
	}
	return fault.New(fault.PermissionDenied, "accountapi.rotate", "Only the member for whom a key works may give it another text. You may disable or delete it.")
}

// withText is the answer that shows the text of a key.
func withText(ctx context.Context, d Deps, c *operation.Call, k *apikey.Key, text string) (NewAccountKey, error) {
	c.NoStore()
	shown, err := keyAnswer(ctx, d, c, k)
	return NewAccountKey{Data: shown.Data, Key: text}, err
}

// keyByHash finds a key of the caller's user; anybody else's does not exist.
func keyByHash(ctx context.Context, d Deps, c *operation.Call, hash string) (apikey.Key, error) {
	if len(hash) != 64 {
		return apikey.Key{}, apikey.NotFound("accountapi.keyByHash")
	}
	return d.Keys.Seen(ctx, c.Caller, hash)
}

func keyAnswer(ctx context.Context, d Deps, c *operation.Call, k *apikey.Key) (out operation.Data[AccountKey], err error) {
	r, err := readerOfKeys(ctx, d, c.User, c.Wallet, webKeyOf(c))
	if !k.Previous.Until.IsZero() && !c.At.Before(k.Previous.Until) {
		k.Previous = apikey.Previous{}
	}
	out.Data = r.show(k)
	return out, err
}

// keyReader shows the keys of a user.
type keyReader struct {
	spends map[string]report.KeySpend
	web    string // the hash of the key of calls from the browser
	agents map[string]agent.SignIn
	endsAt func(*agent.SignIn) time.Time
}

// KeysOf shows the keys of a user as the user sees them, the newest first.
func (d Deps) KeysOf(ctx context.Context, user, wallet string) ([]AccountKey, error) {
	return keysOf(ctx, d, apikey.Filter{User: user}, wallet, nil)
}

// webKeyOf is the hash of the key of the browser's calls, nil where the caller is no browser.
func webKeyOf(c *operation.Call) *string {
	switch {
	case c.Org != nil:
		return &c.Org.WebKey
	case c.Person != nil:
		return &c.Person.WebKey
	}
	return nil
}

func keysOf(ctx context.Context, d Deps, f apikey.Filter, wallet string, web *string) ([]AccountKey, error) {
	f.IncludeDisabled, f.Count = true, apikey.MostPerUser
	keys, err := d.Keys.List(ctx, f)
	if err != nil {
		return nil, err
	}
	r, err := readerOfKeys(ctx, d, f.User, wallet, web)
	out := make([]AccountKey, len(keys))
	for i := range keys {
		out[i] = r.show(&keys[i])
	}
	return out, err
}

// readerOfKeys reads what is shown beside the keys of a user. web is the hash of the key of the browser's calls, if the caller knows it.
func readerOfKeys(ctx context.Context, d Deps, user, wallet string, web *string) (r keyReader, err error) {
	if r.spends, err = d.Reports.KeySpends(ctx, user, wallet); err != nil {
		return r, err
	}
	if d.Agents != nil {
		r.endsAt = d.Agents.EndsAt
		if r.agents, err = d.Agents.Of(ctx, user); err != nil {
			return r, err
		}
	}
	switch {
	case web != nil:
		r.web = *web
	case d.People != nil:
		p, err := d.People.Of(ctx, user)
		if err != nil {
			return r, err
		}
		r.web = p.WebKey
	}
	return r, nil
}

func (r *keyReader) show(k *apikey.Key) AccountKey {
	s := r.spends[k.ID]
	out := AccountKey{
		Hash: k.Hash, ID: k.ID, Label: k.Label, Name: k.Name, Member: OrNull(k.Member), Management: k.Management, Web: k.Hash == r.web, Disabled: k.Disabled, Spent: s.Monthly,
		SpentDay: s.Daily, SpentWeek: s.Weekly, SpentMonth: s.Monthly, SpentTotal: s.Total, RateLimits: ratesOf(k.Rates), AllowedModels: listOrNull(k.Models), Schema: "lenient",
		CreatedAt: k.CreatedAt, UpdatedAt: k.UpdatedAt, ExpiresAt: Moment(k.ExpiresAt), LastUsedAt: Moment(s.LastAt), Agent: r.agentOf(k.ID),
	}
	if k.Limit != nil {
		out.Spent = s.Counted(ledger.Reset(k.Limit.Reset))
		remaining := k.Limit.Remaining(out.Spent)
		out.Limit, out.LimitRemaining, out.LimitReset = &k.Limit.Amount, &remaining, OrNull(string(k.Limit.Reset))
	}
	if k.Preferences != "" {
		out.Provider = operation.Raw(k.Preferences)
	}
	if len(k.Addresses) > 0 {
		from := make([]string, len(k.Addresses))
		for i, p := range k.Addresses {
			if from[i] = p.String(); p.IsSingleIP() { // a single address has no length
				from[i] = p.Addr().String()
			}
		}
		out.AllowedIPs = &from
	}
	if k.Strict {
		out.Schema = "strict"
	}
	if !k.Previous.Until.IsZero() {
		out.Previous = &FormerKey{Label: k.Previous.Label, Until: k.Previous.Until}
	}
	return out
}
