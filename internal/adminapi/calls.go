package adminapi

import (
	"context"
	"slices"
	"strings"

	"weir/internal/accountapi"
	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/catalog"
	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/operation"
	"weir/internal/record"
	"weir/internal/report"
)

// Earned is what the gateway earned with a call, in rubles. Its members are null for a call whose prices were not made of dollars.
type Earned struct {
	UpstreamCost     *money.Nano `json:"upstream_cost"`          // what the provider asks for, at the rate of the call
	UpstreamReported bool        `json:"upstream_cost_reported"` // the provider said so; else it follows from its prices
	VAT              *money.Nano `json:"vat"`                    // in the charge
	Margin           *money.Nano `json:"margin"`                 // what is left of the charge without VAT and the provider's cost
}

func earned(c *record.Call) (e Earned) {
	if m, known := report.MarginOf(c); known {
		e = Earned{&m.Upstream, m.Reported, &m.VAT, &m.Margin}
	}
	return e
}

// CallAccount is whose a call is.
type CallAccount struct {
	ID   string  `json:"id"`
	Name *string `json:"name"` // null: it was deleted
}

// AdminCallRow is a call of anybody in a list.
type AdminCallRow struct {
	accountapi.CallRow
	Account CallAccount `json:"account"`
	Earned
	ProviderKey *string `json:"provider_key"` // tag of the provider's key that served it, as the list of its keys has it; null: none is known
}

// AdminCalls is a page of calls of everybody.
type AdminCalls struct {
	Data       []AdminCallRow `json:"data"`
	Next       *string        `json:"next"`        // cursor of the next page
	SearchedTo *string        `json:"searched_to"` // how far back the search has come; null at the end
}

// AdminCall is a call as operators see it: what its owner sees, but for what the client wrote itself, and what the providers said and asked for.
type AdminCall struct {
	accountapi.Call
	Account CallAccount `json:"account"`
	Earned
	ProviderKey *CallProviderKey  `json:"provider_key"` // the provider's key that served it; null: none is known
	AttemptKeys []CallProviderKey `json:"attempt_keys"` // those of the attempts, in their order; with an empty tag where none is known
	Words       []*string         `json:"words"`        // what the provider said of each attempt that failed, redacted and without long quotes; null where it said nothing
}

// CallProviderKey is which of the gateway's keys of a provider was used.
type CallProviderKey struct {
	Tag   string  `json:"tag"`   // made of its text, which it does not reveal; "" where none is known
	ID    *string `json:"id"`    // null: it is declared in the configuration or the environment, or it is gone
	Last4 *string `json:"last4"` // null: it is gone
	Note  *string `json:"note"`
}

type adminCallsInput struct {
	accountapi.Period
	accountapi.CallFilter
	MinCost string `json:"-" query:"min_cost" maxLength:"40"`                                      // rubles
	Status  int    `json:"-" query:"status" most:"599"`                                            // HTTP status of the answer
	With    string `json:"-" query:"provider_key" pattern:"^[0-9a-f]{12}$" example:"0123456789ab"` // only calls of which an attempt was made with the provider's key of this tag
	accountapi.CallsAfter
}

type adminCallID struct {
	ID string `json:"-" path:"id"` // generation id, or the id of the request (req_) or of the video job (vj_) that made the call
}

type callRoutes struct {
	accountapi.Deps
	providers keyOperations
}

// search is what is asked for. Calls of one person, or of one key, are those of one wallet, of which an index exists.
func (d callRoutes) search(ctx context.Context, c *operation.Call, in *adminCallsInput) (s report.Search, err error) {
	if s.From, s.To, err = in.In(nil, c.At); err != nil {
		return s, err
	}
	if s.Filter, err = in.Plain(); err != nil {
		return s, err
	}
	if s.MinCost, err = accountapi.LeastCost(in.MinCost); err != nil {
		return s, err
	}
	s.Status, s.ProviderKey = in.Status, in.With
	if in.With != "" && !catalog.IsKeyTag(in.With) {
		return s, fault.Field("adminapi.calls", "provider_key", "provider_key must be the tag of a provider's key, as the list of its keys has it: 12 digits and letters from a to f.").Coded("key_tag")
	}
	if err = in.Into(&s); err != nil {
		return s, err
	}
	if s.Filter.Key != "" && s.Filter.Key != report.Nothing {
		var k apikey.Found
		if k, err = d.Keys.Of(ctx, s.Filter.Key); err != nil {
			return s, err
		}
		s.Filter.Key = k.ID
		if s.Filter.Member == "" {
			s.Filter.Member = k.User
		}
	}
	if s.Filter.Member != "" {
		u, err := d.Accounts.ByID(ctx, s.Filter.Member)
		if fault.Is(err, fault.NotFound) {
			return s, fault.Field("adminapi.calls", "member", "There is no user with this id.").Coded("no_user")
		}
		if err != nil {
			return s, err
		}
		s.Wallet = u.Wallet
	}
	return s, nil
}

func (d callRoutes) list(ctx context.Context, c *operation.Call, in *adminCallsInput) (out AdminCalls, err error) {
	s, err := d.search(ctx, c, in)
	if err != nil {
		return out, err
	}
	find := d.Reports.AllCalls
	if s.Wallet != "" {
		find = d.Reports.Calls
	}
	p, err := find(ctx, s)
	if err != nil {
		return out, err
	}
	out.Next = accountapi.CursorOf(p.Next)
	if !p.Next.At.IsZero() {
		at := p.Next.At.Format("2006-01-02T15:04:05Z")
		out.SearchedTo = &at
	}
	out.Data, err = d.rows(ctx, p.Calls)
	return out, err
}

