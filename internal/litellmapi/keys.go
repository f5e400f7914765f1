package litellmapi

import (
	"context"
	"slices"
	"strings"
	"time"

	"weir/internal/accountapi"
	"weir/internal/apikey"
	"weir/internal/fault"
	"weir/internal/foreign"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/operation"
	"weir/internal/organization"
	"weir/internal/report"
)

// LiteLLMKeyFields are what is said of a key. What is left out stays as it is, null takes it away.
type LiteLLMKeyFields struct {
	KeyAlias            operation.Maybe[string]     `json:"key_alias"`       // its name
	MaxBudget           operation.Maybe[money.Nano] `json:"max_budget"`      // rubles
	BudgetDuration      operation.Maybe[string]     `json:"budget_duration"` // 1d, 7d or 30d (or 24h, 1w, 1mo); without it max_budget is for all time
	TPMLimit            operation.Maybe[int64]      `json:"tpm_limit"`
	RPMLimit            operation.Maybe[int64]      `json:"rpm_limit"`
	MaxParallelRequests operation.Maybe[int64]      `json:"max_parallel_requests"`
	Models              operation.Maybe[[]string]   `json:"models"`   // slugs and patterns; none, or all-team-models: all
	Duration            operation.Maybe[string]     `json:"duration"` // how long it works from now on, such as 12h or 30d
	Blocked             operation.Maybe[bool]       `json:"blocked"`
	Metadata            operation.Raw               `json:"metadata,omitempty"`
	UserID              operation.Maybe[string]     `json:"user_id"` // of the caller, or a service
	TeamID              operation.Maybe[string]     `json:"team_id"` // without user_id the key works for a service of the team
	OrganizationID      operation.Maybe[string]     `json:"organization_id"`
	KeyType             operation.Maybe[string]     `json:"key_type"`          // default or llm_api
	SendInviteEmail     operation.Maybe[bool]       `json:"send_invite_email"` // false
	APIKey              operation.Raw               `json:"api_key,omitempty"` // of no effect: the official client sends it
	Refused
}

// LiteLLMKeyInput is a new key.
type LiteLLMKeyInput struct {
	Key operation.Maybe[string] `json:"key"` // null: texts of keys are made here
	LiteLLMKeyFields
}

// LiteLLMKeyChange is what is to be different of a key.
type LiteLLMKeyChange struct {
	Key string `json:"key" minLength:"1" maxLength:"256"` // its text or its hash
	LiteLLMKeyFields
}

// LiteLLMKeysDeleted names keys that are to be deleted.
type LiteLLMKeysDeleted struct {
	Keys       operation.Maybe[[]string] `json:"keys"` // texts or hashes
	KeyAliases operation.Maybe[[]string] `json:"key_aliases"`
}

type keyQuery struct {
	Key string `json:"-" query:"key" maxLength:"256"` // its text or its hash; without it the key that asks
}

type keyListQuery struct {
	Page             int    `json:"-" query:"page" most:"100000"`
	Size             int    `json:"-" query:"size" most:"100"` // 10 without it
	UserID           string `json:"-" query:"user_id" maxLength:"128"`
	TeamID           string `json:"-" query:"team_id" maxLength:"128"`
	OrganizationID   string `json:"-" query:"organization_id" maxLength:"128"`
	KeyHash          string `json:"-" query:"key_hash" maxLength:"64"`
	KeyAlias         string `json:"-" query:"key_alias" maxLength:"256"`
	ReturnFullObject bool   `json:"-" query:"return_full_object"`
	SortOrder        string `json:"-" query:"sort_order" enum:"asc,desc"` // by when they were made; desc without it
}

