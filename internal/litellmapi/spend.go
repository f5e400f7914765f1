package litellmapi

import (
	"cmp"
	"context"
	"slices"
	"time"

	"weir/internal/apikey"
	"weir/internal/fault"
	"weir/internal/foreign"
	"weir/internal/money"
	"weir/internal/operation"
	"weir/internal/record"
	"weir/internal/report"
	"weir/internal/tag"
	"weir/internal/zone"
)

const (
	mostDays   = 400 // of a period by days
	mostMonths = 60  // of what was ever spent
	mostLogs   = 200
	mostNames  = 100 // of tags
)

type period struct {
	StartDate string `json:"-" query:"start_date" maxLength:"10"` // a day of the account (YYYY-MM-DD)
	EndDate   string `json:"-" query:"end_date" maxLength:"10"`   // a day of the account, which is included
}

type logsQuery struct {
	StartDate string `json:"-" query:"start_date" maxLength:"10"` // a day of the account (YYYY-MM-DD)
	EndDate   string `json:"-" query:"end_date" maxLength:"10"`   // a day of the account, which is included
	APIKey    string `json:"-" query:"api_key" maxLength:"256"`   // text or hash of a key
	UserID    string `json:"-" query:"user_id" maxLength:"128"`
	RequestID string `json:"-" query:"request_id" maxLength:"128"`  // of one call
	Summarize string `json:"-" query:"summarize" enum:"true,false"` // false: calls, also with two dates
}

type tagsQuery struct {
	StartDate string `json:"-" query:"start_date" maxLength:"10"` // a day of the account (YYYY-MM-DD); without it 30 days
	EndDate   string `json:"-" query:"end_date" maxLength:"10"`   // a day of the account, which is included
}

// LiteLLMLog is a call, or a day with start_date and end_date.
type LiteLLMLog struct {
	RequestID        string        `json:"request_id,omitempty"`
	CallType         string        `json:"call_type,omitempty"`
	APIKey           string        `json:"api_key,omitempty"` // hash
	Spend            operation.Raw `json:"spend" schema:"Rubles"`
	TotalTokens      *int64        `json:"total_tokens,omitempty"`
	PromptTokens     *int64        `json:"prompt_tokens,omitempty"`
	CompletionTokens *int64        `json:"completion_tokens,omitempty"`
	StartTime        string        `json:"startTime"` // of a call a time, of a day its date
	EndTime          string        `json:"endTime,omitempty"`
	Model            string        `json:"model,omitempty"`
	Provider         string        `json:"custom_llm_provider,omitempty"`
	User             string        `json:"user,omitempty"`
	TeamID           string        `json:"team_id,omitempty"`
	EndUser          string        `json:"end_user,omitempty"`
	SessionID        string        `json:"session_id,omitempty"`
	RequestTags      []string      `json:"request_tags,omitempty"`
	Status           string        `json:"status,omitempty" enum:"success,failure"`

	Models map[string]operation.Raw `json:"models,omitempty"` // of a day: rubles by model
	Users  map[string]operation.Raw `json:"users,omitempty"`  // of a day: rubles by user
}

// LiteLLMTagSpend is what calls with a tag cost.
type LiteLLMTagSpend struct {
	Tag        string        `json:"individual_request_tag"`
	LogCount   int64         `json:"log_count"`
	TotalSpend operation.Raw `json:"total_spend" schema:"Rubles"`
}

func spend(d Deps) []operation.Operation {
	whole := func(o operation.Operation) operation.Operation {
		o = route(o, operation.Watchers)
		o.Whole = true
		return o
	}
	return []operation.Operation{
		operation.Of(whole(operation.Operation{
			Method: "GET", Path: "/spend/logs", ID: "litellmSpendLogs", Summary: "Calls, the newest 200; with start_date and end_date what each day cost", Answer: "The calls or days",
		}), d.logs),
		operation.Of(whole(operation.Operation{
			Method: "GET", Path: "/spend/tags", ID: "litellmSpendTags", Summary: "What calls with each tag cost", Answer: "The tags, the dearest first",
		}), d.spendTags),
		operation.Of(whole(operation.Operation{
			Method: "GET", Path: "/spend/keys", ID: "litellmSpendKeys", Summary: "The keys by what they have spent", Answer: "The keys, the dearest first",
		}), func(ctx context.Context, c *operation.Call, _ *operation.None) ([]LiteLLMKey, error) {
			all, err := d.all(ctx, c, c.Sees)
			if err != nil {
				return nil, err
			}
			s, err := d.shower(ctx, c)
			slices.SortStableFunc(all, func(a, b apikey.Key) int { return cmp.Compare(s.spends[b.ID].Total, s.spends[a.ID].Total) })
			out := []LiteLLMKey{}
			for i := range all {
				out = append(out, s.key(&all[i]))
			}
			return out, err
		}),
		operation.Of(whole(operation.Operation{
			Method: "GET", Path: "/spend/users", ID: "litellmSpendUsers", Summary: "The users by what they have spent", Answer: "The users, the dearest first",
		}), func(ctx context.Context, c *operation.Call, x *userQuery) ([]LiteLLMUser, error) {
			all, err := d.everybody(ctx, c)
			if x.UserID != "" {
				all = slices.DeleteFunc(all, func(u LiteLLMUser) bool { return u.UserID != x.UserID })
			}
			amount := func(u *LiteLLMUser) money.Nano {
				n, _ := money.ParseNumber(string(u.Spend)) // as number has written it
				return n
			}
			slices.SortStableFunc(all, func(a, b LiteLLMUser) int { return cmp.Compare(amount(&b), amount(&a)) })
			return all, err
		}),
	}
}