func (d callRoutes) rows(ctx context.Context, calls []record.Call) ([]AdminCallRow, error) {
	users, keys := make([]string, len(calls)), make([]string, len(calls))
	for i := range calls {
		users[i], keys[i] = calls[i].User, calls[i].Key
	}
	people, err := d.Reports.Names(ctx, report.UsersByID, users)
	if err != nil {
		return nil, err
	}
	known, err := d.Reports.Names(ctx, report.KeysByID, keys)
	if err != nil {
		return nil, err
	}
	rows := make([]AdminCallRow, len(calls))
	for i, row := range accountapi.CallRows(func(id string) *accountapi.CallKey { return keyOf(known, id) }, calls) {
		rows[i] = AdminCallRow{CallRow: row, Account: accountOf(people, calls[i].User), Earned: earned(&calls[i]), ProviderKey: accountapi.OrNull(calls[i].ProviderKey())}
	}
	return rows, nil
}

func keyOf(known map[string]report.Named, id string) *accountapi.CallKey {
	if id == "" {
		return nil
	}
	k, ok := known[id]
	if !ok {
		return &accountapi.CallKey{ID: id, Deleted: true}
	}
	return &accountapi.CallKey{ID: id, Hash: &k.ID, Name: &k.Name}
}

func accountOf(people map[string]report.Named, id string) CallAccount {
	return CallAccount{ID: id, Name: accountapi.OrNull(people[id].Name)}
}

// generation is the call that an id of a complaint belongs to.
func (d callRoutes) generation(ctx context.Context, id string) (string, error) {
	switch {
	case len(id) > record.MaxID:
		return "", fault.Field("adminapi.call", "id", "id must have at most %d bytes.", record.MaxID).Coded("most_bytes", "most", record.MaxID)
	case strings.HasPrefix(id, "req_"):
		found, err := d.Reports.CallOfRequest(ctx, id)
		if err == nil && found == "" {
			err = fault.New(fault.NotFound, "adminapi.call", "No call with this request id is recorded. Requests that were refused before a model was chosen are in the log of the node.")
		}
		return found, err
	case strings.HasPrefix(id, "vj_") && d.Videos != nil:
		job, err := d.Videos.Get(ctx, "", id)
		if err != nil {
			return "", err
		}
		return job.Generation, nil
	}
	return id, nil
}

func (d callRoutes) open(ctx context.Context, c *operation.Call, in *adminCallID) (out operation.Data[AdminCall], err error) {
	id, err := d.generation(ctx, in.ID)
	if err != nil {
		return out, err
	}
	r, call, err := d.OneCall(ctx, "", id, c.At)
	if err != nil {
		return out, err
	}
	call.Metadata, call.ClientUser, call.Tags = nil, nil, []string{} // the client's own notes
	people, err := d.Reports.Names(ctx, report.UsersByID, []string{r.User})
	if err != nil {
		return out, err
	}
	known, err := d.Reports.Names(ctx, report.KeysByID, []string{r.Key})
	if err != nil {
		return out, err
	}
	if k, ok := known[r.Key]; ok {
		call.KeyHash, call.KeyName = &k.ID, &k.Name
	}
	out.Data = AdminCall{Call: call, Account: accountOf(people, r.User), Earned: earned(r), Words: make([]*string, len(r.Attempts))}
	for i := range r.Attempts {
		out.Data.Words[i] = accountapi.OrNull(r.Attempts[i].Words)
	}
	if err := d.keys(ctx, r, &out.Data); err != nil {
		return out, err
	}
	if r.User == c.User {
		return out, nil
	}
	return out, d.Accounts.Looked(ctx, audit.CallOpened, r.Generation, r.User, c.Actor)
}

// keys says with which of the providers' keys attempts were made.
func (d callRoutes) keys(ctx context.Context, r *record.Call, out *AdminCall) error {
	out.AttemptKeys = make([]CallProviderKey, len(r.Attempts))
	if !slices.ContainsFunc(r.Attempts, func(a record.Attempt) bool { return a.ProviderKey != "" }) {
		return nil
	}
	b, err := d.providers.Built(ctx)
	if err != nil {
		return err
	}
	named := func(provider, tag string) *CallProviderKey {
		if tag == "" {
			return nil
		}
		k := &CallProviderKey{Tag: tag}
		for _, known := range d.providers.known(b, provider) {
			if known.Tag == tag {
				k.ID, k.Last4, k.Note = known.ID, known.Last4, known.Note
			}
		}
		return k
	}
	for i := range r.Attempts {
		if k := named(r.Attempts[i].Provider, r.Attempts[i].ProviderKey); k != nil {
			out.AttemptKeys[i] = *k
		}
	}
	out.ProviderKey = named(r.Provider, r.ProviderKey())
	return nil
}

func allCalls(of accountapi.Deps, providers keyOperations) []operation.Operation {
	d := callRoutes{of, providers}
	return []operation.Operation{
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/admin/calls", ID: "listAdminCalls", Access: operation.Operating, Tag: "administration",
			Summary: "Calls of everybody, newest first, with the provider's cost and the margin; for operators", Answer: "A page of calls",
			Description: "Days are those of UTC. member is the id of a person; key is an id, a hash or the whole label of a key. A page may have fewer calls than limit, or none, while next is not null: " +
				"a search looks at a bounded number of calls at a time, and searched_to says how far it has come. Calls of a batch stand where their batch began.",
		}, d.list),
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/admin/calls/{id}", ID: "getAdminCall", Access: operation.Operating, Tag: "administration", Answer: "The record",
			Summary:     "Explain one call of anybody, with what the providers said; for operators",
			Description: "Prompts and answers are not among it, and neither are metadata and the client's own user id. Opening the call of another person is recorded in the audit log, once an hour for each operator and call.",
		}, d.open),
	}
}
