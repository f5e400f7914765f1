package accountapi

import (
	"cmp"
	"context"
	"strconv"
	"strings"
	"time"

	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/operation"
	"weir/internal/report"
	"weir/internal/tag"
)

const seriesUsual = 8

// UsageSplit is what usage is parted by.
type UsageSplit struct {
	Period
	Bucket string `json:"-" query:"bucket" enum:"hour,day,month"` // without it hour for at most two days, else day. Hours for at most eight days, days for 400, months for 60. Of days at the ends only the hours inside the period count; months are whole. By tag, team, session and user there are days and months, and days are whole
	Group  string `json:"-" query:"group" maxLength:"68"`         // model, which it is without it, key, member, provider, kind, result, team, session, user (that of requests), tag:NAME for the values of the tag with that name, or tag for the names of tags, which do not add up
	CallFilter
	SortFilter
}

type usageInput struct {
	UsageSplit
	Metric  string `json:"-" query:"metric" enum:"cost,calls,errors,tokens_in,tokens_out,tokens_cached,tokens_reasoning,first_token"` // cost without it
	Limit   int    `json:"-" query:"limit" most:"50"`                                                                                 // series beside the rest, which is other; 8 without it
	Figures bool   `json:"-" query:"figures"`                                                                                         // true: each group has all metrics of the period in figures
}

// Figures is all metrics of some calls; only with figures=true.
type Figures struct {
	Cost            money.Nano `json:"cost"`
	Calls           int64      `json:"calls"`
	Errors          int64      `json:"errors"`
	TokensIn        int64      `json:"tokens_in"`
	TokensOut       int64      `json:"tokens_out"`
	TokensCached    int64      `json:"tokens_cached"`
	TokensReasoning int64      `json:"tokens_reasoning"`
	FirstToken      *int64     `json:"first_token"` // the average in milliseconds; null when it was never measured
	Charged         int64      `json:"charged"`     // calls that were charged for
	Canceled        int64      `json:"canceled"`    // calls that the client stopped
}

// UsageSeries is a group over time.
type UsageSeries struct {
	Key     string          `json:"key"` // value for the filter of this group, of tag:NAME a whole tag; "" for calls that have none. (other), or a tag with that value, is what a day had beyond 1,000 values
	Label   *string         `json:"label"`
	Total   operation.Raw   `json:"total" schema:"Figure"`
	Figures *Figures        `json:"figures,omitempty"`
	Values  []operation.Raw `json:"values" schema:"FigureList"`
}

// UsageBefore is the same length of time just before.
type UsageBefore struct {
	From  time.Time     `json:"from"`
	To    time.Time     `json:"to"`
	Total operation.Raw `json:"total" schema:"Figure"`
}

// UsageReport is usage over time.
type UsageReport struct {
	From         time.Time        `json:"from"`
	To           time.Time        `json:"to"` // not included
	Bucket       string           `json:"bucket" enum:"hour,day,month"`
	Group        string           `json:"group"`
	Metric       string           `json:"metric"`
	Unit         string           `json:"unit" enum:"RUB,calls,tokens,ms"`
	T            []time.Time      `json:"t"`      // the beginnings of all buckets
	Series       []UsageSeries    `json:"series"` // the largest first
	Other        *[]operation.Raw `json:"other" schema:"OtherFigures"`
	OtherCount   int              `json:"other_count"`
	OtherTotal   operation.Raw    `json:"other_total" schema:"Figure"`
	OtherFigures *Figures         `json:"other_figures,omitempty"`
	Sums         []operation.Raw  `json:"sums" schema:"FigureList"` // all of them together
	Total        operation.Raw    `json:"total" schema:"Figure"`
	Figures      *Figures         `json:"figures,omitempty"`
	Previous     UsageBefore      `json:"previous"`
	LastCallAt   *time.Time       `json:"last_call_at"` // when the last call before the end of the period began; given when the period has none
}

var (
	allParts   = []report.Part{report.Model, report.Key, report.Member, report.Provider, report.Kind, report.Result, report.Team, report.Session, report.ClientUser, report.TagNames}
	allMetrics = []report.Metric{report.Cost, report.Calls, report.Errors, report.TokensIn, report.TokensOut, report.TokensCached, report.TokensReasoning, report.FirstToken}
	allBuckets = []report.Bucket{report.Hour, report.Day, report.Month}
)