// spentBy is what was ever spent by each team or member.
func (d *Deps) spentBy(ctx context.Context, c *operation.Call, p report.Part) (map[string]money.Nano, error) {
	zones, err := d.Of.Reports.Zones(ctx, c.Wallet)
	if err != nil {
		return nil, err
	}
	this := report.Month.Floor(zones.Day(c.At))
	rows, err := d.Of.Reports.Rows(ctx, report.Query{
		Wallet: c.Wallet, Zones: zones, Part: p, Bucket: report.Month, Metric: report.Cost, From: zones.Start(this.AddDate(0, 1-mostMonths, 0)), To: zones.Start(report.Month.Next(this)),
	})
	sums := map[string]money.Nano{}
	for i := range rows {
		sums[rows[i].Value] += rows[i].Cost
	}
	return sums, err
}

// days reads a period of whole days.
func (p *period) days(zones zone.History, now time.Time) (from, behind time.Time, err error) {
	const op = "litellmapi.days"
	last := zones.Day(now)
	if p.EndDate != "" {
		if last, err = time.Parse(time.DateOnly, p.EndDate); err != nil {
			return from, behind, fault.Field(op, "end_date", "end_date must be a day such as 2026-01-31.")
		}
	}
	first := last.AddDate(0, 0, -29)
	if p.StartDate != "" {
		if first, err = time.Parse(time.DateOnly, p.StartDate); err != nil {
			return from, behind, fault.Field(op, "start_date", "start_date must be a day such as 2026-01-31.")
		}
	}
	if last.Before(first) || last.Sub(first) >= mostDays*24*time.Hour || first.Year() < 1970 {
		return from, behind, fault.Field(op, "start_date", "start_date must be a day up to end_date, and at most %d days before it.", mostDays)
	}
	return zones.Start(first), zones.Start(last.AddDate(0, 0, 1)), nil
}

func (d *Deps) logs(ctx context.Context, c *operation.Call, x *logsQuery) ([]LiteLLMLog, error) {
	r, err := d.roster(ctx, c)
	if err != nil {
		return nil, err
	}
	f := report.Filter{Member: r.idOf(foreign.User, x.UserID)}
	if c.Org == nil && f.Member == c.User {
		f.Member = ""
	}
	if x.APIKey != "" {
		k, err := d.keyOf(ctx, c, x.APIKey)
		if err != nil {
			return nil, err
		}
		f.Key = k.ID
	}
	zones, err := d.Of.Reports.Zones(ctx, c.Wallet)
	if err != nil {
		return nil, err
	}
	p := period{x.StartDate, x.EndDate}
	from, behind, err := p.days(zones, c.At)
	if err != nil {
		return nil, err
	}
	if x.StartDate != "" && x.EndDate != "" && x.RequestID == "" && x.Summarize != "false" {
		return d.daysOf(ctx, c, &r, report.Query{Wallet: c.Wallet, Zones: zones, Filter: f, Bucket: report.Day, Metric: report.Cost, From: from, To: behind})
	}
	s := report.Search{Wallet: c.Wallet, Filter: f, From: from, To: behind, Limit: mostLogs}
	if x.StartDate == "" {
		s.From = time.Unix(0, 0)
	}
	var calls []record.Call
	if x.RequestID != "" {
		one, err := d.callOf(ctx, c, x.RequestID)
		if err != nil {
			return nil, err
		}
		calls = one
	} else {
		page, err := d.Of.Reports.Calls(ctx, s)
		if err != nil {
			return nil, err
		}
		calls = page.Calls
	}
	hashes, err := d.hashes(ctx, c)
	out := []LiteLLMLog{}
	for i := range calls {
		out = append(out, r.log(&calls[i], hashes))
	}
	return out, err
}

