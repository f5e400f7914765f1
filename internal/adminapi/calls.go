package adminapi

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

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

// AdminCallTimes is how many calls of everybody there were over time, and what they brought.
type AdminCallTimes struct {
	From        time.Time   `json:"from"`
	To          time.Time   `json:"to"` // not included
	Bucket      string      `json:"bucket" enum:"hour,day"`
	T           []time.Time `json:"t"` // beginnings of the buckets
	Calls       []int64     `json:"calls"`
	Failed      []int64     `json:"failed"` // of them; what clients stopped did not fail
	TotalCalls  int64       `json:"total_calls"`
	TotalFailed int64       `json:"total_failed"`
	TotalCost   money.Nano  `json:"total_cost"`                                    // what they were charged, VAT within it
	Earned      *CallsSold  `json:"earned"`                                        // null where no sum has it: of a person, where some hours of a day, a key, a kind or a result is asked for
	Uncounted   []string    `json:"uncounted" enum:"min_cost,status,provider_key"` // what of the question keeps calls from being counted, because no sum has it; then there are no figures, and the list has the calls
}

// CallsSold is what calls left, in rubles.
type CallsSold struct {
	VAT      money.Nano `json:"vat"`                // in what they were charged
	Upstream money.Nano `json:"upstream_cost"`      // what providers ask for, at the rate of each call
	Margin   money.Nano `json:"margin"`             // of the calls whose provider's cost is known
	Unknown  int64      `json:"unknown_cost_calls"` // whose provider's cost is not
}

type adminCallsInput struct {
	AdminCallSearch
	accountapi.CallsAfter
}

// AdminCallSearch is which calls of everybody are asked for.
type AdminCallSearch struct {
	accountapi.Period
	accountapi.CallFilter
	MinCost string `json:"-" query:"min_cost" maxLength:"40"`                                      // rubles
	Status  int    `json:"-" query:"status" most:"599"`                                            // HTTP status of the answer
	With    string `json:"-" query:"provider_key" pattern:"^[0-9a-f]{12}$" example:"0123456789ab"` // only calls of which an attempt was made with the provider's key of this tag
}

type adminCallID struct {
	ID string `json:"-" path:"id"` // generation id, or the id of the request (req_) or of the video job (vj_) that made the call
}

type callRoutes struct {
	accountapi.Deps
	providers keyOperations
}

// search is what is asked for.
func (d callRoutes) search(ctx context.Context, c *operation.Call, in *AdminCallSearch) (s report.Search, err error) {
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
	s.Wallet, err = d.walletOf(ctx, &s.Filter)
	return s, err
}

// walletOf is the wallet of a person or a key of a filter, "" without them: its calls have an index of their own. A key is then its id.
func (d callRoutes) walletOf(ctx context.Context, f *report.Filter) (wallet string, err error) {
	if f.Key != "" && f.Key != report.Nothing {
		var k apikey.Found
		if k, err = d.Keys.Of(ctx, f.Key); err != nil {
			return "", err
		}
		f.Key = k.ID
		if f.Member == "" {
			f.Member = k.User
		}
	}
	if f.Member == "" {
		return "", nil
	}
	u, err := d.Accounts.ByID(ctx, f.Member)
	if fault.Is(err, fault.NotFound) {
		err = fault.Field("adminapi.calls", "member", "There is no user with this id.").Coded("no_user")
	}
	return u.Wallet, err
}

func (d callRoutes) list(ctx context.Context, c *operation.Call, in *adminCallsInput) (out AdminCalls, err error) {
	s, err := d.search(ctx, c, &in.AdminCallSearch)
	if err == nil {
		err = in.Into(&s)
	}
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
	names, err := NamesOfCalls(ctx, d.Reports, p.Calls)
	out.Data = names.Rows(p.Calls)
	return out, err
}

// mostCallDays bounds the time over which calls are counted.
const mostCallDays = 400

