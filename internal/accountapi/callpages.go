package accountapi

import (
	"context"
	"strings"
	"time"

	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/operation"
	"weir/internal/record"
	"weir/internal/report"
)

// MaxExportedCalls bounds a file of calls.
const MaxExportedCalls = 1_000_000

// CallSearch is which calls are asked for.
type CallSearch struct {
	Period
	CallFilter
	SortFilter
	MinCost string `json:"-" query:"min_cost" maxLength:"40"` // rubles
}

type callsInput struct {
	CallSearch
	ID string `json:"-" query:"id" maxLength:"128"` // id of a call or of a video job: only that call
	CallsAfter
}

type histogramInput struct {
	Period
	CallFilter
	SortFilter
}

// CallPage is a page of calls.
type CallPage struct {
	Data       []CallRow  `json:"data"`
	Next       *string    `json:"next"`        // cursor of the next page
	SearchedTo *time.Time `json:"searched_to"` // how far back the search has come; null at the end
}

// CallHistogram is how many calls there were over time.
type CallHistogram struct {
	From          time.Time   `json:"from"`
	To            time.Time   `json:"to"`
	Bucket        string      `json:"bucket" enum:"hour,day"`
	T             []time.Time `json:"t"`
	Calls         []int64     `json:"calls"`
	Failed        []int64     `json:"failed"`
	Canceled      []int64     `json:"canceled"`
	TotalCalls    int64       `json:"total_calls"`
	TotalFailed   int64       `json:"total_failed"`
	TotalCanceled int64       `json:"total_canceled"`
	TotalCost     money.Nano  `json:"total_cost"`
}

func (in *CallSearch) search(ctx context.Context, d Deps, c *operation.Call) (s report.Search, err error) {
	s.Wallet = c.Wallet
	if s.From, s.To, _, err = in.Period.of(ctx, d.Reports, c); err != nil {
		return s, err
	}
	if s.Filter, err = in.CallFilter.of(ctx, d, c); err != nil {
		return s, err
	}
	if err := in.SortFilter.into(&s.Filter); err != nil {
		return s, err
	}
	s.MinCost, err = LeastCost(in.MinCost)
	return s, err
}

// LeastCost reads the parameter min_cost, which may be left out.
func LeastCost(text string) (least money.Nano, err error) {
	if text == "" {
		return 0, nil
	}
	if least, err = money.Parse(text); err != nil || least < 0 {
		return 0, fault.Field("accountapi.calls", "min_cost", "min_cost must be rubles: a number of at least 0 with at most nine decimals.").Coded("amount")
	}
	return least, nil
}

func listCalls(ctx context.Context, d Deps, c *operation.Call, in *callsInput) (out CallPage, err error) {
	var p report.Page
	if in.ID != "" {
		p, err = oneCall(ctx, d, c, in.ID)
	} else {
		var s report.Search
		if s, err = in.search(ctx, d, c); err == nil {
			err = in.Into(&s)
		}
		if err == nil {
			p, err = d.Reports.Calls(ctx, s)
		}
	}
	if err != nil {
		return out, err
	}
	rows, err := rowsOf(ctx, d, c, p.Calls)
	return CallPage{Data: rows, Next: CursorOf(p.Next), SearchedTo: Moment(p.Next.At)}, err
}

// oneCall is a page of the call with an id, which may be that of a video job.
func oneCall(ctx context.Context, d Deps, c *operation.Call, id string) (p report.Page, err error) {
	if len(id) > record.MaxID {
		return p, fault.Field("accountapi.calls", "id", "id must have at most %d bytes.", record.MaxID).Coded("most_bytes", "most", record.MaxID)
	}
	if strings.HasPrefix(id, "vj_") && d.Videos != nil {
		job, err := d.Videos.Get(ctx, c.User, id)
		if err != nil && !fault.Is(err, fault.NotFound) {
			return p, err
		}
		if err == nil {
			id = job.Generation
		}
	}
	call, _, err := d.Books.Call(ctx, c.Wallet, id)
	if err == nil {
		err = d.seesCall(ctx, c, call)
	}
	if fault.Is(err, fault.NotFound) {
		return p, nil
	}
	if err != nil {
		return p, err
	}
	p.Calls = []record.Call{*call}
	return p, nil
}