// callOf is one call, or none.
func (d *Deps) callOf(ctx context.Context, c *operation.Call, id string) ([]record.Call, error) {
	one, _, err := d.Of.Books.Call(ctx, c.Wallet, id)
	if fault.Is(err, fault.NotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return []record.Call{*one}, nil
}

// hashes are those of the keys of an account by their ids.
func (d *Deps) hashes(ctx context.Context, c *operation.Call) (map[string]string, error) {
	all, err := d.Of.Keys.List(ctx, apikey.Filter{User: c.User, IncludeDisabled: true, IncludeDeleted: true, Children: true, Count: apikey.MostPerUser})
	out := map[string]string{}
	for i := range all {
		out[all[i].ID] = all[i].Hash
	}
	return out, err
}

func (r *roster) log(c *record.Call, hashes map[string]string) LiteLLMLog {
	prompt, completion := c.Usage.Prompt.N, c.Usage.Completion.N
	total := prompt + completion
	out := LiteLLMLog{
		RequestID: c.Generation, CallType: c.API, APIKey: hashes[c.Key], Spend: number(c.Cost), TotalTokens: &total, PromptTokens: &prompt, CompletionTokens: &completion,
		StartTime: c.At.UTC().Format(time.RFC3339Nano), EndTime: c.At.Add(c.Duration).UTC().Format(time.RFC3339Nano), Model: c.Model, Provider: c.Provider, User: r.nameOf(c.User),
		EndUser: c.ClientUser, SessionID: c.Session, RequestTags: append([]string{}, c.Tags...), Status: "success",
	}
	if c.Member != "" {
		out.User = r.nameOf(c.Member)
	}
	if c.Team != "" {
		out.TeamID = r.nameOf(c.Team)
	}
	if c.Error != "" {
		out.Status = "failure"
	}
	return out
}

// daysOf is what each day cost, by model and by user. Days without calls are left out.
func (d *Deps) daysOf(ctx context.Context, c *operation.Call, r *roster, q report.Query) ([]LiteLLMLog, error) {
	type day struct {
		sum    money.Nano
		models map[string]operation.Raw
		users  map[string]operation.Raw
	}
	days := map[string]*day{}
	at := func(t time.Time) *day {
		name := t.UTC().Format(time.DateOnly)
		if days[name] == nil {
			days[name] = &day{models: map[string]operation.Raw{}, users: map[string]operation.Raw{}}
		}
		return days[name]
	}
	for _, p := range []report.Part{report.Model, report.Member} {
		q.Part = p
		rows, err := d.Of.Reports.Rows(ctx, q)
		if err != nil {
			return nil, err
		}
		for i := range rows {
			if row := &rows[i]; p == report.Model {
				at(row.At).models[row.Value] = number(row.Cost)
				at(row.At).sum += row.Cost
			} else {
				at(row.At).users[r.nameOf(cmp.Or(row.Value, c.User))] = number(row.Cost)
			}
		}
	}
	out := []LiteLLMLog{}
	for name, one := range days {
		out = append(out, LiteLLMLog{StartTime: name, Spend: number(one.sum), Models: one.models, Users: one.users})
	}
	slices.SortFunc(out, func(a, b LiteLLMLog) int { return cmp.Compare(a.StartTime, b.StartTime) })
	return out, nil
}

func (d *Deps) spendTags(ctx context.Context, c *operation.Call, x *tagsQuery) ([]LiteLLMTagSpend, error) {
	zones, err := d.Of.Reports.Zones(ctx, c.Wallet)
	if err != nil {
		return nil, err
	}
	p := period{x.StartDate, x.EndDate}
	q := report.Query{Wallet: c.Wallet, Zones: zones, Bucket: report.Day, Metric: report.Cost, Part: report.TagNames}
	if q.From, q.To, err = p.days(zones, c.At); err != nil {
		return nil, err
	}
	rows, err := d.Of.Reports.Rows(ctx, q)
	if err != nil {
		return nil, err
	}
	names := map[string]money.Nano{}
	for i := range rows {
		names[rows[i].Value] += rows[i].Cost
	}
	delete(names, "")
	dearest := make([]string, 0, len(names))
	for name := range names {
		dearest = append(dearest, name)
	}
	slices.SortFunc(dearest, func(a, b string) int { return cmp.Or(cmp.Compare(names[b], names[a]), cmp.Compare(a, b)) })
	type total struct {
		calls int64
		cost  money.Nano
	}
	sums := map[string]*total{}
	for _, name := range dearest[:min(len(dearest), mostNames)] {
		q.Part = report.TagNamed(name)
		rows, err := d.Of.Reports.Rows(ctx, q)
		if err != nil {
			return nil, err
		}
		for i := range rows {
			if rows[i].Value == "" {
				continue
			}
			whole := tag.Join(name, rows[i].Value)
			if sums[whole] == nil {
				sums[whole] = &total{}
			}
			sums[whole].calls += rows[i].Calls
			sums[whole].cost += rows[i].Cost
		}
	}
	all := make([]string, 0, len(sums))
	for name := range sums {
		all = append(all, name)
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(cmp.Compare(sums[b].cost, sums[a].cost), cmp.Compare(a, b)) })
	out := []LiteLLMTagSpend{}
	for _, name := range all {
		out = append(out, LiteLLMTagSpend{Tag: name, LogCount: sums[name].calls, TotalSpend: number(sums[name].cost)})
	}
	return out, nil
}