// LiteLLMKey is a key.
type LiteLLMKey struct {
	Token                string        `json:"token"`    // its hash
	KeyName              string        `json:"key_name"` // the ends of its text
	KeyAlias             *string       `json:"key_alias"`
	Spend                operation.Raw `json:"spend" schema:"Rubles"` // in the interval of its budget; without one, ever
	MaxBudget            operation.Raw `json:"max_budget" schema:"RublesOrNull"`
	BudgetDuration       *string       `json:"budget_duration"`
	TPMLimit             *int64        `json:"tpm_limit"`
	RPMLimit             *int64        `json:"rpm_limit"`
	MaxParallelRequests  *int64        `json:"max_parallel_requests"`
	Models               []string      `json:"models"`
	Expires              *time.Time    `json:"expires"`
	Blocked              bool          `json:"blocked"`
	Metadata             operation.Raw `json:"metadata" schema:"AnyObject"`
	UserID               *string       `json:"user_id"` // this and what follows: null where the client that made the key did not name it
	TeamID               *string       `json:"team_id"`
	OrganizationID       *string       `json:"organization_id"`
	Aliases              Nothing       `json:"aliases"`
	Config               Nothing       `json:"config"`
	Permissions          Nothing       `json:"permissions"`
	AllowedCacheControls []string      `json:"allowed_cache_controls"`
	AllowedRoutes        []string      `json:"allowed_routes"`
	CreatedAt            time.Time     `json:"created_at"`
	CreatedBy            string        `json:"created_by"`
	UpdatedAt            time.Time     `json:"updated_at"`
}

// Nothing is an object without members.
type Nothing struct{}

// LiteLLMNewKey is a key that was made, with its text.
type LiteLLMNewKey struct {
	Key      string  `json:"key"` // its text, which is shown this once
	TokenID  string  `json:"token_id"`
	Duration *string `json:"duration"` // as it was asked for
	LiteLLMKey
}

// LiteLLMKeyInfo is one key.
type LiteLLMKeyInfo struct {
	Key  string     `json:"key"` // its hash
	Info LiteLLMKey `json:"info"`
}

// LiteLLMKeyList is a page of keys.
type LiteLLMKeyList struct {
	Keys        []operation.Raw `json:"keys" schema:"LiteLLMKeys"` // hashes; whole keys with return_full_object
	TotalCount  int             `json:"total_count"`
	CurrentPage int             `json:"current_page"`
	TotalPages  int             `json:"total_pages"`
}

// LiteLLMDeletedKeys are the hashes of the keys that were deleted.
type LiteLLMDeletedKeys struct {
	DeletedKeys []string `json:"deleted_keys"`
}

func keys(d Deps) []operation.Operation {
	return []operation.Operation{
		operation.Of(route(operation.Operation{
			Method: "POST", Path: "/key/generate", ID: "litellmGenerateKey", Summary: "Make a key; its text is only in this response", Answer: "The new key",
			Example: `{"key_alias": "build", "max_budget": 500, "budget_duration": "30d", "models": ["sim/*"], "metadata": {"owner": "ci"}}`,
		}, operation.Workers), d.generate),
		operation.Of(route(operation.Operation{
			Method: "POST", Path: "/key/update", ID: "litellmUpdateKey", Summary: "Change a key", Answer: "The key",
			Example: `{"key": "the text or the hash of the key", "max_budget": 700, "blocked": false}`,
		}, operation.Workers), d.updateKey),
		operation.Of(route(operation.Operation{
			Method: "POST", Path: "/key/delete", ID: "litellmDeleteKeys", Summary: "Delete keys permanently: all that are named, or none", Answer: "The keys that are no longer accepted",
			Example: `{"key_aliases": ["no such key"]}`,
		}, operation.Workers), d.deleteKeys),
		operation.Of(route(operation.Operation{
			Method: "GET", Path: "/key/info", ID: "litellmKeyInfo", Summary: "One key", Answer: "The key",
		}, operation.Workers), func(ctx context.Context, c *operation.Call, in *keyQuery) (out LiteLLMKeyInfo, err error) {
			k, err := d.keyOf(ctx, c, in.Key)
			if err != nil {
				return out, err
			}
			s, err := d.shower(ctx, c)
			return LiteLLMKeyInfo{Key: k.Hash, Info: s.key(&k)}, err
		}),
		operation.Of(route(operation.Operation{
			Method: "GET", Path: "/key/list", ID: "litellmListKeys", Summary: "The keys of the account that the caller sees", Answer: "A page of them",
		}, operation.Workers), d.listKeys),
	}
}

// keyOf finds a key by its text or hash; without either, the one that asks.
func (d *Deps) keyOf(ctx context.Context, c *operation.Call, text string) (apikey.Key, error) {
	const op = "litellmapi.keyOf"
	switch {
	case text == "" && c.Org == nil:
		return d.Of.Keys.ByHash(ctx, c.User, c.Hash)
	case text == "":
		return apikey.Key{}, fault.Field(op, "key", "key is missing: the text or the hash of a key of this organization.")
	case apikey.Ours(text):
		text = apikey.Hash(text)
	case len(text) != 64:
		return apikey.Key{}, apikey.NotFound(op)
	}
	k, err := d.Of.Keys.Seen(ctx, c.Caller, text)
	if err == nil && k.Management {
		err = apikey.NotFound(op)
	}
	return k, err
}