func (d callRoutes) times(ctx context.Context, c *operation.Call, in *AdminCallSearch) (out operation.Data[AdminCallTimes], err error) {
	s, err := d.search(ctx, c, in)
	if err != nil {
		return out, err
	}
	if s.To.Sub(s.From) > mostCallDays*24*time.Hour {
		return out, fault.Field("adminapi.calls", "from", "A period has at most %d days. Choose a shorter period.", mostCallDays).Coded("period_days", "most", mostCallDays)
	}
	u, err := d.Reports.OverTime(ctx, s, c.At)
	if err != nil {
		return out, err
	}
	t := AdminCallTimes{From: u.Query.From, To: u.Query.To, Bucket: string(u.Query.Bucket), T: u.Times, TotalCalls: u.Total.Calls, TotalFailed: u.Total.Failed, TotalCost: u.Total.Cost, Uncounted: []string{}}
	t.Calls, t.Failed = make([]int64, 0, len(u.Sums)), make([]int64, 0, len(u.Sums))
	if t.T == nil {
		t.T = []time.Time{}
	}
	for i := range u.Sums {
		t.Calls, t.Failed = append(t.Calls, u.Sums[i].Calls), append(t.Failed, u.Sums[i].Failed)
	}
	for _, by := range u.Uncounted {
		t.Uncounted = append(t.Uncounted, string(by))
	}
	if u.Sold != nil {
		t.Earned = &CallsSold{u.Sold.VAT, u.Sold.Upstream, u.Sold.Margin(), u.Sold.Unknown}
	}
	out.Data = t
	return out, nil
}

// file is a table of the calls that are asked for, a page at a time.
func (d callRoutes) file(ctx context.Context, c *operation.Call, in *AdminCallSearch) (operation.File, error) {
	s, err := d.search(ctx, c, in)
	if err != nil {
		return operation.File{}, err
	}
	s.Limit = 1000
	return accountapi.Rows(accountapi.FileName("calls-of-everybody", s.From, s.To, "csv"), func(row func(func(*report.Sheet)) bool) error {
		row(func(t *report.Sheet) { t.Texts(report.AnyCallHeads()...) })
		left := accountapi.MaxExportedCalls
		return d.Reports.Pages(ctx, s, func(calls []record.Call) (more bool, err error) {
			names, err := NamesOfCalls(ctx, d.Reports, calls)
			if err != nil {
				return false, err
			}
			for i := range calls {
				if left--; left < 0 || !row(func(t *report.Sheet) { names.Cells(t, &calls[i]) }) {
					return false, nil
				}
			}
			return true, nil
		})
	}), nil
}

// CallNames are what the accounts and the keys of some calls are called.
type CallNames struct{ people, keys map[string]report.Named }

// NamesOfCalls looks names up. It fails with fault.StorageUnavailable.
func NamesOfCalls(ctx context.Context, r *report.Reporter, calls []record.Call) (n CallNames, err error) {
	users, keys := make([]string, len(calls)), make([]string, len(calls))
	for i := range calls {
		users[i], keys[i] = calls[i].User, calls[i].Key
	}
	if n.people, err = r.Names(ctx, report.UsersByID, users); err == nil {
		n.keys, err = r.Names(ctx, report.KeysByID, keys)
	}
	return n, err
}

// Rows are the rows of the list of calls.
func (n CallNames) Rows(calls []record.Call) []AdminCallRow {
	rows := make([]AdminCallRow, len(calls))
	for i, row := range accountapi.CallRows(func(id string) *accountapi.CallKey { return keyOf(n.keys, id) }, calls) {
		rows[i] = AdminCallRow{CallRow: row, Account: accountOf(n.people, calls[i].User), Earned: earned(&calls[i]), ProviderKey: accountapi.OrNull(calls[i].ProviderKey())}
	}
	return rows
}

// Cells writes a call as a row of the file of calls, below report.AnyCallHeads.
func (n CallNames) Cells(t *report.Sheet, c *record.Call) {
	report.AppendAnyCall(t, c, cmp.Or(n.keys[c.Key].Name, c.Key), n.people[c.User].Name)
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
			Method: "GET", Path: "/api/admin/calls.csv", ID: "getAdminCallsFile", Access: operation.Operating, Tag: "administration", Media: "text/csv",
			Summary: "The calls of GET /api/admin/calls as a file, newest first, at most a million; for operators", Answer: "UTF-8 with a header row; amounts in rubles with a dot",
		}, d.file),
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/admin/calls/histogram", ID: "getAdminCallTimes", Access: operation.Operating, Tag: "administration",
			Summary: "How many calls of everybody there were over time, how many failed, and what they brought; for operators", Answer: "Calls by bucket, and sums of the period",
			Description: "By hour for at most 48 hours, or eight days of one person or key; else by whole days of UTC. A period begins later where the calls before are no longer kept. " +
				"There are no figures for min_cost, for status of a person or key, and for provider_key together with a person, a key, a model or a provider: uncounted names it.",
		}, d.times),
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/admin/calls/{id}", ID: "getAdminCall", Access: operation.Operating, Tag: "administration", Answer: "The record",
			Summary:     "Explain one call of anybody, with what the providers said; for operators",
			Description: "Prompts and answers are not among it, and neither are metadata and the client's own user id. Opening the call of another person is recorded in the audit log, once an hour for each operator and call.",
		}, d.open),
	}
}