func callsFile(ctx context.Context, d Deps, c *operation.Call, in *CallSearch) (operation.File, error) {
	s, err := in.search(ctx, d, c)
	if err != nil {
		return operation.File{}, err
	}
	names, err := namesOfKeys(ctx, d.Keys, c.User)
	s.Limit = 1000
	return table(FileName("calls", s.From, s.To, "csv"), func(t *sheet) error {
		t.row(append(report.CallHeads(), "session_id", "client_user")...)
		left := MaxExportedCalls
		return d.Reports.All(ctx, s, func(c *record.Call) bool {
			key := c.Key
			if k := names[key]; k != nil {
				key = k.Name
			}
			report.AppendCall(&t.Sheet, c, key)
			t.Texts(c.Session, c.ClientUser)
			left--
			return t.end() && left > 0
		})
	}), err
}

func histogram(ctx context.Context, d Deps, c *operation.Call, in *histogramInput) (out operation.Data[CallHistogram], err error) {
	from, to, zones, err := in.Period.of(ctx, d.Reports, c)
	if err != nil {
		return out, err
	}
	u := report.Query{Wallet: c.Wallet, Bucket: report.Day, Zones: zones}
	if u.Filter, err = in.CallFilter.of(ctx, d, c); err != nil {
		return out, err
	}
	if err := in.SortFilter.into(&u.Filter); err != nil {
		return out, err
	}
	days, err := byDays(&u, c.User)
	if err != nil {
		return out, err
	}
	if to.Sub(from) <= mostHours*time.Hour && !days {
		u.Bucket = report.Hour
	}
	if u.From, u.To = report.Hour.Floor(from), report.Hour.Next(report.Hour.Floor(to.Add(-time.Microsecond))); u.Bucket == report.Day {
		u.From, u.To = wholeDays(from, to, zones)
	}
	if u.To.Sub(u.From) > (mostDays*24+1)*time.Hour { // days of a change of clocks have an hour more
		return out, fault.Field("accountapi.histogram", "from", "A histogram has at most %d days. Choose a shorter period.", mostDays).Coded("period_days", "most", mostDays)
	}
	r, err := d.Reports.Histogram(ctx, u)
	if err != nil {
		return out, err
	}
	h := CallHistogram{From: u.From, To: u.To, Bucket: string(u.Bucket), T: r.Times, TotalCalls: r.Total.Calls, TotalFailed: r.Total.Failed, TotalCanceled: r.Total.Canceled, TotalCost: r.Total.Cost}
	for i := range r.Sums {
		h.Calls, h.Failed, h.Canceled = append(h.Calls, r.Sums[i].Calls), append(h.Failed, r.Sums[i].Failed), append(h.Canceled, r.Sums[i].Canceled)
	}
	out.Data = h
	return out, nil
}

func callPages(d Deps) []operation.Operation {
	return []operation.Operation{
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/calls", ID: "listCalls", Org: operation.Workers, Access: operation.Management, Tag: "pages", Summary: "Recorded calls, newest first", Answer: "A page of calls",
			Description: "A page may have fewer calls than limit, or none, while next is not null: a search looks at a bounded number of calls at a time, and searched_to says how far it has come.",
		}, func(ctx context.Context, c *operation.Call, in *callsInput) (CallPage, error) {
			return listCalls(ctx, d, c, in)
		}),
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/calls.csv", ID: "getCallsFile", Org: operation.Workers, Access: operation.Management, Tag: "pages", Media: "text/csv",
			Summary: "The calls of GET /api/calls as a file, newest first, at most a million", Answer: "UTF-8 with a header row; amounts in rubles with a dot",
		}, func(ctx context.Context, c *operation.Call, in *CallSearch) (operation.File, error) {
			return callsFile(ctx, d, c, in)
		}),
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/calls/histogram", ID: "getCallHistogram", Org: operation.Workers, Access: operation.Management, Tag: "pages",
			Summary: "How many calls there were over time, and how many of them failed", Description: "By hour for periods of at most eight days, else by day; of calls with a tag, team, session or user by day.", Answer: "Calls by bucket",
		}, func(ctx context.Context, c *operation.Call, in *histogramInput) (operation.Data[CallHistogram], error) {
			return histogram(ctx, d, c, in)
		}),
	}
}