// check refuses what a key cannot have.
func (in *LiteLLMKeyFields) check(c *operation.Call) error {
	const op = "litellmapi.key"
	if err := refuse(in.Refused); err != nil {
		return err
	}
	if err := inAccount(c, value(in.OrganizationID)); err != nil {
		return err
	}
	if kind := value(in.KeyType); kind != "" && kind != "default" && kind != "llm_api" {
		return fault.Field(op, "key_type", "key_type must be default or llm_api. Keys that manage are made by people in their browser.")
	}
	if value(in.SendInviteEmail) {
		return fault.Field(op, "send_invite_email", "send_invite_email has no counterpart here: a key is in this response alone. Set it to false.")
	}
	return nil
}

// change is what the fields make of a key with a limit.
func (d *Deps) change(c *operation.Call, in *LiteLLMKeyFields, old *apikey.Key) (e apikey.Change, err error) {
	limit := apikey.LimitEdit{AmountGiven: in.MaxBudget.Given, Amount: in.MaxBudget.Value, ResetGiven: in.BudgetDuration.Given}
	if in.BudgetDuration.Value != nil {
		if limit.Reset, err = resetOf(*in.BudgetDuration.Value); err != nil {
			return e, err
		}
	}
	if limit.AmountGiven || limit.ResetGiven {
		l, err := limit.Of(old.Limit)
		if err != nil {
			return e, fault.Field("litellmapi.key", "budget_duration", "budget_duration needs max_budget.")
		}
		e.Limit = &l
	}
	if err := in.rates(&e, old.Rates, d.Of.MostRates); err != nil {
		return e, err
	}
	if in.Models.Given {
		models, err := d.patterns(value(in.Models))
		if err != nil {
			return e, err
		}
		e.Models = &models
	}
	if in.Duration.Given {
		e.ExpiresAt = &time.Time{}
		if text := value(in.Duration); text != "" && text != "-1" {
			at, err := lengthOf("duration", text, c.At.UTC().Truncate(time.Microsecond))
			if err != nil {
				return e, err
			}
			e.ExpiresAt = &at
		}
	}
	if v := in.Blocked.Value; v != nil {
		e.Disabled = v
	}
	if v := in.KeyAlias.Value; v != nil {
		e.Name = v
	}
	return e, nil
}

// rates are the limits of a minute, over those that a key has.
func (in *LiteLLMKeyFields) rates(e *apikey.Change, old *apikey.Rates, most apikey.Rates) error {
	r := apikey.Rates{Requests: apikey.DefaultRate, Tokens: apikey.DefaultRate, Rubles: apikey.DefaultRate, Calls: apikey.DefaultRate}
	if old != nil {
		r = *old
	}
	given := false
	for _, f := range []struct {
		name string
		in   operation.Maybe[int64]
		most int64
		to   *int64
	}{{"tpm_limit", in.TPMLimit, most.Tokens, &r.Tokens}, {"rpm_limit", in.RPMLimit, most.Requests, &r.Requests}, {"max_parallel_requests", in.MaxParallelRequests, most.Calls, &r.Calls}} {
		if !f.in.Given {
			continue
		}
		given, *f.to = true, apikey.DefaultRate
		if v := f.in.Value; v != nil {
			switch *f.to = *v; {
			case *v <= 0: // there it allows nothing, here everything
				return fault.Field("litellmapi.rates", f.name, "%s must be at least 1. Use blocked for a key that may do nothing.", f.name)
			case f.most > 0 && *v > f.most:
				return fault.Field("litellmapi.rates", f.name, "%s must not be above the operator's limit, %d.", f.name, f.most)
			}
		}
	}
	if given {
		own := &r
		if r == (apikey.Rates{Requests: apikey.DefaultRate, Tokens: apikey.DefaultRate, Rubles: apikey.DefaultRate, Calls: apikey.DefaultRate}) {
			own = nil
		}
		e.Rates = &own
	}
	return nil
}