// query is what usage is asked for. Its period is whole buckets.
func (in *UsageSplit) query(ctx context.Context, d Deps, c *operation.Call) (u report.Query, err error) {
	from, to, zones, err := in.Period.of(ctx, d.Reports, c)
	if err != nil {
		return u, err
	}
	if u.Part, err = groupOf(in.Group); err != nil {
		return u, err
	}
	if u.Filter, err = in.CallFilter.of(ctx, d, c); err != nil {
		return u, err
	}
	if err := in.SortFilter.into(&u.Filter); err != nil {
		return u, err
	}
	days, err := byDays(&u, c.User)
	if err != nil {
		return u, err
	}
	usual := report.Day
	if to.Sub(from) <= 48*time.Hour && !days {
		usual = report.Hour
	}
	if u.Bucket, err = chosen("bucket", in.Bucket, usual, allBuckets); err != nil {
		return u, err
	}
	if days {
		from, to = wholeDays(from, to, zones)
	}
	u.Wallet, u.Zones = c.Wallet, zones
	if days && u.Bucket == report.Hour {
		return u, report.ByDays()
	}
	widen(&u, from, to)
	if now := c.At.UTC(); u.Bucket == report.Day && u.To.After(now) { // nothing has happened after now: today is whole
		if day := zones.Start(report.Day.Next(zones.Day(now))); u.To.Before(day) {
			u.To = day
		}
	}
	most := map[report.Bucket]time.Time{report.Hour: u.From.Add(mostHours * time.Hour), report.Day: u.From.Add(mostDays * 24 * time.Hour), report.Month: u.From.AddDate(0, mostMonths, 0)}
	if u.To.After(most[u.Bucket]) {
		return u, fault.Field("accountapi.usage", "from", "A period by hour has at most eight days, by day %d days, by month %d months. Choose another bucket, or a shorter period.", mostDays, mostMonths).
			Coded("usage_period", "days", mostDays, "months", mostMonths)
	}
	return u, nil
}

// groupOf is what a group names.
func groupOf(text string) (report.Part, error) {
	if name, is := report.Part(text).TagName(); is {
		if tag.Wrong(name) != "" || strings.Contains(name, "=") {
			return "", fault.Field("accountapi.usage", "group", "group must name a tag after tag:, such as tag:project.").Coded("tag_group")
		}
		return report.TagNamed(name), nil
	}
	return chosen("group", text, report.Model, allParts)
}

// widen sets a query's period to whole hours, or whole months of the account: of days at the ends the hours of the period count.
func widen(u *report.Query, from, to time.Time) {
	begin, next := report.Hour.Floor, report.Hour.Next
	if u.Bucket == report.Month {
		begin = func(t time.Time) time.Time { return u.Zones.Start(report.Month.Floor(u.Zones.Day(t))) }
		next = func(t time.Time) time.Time { return u.Zones.Start(report.Month.Next(u.Zones.Day(t))) }
	}
	u.From = begin(from)
	if u.To = begin(to); u.To.Before(to) {
		u.To = next(u.To)
	}
}

// unitOf is what a metric is counted in.
func unitOf(m report.Metric) string {
	switch m {
	case report.Cost:
		return "RUB"
	case report.Calls, report.Errors:
		return "calls"
	case report.FirstToken:
		return "ms"
	}
	return "tokens"
}

// figureOf is a metric of some calls: rubles as text, counts as numbers, null where nothing was measured.
func figureOf(m report.Metric, s *report.Sums) operation.Raw {
	switch n, known := m.Of(s); {
	case !known:
		return nil
	case m == report.Cost:
		return operation.Raw(`"` + money.Nano(n).String() + `"`)
	default:
		return operation.Raw(strconv.FormatInt(n, 10))
	}
}

func figuresOf(m report.Metric, all []report.Sums) []operation.Raw {
	list := make([]operation.Raw, len(all))
	for i := range all {
		list[i] = figureOf(m, &all[i])
	}
	return list
}

// wholeFigures is all metrics of some calls; nil: they were not asked for.
func wholeFigures(whole bool, s *report.Sums) *Figures {
	if !whole {
		return nil
	}
	of := func(m report.Metric) int64 { n, _ := m.Of(s); return n }
	f := &Figures{
		Cost: money.Nano(of(report.Cost)), Calls: of(report.Calls), Errors: of(report.Errors), TokensIn: of(report.TokensIn), TokensOut: of(report.TokensOut),
		TokensCached: of(report.TokensCached), TokensReasoning: of(report.TokensReasoning), Charged: s.Charged, Canceled: s.Canceled,
	}
	if n, known := report.FirstToken.Of(s); known {
		f.FirstToken = &n
	}
	return f
}

// namer says how groups are named in a filter, and to people.
type namer struct {
	Deps
	ctx  context.Context
	user string
	keys keyNames // read where groups are keys
	orgs orgNames // likewise members and teams
}

func namerOf(ctx context.Context, d Deps, c *operation.Call, p report.Part) (n namer, err error) {
	n = namer{Deps: d, ctx: ctx, user: c.User}
	switch p {
	case report.Key:
		n.keys, err = namesOfKeys(ctx, d.Keys, c.User)
	case report.Member, report.Team:
		n.orgs, err = namesInOrg(ctx, d, c.User)
	}
	return n, err
}