func (d *Deps) generate(ctx context.Context, c *operation.Call, in *LiteLLMKeyInput) (out LiteLLMNewKey, err error) {
	if value(in.Key) != "" {
		return out, fault.Field("litellmapi.generate", "key", "key cannot be given: texts of keys are made here. Leave it out.")
	}
	k, text, err := d.makeKey(ctx, c, &in.LiteLLMKeyFields)
	if err != nil {
		return out, err
	}
	s, err := d.shower(ctx, c)
	if err != nil {
		return out, err
	}
	c.NoStore()
	return LiteLLMNewKey{Key: text, TokenID: k.Hash, Duration: in.Duration.Value, LiteLLMKey: s.key(&k)}, nil
}

func (d *Deps) makeKey(ctx context.Context, c *operation.Call, in *LiteLLMKeyFields) (k apikey.Key, text string, err error) {
	if err := in.check(c); err != nil {
		return k, "", err
	}
	e, err := d.change(c, in, &apikey.Key{})
	if err != nil {
		return k, "", err
	}
	var f kept
	if err := f.setMetadata(in.Metadata); err != nil {
		return k, "", err
	}
	f.Duration = value(in.BudgetDuration)
	f.name(map[string]string{"user_id": value(in.UserID), "team_id": value(in.TeamID), "organization_id": value(in.OrganizationID)})
	n := apikey.NewKey{Name: value(in.KeyAlias), User: c.User, Creator: c.User, Disabled: value(in.Blocked)}
	if c.Org != nil {
		n.Creator = c.Member
	}
	if n.Name == "" {
		n.Name = "key " + c.At.UTC().Format("2006-01-02 15:04:05")
	}
	if e.Limit != nil {
		n.Limit = *e.Limit
	}
	if e.Rates != nil {
		n.Rates = *e.Rates
	}
	if e.Models != nil {
		n.Models = *e.Models
	}
	if e.ExpiresAt != nil {
		n.ExpiresAt = *e.ExpiresAt
	}
	if err := nameFree(ctx, d, c, n.Name, ""); err != nil {
		return k, "", err
	}
	if err := n.Check(c.At); err != nil {
		return k, "", err
	}
	if n.Member, err = d.worksFor(ctx, c, in); err != nil {
		return k, "", err
	}
	if k, text, err = d.Of.Keys.Create(ctx, n, c.Actor); err != nil {
		return k, "", err
	}
	if err := d.note(ctx, c, foreign.Key, k.ID, "", f); err != nil {
		return k, "", joinedWith(err, d.Of.Keys.Delete(ctx, c.User, k.Hash, c.Actor))
	}
	return k, text, nil
}

// nameFree refuses a key_alias that another key has: clients find keys by it.
func nameFree(ctx context.Context, d *Deps, c *operation.Call, name, id string) error {
	all, err := d.all(ctx, c, apikey.Sight{})
	if err != nil {
		return err
	}
	if slices.ContainsFunc(all, func(k apikey.Key) bool { return k.Name == name && k.ID != id }) {
		return fault.Newf(fault.Conflict, "litellmapi.nameFree", "key_alias %s is that of another key of this account. Choose another one.", clip(name))
	}
	return nil
}

// worksFor is for whom a new key of an organization works, "" in a personal account.
func (d *Deps) worksFor(ctx context.Context, c *operation.Call, in *LiteLLMKeyFields) (string, error) {
	const op = "litellmapi.worksFor"
	user, team := value(in.UserID), value(in.TeamID)
	if c.Org == nil {
		switch {
		case team != "":
			return "", notHere(op, "team_id")
		case user != "" && user != c.User:
			return "", notHere(op, "user_id")
		}
		return "", nil
	}
	r, err := d.roster(ctx, c)
	if err != nil {
		return "", err
	}
	id := r.idOf(foreign.User, user)
	if team == "" {
		if id == "" {
			id = c.Member
		}
		return id, d.mayHold(c, &r, id)
	}
	t, err := r.team(op, team)
	if err != nil {
		return "", err
	}
	if id == "" {
		return d.serviceOf(ctx, c, &r, t)
	}
	if err := d.mayHold(c, &r, id); err != nil {
		return "", err
	}
	if r.teamOf(id) != t.ID {
		return "", fault.Field(op, "team_id", "team_id: the user is not in this team. Add them with POST /team/member_add, or leave user_id out: the key works for a service of the team then.")
	}
	return id, nil
}