func (n *namer) of(p report.Part, value string) (key, label string) {
	if name, is := p.TagName(); is && value != "" {
		return tag.Join(name, value), strings.Replace(value, tag.Alone, name, 1)
	}
	switch p {
	case report.Key:
		if k := n.keys[value]; k != nil {
			return k.Hash, k.Name
		}
	case report.Member, report.Team:
		if known, ok := n.orgs[value]; ok {
			return value, known.Name
		}
		if value == n.user {
			if u, err := n.Accounts.ByID(n.ctx, value); err == nil {
				return value, u.Name
			}
		}
	case report.Model:
		if m, _, ok := n.Catalog().Resolve(value); ok && value != "" {
			return value, m.Name
		}
	case report.Provider:
		if p := n.Catalog().Providers[value]; p != nil {
			return value, p.Name
		}
	}
	return value, value
}

func getUsage(ctx context.Context, d Deps, c *operation.Call, in *usageInput) (out operation.Data[UsageReport], err error) {
	query, err := in.query(ctx, d, c)
	if err != nil {
		return out, err
	}
	m, err := chosen("metric", in.Metric, report.Cost, allMetrics)
	if err != nil {
		return out, err
	}
	query.Whole = in.Figures
	u, err := d.Reports.Usage(ctx, query, m, cmp.Or(in.Limit, seriesUsual))
	if err != nil {
		return out, err
	}
	names, err := namerOf(ctx, d, c, query.Part)
	if err != nil {
		return out, err
	}
	out.Data = UsageReport{
		From: u.From, To: u.To, Bucket: string(u.Bucket), Group: string(u.Part), Metric: string(m), Unit: unitOf(m), T: u.Times, Series: make([]UsageSeries, len(u.Series)),
		OtherCount: u.OtherCount, OtherTotal: figureOf(m, &u.OtherTotal), OtherFigures: wholeFigures(u.Whole, &u.OtherTotal), Sums: figuresOf(m, u.Sums), Total: figureOf(m, &u.Total),
		Figures: wholeFigures(u.Whole, &u.Total), Previous: UsageBefore{From: u.PreviousFrom, To: u.From, Total: figureOf(m, &u.PreviousTotal)}, LastCallAt: Moment(u.LastAt),
	}
	for i := range u.Series {
		s := &u.Series[i]
		key, label := names.of(u.Part, s.Key)
		out.Data.Series[i] = UsageSeries{Key: key, Label: OrNull(label), Total: figureOf(m, &s.Total), Figures: wholeFigures(u.Whole, &s.Total), Values: figuresOf(m, s.Values)}
	}
	if u.Other != nil {
		other := figuresOf(m, u.Other)
		out.Data.Other = &other
	}
	return out, nil
}

func getUsageFile(ctx context.Context, d Deps, c *operation.Call, in *UsageSplit) (operation.File, error) {
	query, err := in.query(ctx, d, c)
	if err != nil {
		return operation.File{}, err
	}
	names, err := namerOf(ctx, d, c, query.Part)
	return table(FileName("usage", query.From, query.To, "csv"), func(t *sheet) error {
		rows, err := d.Reports.Rows(ctx, query)
		if err != nil {
			return err
		}
		t.row("from_utc", string(query.Part), "name", "calls", "charged_calls", "failed_calls", "canceled_calls", "prompt_tokens", "cached_tokens", "cache_write_tokens", "completion_tokens", "reasoning_tokens",
			"first_token_ms", "cost_rub", "refunded_rub")
		for i := range rows {
			r := &rows[i]
			key, label := names.of(query.Part, r.Value)
			t.Moment(r.At)
			t.Texts(key, label)
			for _, n := range []int64{r.Calls, r.Charged, r.Failed, r.Canceled, r.Prompt, r.CacheRead, r.CacheWrite, r.Completion, r.Reasoning} {
				t.Int(n)
			}
			if n, known := report.FirstToken.Of(&r.Sums); known {
				t.Int(n)
			} else {
				t.Texts("")
			}
			t.Amount(r.Cost)
			t.Amount(r.Refunded)
			t.end()
		}
		return nil
	}), err
}

func usages(d Deps) []operation.Operation {
	return []operation.Operation{
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/usage", ID: "getUsage", Org: operation.Workers, Access: operation.Management, Tag: "pages", Summary: "Usage over time, by model, key, member, team, tag, session, user, provider, kind or result",
			Description: "Times are UTC, days and months those of the account's time zone: their beginning in t is the midnight of their date, written as UTC. A call belongs to the hour and day in which it began. Costs are not reduced by refunds, as in /v1/credits and /v1/activity. By each group but tag, all series and other together are all calls: those without the property have the key \"\".",
			Answer:      "The series and their totals",
		}, func(ctx context.Context, c *operation.Call, in *usageInput) (operation.Data[UsageReport], error) {
			return getUsage(ctx, d, c, in)
		}),
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/usage.csv", ID: "getUsageFile", Org: operation.Workers, Access: operation.Management, Tag: "pages", Media: "text/csv",
			Summary: "The table of GET /api/usage, complete: one row for each bucket and group, with all figures", Answer: "UTF-8 with a header row; amounts in rubles with a dot",
		}, func(ctx context.Context, c *operation.Call, in *UsageSplit) (operation.File, error) {
			return getUsageFile(ctx, d, c, in)
		}),
	}
}