// mayHold refuses keys for other people: the text of a key is for whom it works.
func (d *Deps) mayHold(c *operation.Call, r *roster, id string) error {
	const op = "litellmapi.mayHold"
	if s := r.service(id); s != nil {
		return c.Org.MayServe(s.Team)
	}
	switch {
	case id == c.Member:
		return nil
	case r.member(id) != nil || r.invitation(id) != nil:
		return fault.Field(op, "user_id", "user_id: people make their own keys. Use a user without an e-mail address, which is a service here, or team_id alone.")
	}
	return fault.New(fault.NotFound, op, "There is no such user: user_id is not found.")
}

// serviceOf is the service of a team for which its keys work that have no user. It has the team's name, and is made with the first key.
func (d *Deps) serviceOf(ctx context.Context, c *operation.Call, r *roster, t *organization.Team) (string, error) {
	if err := c.Org.MayServe(t.ID); err != nil {
		return "", err
	}
	for i := range r.services {
		if s := &r.services[i]; s.Team == t.ID && s.Name == t.Name {
			return s.ID, nil
		}
	}
	s, err := d.Of.Organizations.AddService(ctx, c.Org, t.Name, t.ID, c.Member, c.Actor)
	return s.ID, err
}

func (d *Deps) updateKey(ctx context.Context, c *operation.Call, in *LiteLLMKeyChange) (out LiteLLMKey, err error) {
	const op = "litellmapi.updateKey"
	k, err := d.keyOf(ctx, c, in.Key)
	if err != nil {
		return out, err
	}
	if err := in.check(c); err != nil {
		return out, err
	}
	r, err := d.roster(ctx, c)
	if err != nil {
		return out, err
	}
	worksFor := k.Member
	if worksFor == "" {
		worksFor = k.User
	}
	if user := value(in.UserID); user != "" && r.idOf(foreign.User, user) != worksFor {
		return out, fault.Field(op, "user_id", "user_id cannot be changed: a key works for one user. Make another key.")
	}
	if team := value(in.TeamID); team != "" && r.idOf(foreign.Team, team) != r.teamOf(k.Member) {
		return out, fault.Field(op, "team_id", "team_id cannot be changed: it is that of the user for whom the key works. Make another key.")
	}
	e, err := d.change(c, &in.LiteLLMKeyFields, &k)
	if err != nil {
		return out, err
	}
	f := r.fields(k.ID)
	if err := f.setMetadata(in.Metadata); err != nil {
		return out, err
	}
	if in.BudgetDuration.Given {
		f.Duration = value(in.BudgetDuration)
	}
	if e.Name != nil && *e.Name != k.Name {
		if err := nameFree(ctx, d, c, *e.Name, k.ID); err != nil {
			return out, err
		}
	}
	if k, err = d.Of.Keys.Change(ctx, c.User, k.Hash, e, c.Actor); err != nil {
		return out, err
	}
	if err := d.note(ctx, c, foreign.Key, k.ID, "", f); err != nil {
		return out, err
	}
	s, err := d.shower(ctx, c)
	return s.key(&k), err
}

func (d *Deps) deleteKeys(ctx context.Context, c *operation.Call, in *LiteLLMKeysDeleted) (out LiteLLMDeletedKeys, err error) {
	const op, most = "litellmapi.deleteKeys", 100
	texts, aliases := value(in.Keys), value(in.KeyAliases)
	switch n := len(texts) + len(aliases); {
	case n == 0:
		return out, fault.Field(op, "keys", "keys is missing: the texts or hashes of the keys to delete, or their names in key_aliases.")
	case n > most:
		return out, fault.Field(op, "keys", "keys must be at most %d at a time.", most)
	}
	found := []apikey.Key{}
	for _, text := range texts {
		if text == "" {
			return out, apikey.NotFound(op)
		}
		k, err := d.keyOf(ctx, c, text)
		if err != nil {
			return out, err
		}
		found = append(found, k)
	}
	all, err := d.all(ctx, c, c.Sees)
	if err != nil {
		return out, err
	}
	for _, alias := range aliases {
		i := slices.IndexFunc(all, func(k apikey.Key) bool { return k.Name == alias })
		if i < 0 {
			return out, apikey.NotFound(op)
		}
		found = append(found, all[i])
	}
	out.DeletedKeys = []string{}
	slices.SortFunc(found, func(a, b apikey.Key) int { return strings.Compare(a.ID, b.ID) })
	for _, k := range slices.CompactFunc(found, func(a, b apikey.Key) bool { return a.ID == b.ID }) {
		if err := d.Of.Keys.Delete(ctx, c.User, k.Hash, c.Actor); err != nil {
			return out, err
		}
		if err := d.Names.DeleteForeign(ctx, c.User, k.ID); err != nil {
			return out, err
		}
		out.DeletedKeys = append(out.DeletedKeys, k.Hash)
	}
	return out, nil
}

// all lists the keys that call models, the newest first.
func (d *Deps) all(ctx context.Context, c *operation.Call, sees apikey.Sight) ([]apikey.Key, error) {
	list, err := d.Of.Keys.List(ctx, apikey.Filter{User: c.User, Sees: sees, IncludeDisabled: true, Count: apikey.MostPerUser})
	return slices.DeleteFunc(list, func(k apikey.Key) bool { return k.Management }), err
}

func (d *Deps) listKeys(ctx context.Context, c *operation.Call, in *keyListQuery) (out LiteLLMKeyList, err error) {
	if err := inAccount(c, in.OrganizationID); err != nil {
		return out, err
	}
	all, err := d.all(ctx, c, c.Sees)
	if err != nil {
		return out, err
	}
	s, err := d.shower(ctx, c)
	if err != nil {
		return out, err
	}
	user, team := s.idOf(foreign.User, in.UserID), s.idOf(foreign.Team, in.TeamID)
	all = slices.DeleteFunc(all, func(k apikey.Key) bool {
		return user != "" && k.Member != user && (k.Member != "" || k.User != user) || team != "" && s.teamOf(k.Member) != team ||
			in.KeyHash != "" && k.Hash != in.KeyHash || in.KeyAlias != "" && k.Name != in.KeyAlias
	})
	if in.SortOrder == "asc" {
		slices.Reverse(all)
	}
	var from, to int
	from, to, out.TotalPages, out.CurrentPage = paged(len(all), in.Page, in.Size, 10)
	out.TotalCount, out.Keys = len(all), []operation.Raw{}
	for i := range all[from:to] {
		var one any = all[from+i].Hash
		if in.ReturnFullObject {
			one = s.key(&all[from+i])
		}
		text, err := operation.JSON(one)
		if err != nil {
			return out, err
		}
		out.Keys = append(out.Keys, text)
	}
	return out, nil
}

// shower shows the keys of an account.
type shower struct {
	roster
	spends map[string]report.KeySpend
}

func (d *Deps) shower(ctx context.Context, c *operation.Call) (s shower, err error) {
	if s.roster, err = d.roster(ctx, c); err != nil {
		return s, err
	}
	s.spends, err = d.Of.Reports.KeySpends(ctx, c.User, c.Wallet)
	return s, err
}

func (s *shower) key(k *apikey.Key) LiteLLMKey {
	spent, f := s.spends[k.ID], s.fields(k.ID)
	out := LiteLLMKey{
		Token: k.Hash, KeyName: k.Label, KeyAlias: accountapi.OrNull(k.Name), Spend: number(spent.Counted(ledger.Never)), Models: append([]string{}, k.Models...), Expires: accountapi.Moment(k.ExpiresAt),
		Blocked: k.Disabled, Metadata: object(f.Metadata), UserID: f.shows("user_id", s.nameOf(k.User)), AllowedCacheControls: []string{}, AllowedRoutes: []string{},
		CreatedAt: k.CreatedAt, CreatedBy: s.nameOf(k.Creator), UpdatedAt: k.UpdatedAt,
	}
	if k.Member != "" {
		out.UserID, out.OrganizationID = f.shows("user_id", s.nameOf(k.Member)), f.shows("organization_id", s.account)
		out.TeamID = f.shows("team_id", s.nameOf(s.teamOf(k.Member)))
	}
	if l := k.Limit; l != nil {
		out.MaxBudget, out.BudgetDuration = number(l.Amount), durationOf(l.Reset, f.Duration)
		out.Spend = number(spent.Counted(ledger.Reset(l.Reset)))
	}
	if r := k.Rates; r != nil {
		out.TPMLimit, out.RPMLimit, out.MaxParallelRequests = rate(r.Tokens), rate(r.Requests), rate(r.Calls)
	}
	return out
}

// rate is a limit of a key, nil for the operator's.
func rate(n int64) *int64 {
	if n == apikey.DefaultRate {
		return nil
	}
	return &n
}
