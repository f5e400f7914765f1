package httpapi

import (
	"cmp"
	"encoding/base64"
	"net/url"
	"strconv"
	"strings"
	"time"

	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/record"
	"weir/internal/report"
	"weir/internal/usage"
)

const (
	pageUsual = 50
	pageMost  = 200
	// maxExportedCalls bounds a file of calls.
	maxExportedCalls = 1_000_000
)

// pageLimit is how many entries a page has.
func pageLimit(q url.Values) (int, error) {
	n, err := queryInt(q, "limit", pageMost)
	return cmp.Or(n, pageUsual), err
}

// The cursor of a list of calls is the time and the id of the last one.
func cursorText(p report.Place) string {
	if p == (report.Place{}) {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(p.At.UnixMicro(), 36) + " " + p.ID))
}

func cursorOf(q url.Values) (p report.Place, err error) {
	text := q.Get("cursor")
	if text == "" {
		return p, nil
	}
	wrong := fault.Field("httpapi.cursor", "cursor", "cursor must be next of the page before.")
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(raw) > 200 {
		return p, wrong
	}
	at, id, found := strings.Cut(string(raw), " ")
	n, err := strconv.ParseInt(at, 36, 64)
	if err != nil || !found || n < 0 || strings.ContainsRune(id, 0) {
		return p, wrong
	}
	return report.Place{At: time.UnixMicro(n).UTC(), ID: id}, nil
}

// callSearch reads which calls are asked for.
func (x *request) callSearch(q url.Values, names *keyNames) (s report.Search, err error) {
	s.Wallet = x.caller.Wallet
	if s.From, s.To, _, err = x.period(q); err != nil {
		return s, err
	}
	if s.Filter, err = x.filter(q, names); err != nil {
		return s, err
	}
	if text := q.Get("min_cost"); text != "" {
		if s.MinCost, err = money.Parse(text); err != nil || s.MinCost < 0 {
			return s, fault.Field("httpapi.calls", "min_cost", "min_cost must be rubles: a number of at least 0 with at most nine decimals.")
		}
	}
	return s, nil
}

// listCalls serves GET /api/calls.
func (x *request) listCalls() error {
	q, err := x.query()
	if err != nil {
		return err
	}
	names := &keyNames{x: x}
	if id := q.Get("id"); id != "" {
		return x.oneCall(id, names)
	}
	s, err := x.callSearch(q, names)
	if err != nil {
		return err
	}
	if s.Limit, err = pageLimit(q); err != nil {
		return err
	}
	if s.After, err = cursorOf(q); err != nil {
		return err
	}
	p, err := x.api.Reports.Calls(x.context(), s)
	if err != nil {
		return err
	}
	return x.replyCalls(p, names)
}

func (x *request) replyCalls(p report.Page, names *keyNames) error {
	if len(p.Calls) > 0 {
		if err := names.read(); err != nil {
			return err
		}
	}
	o := newObject(512 + 700*len(p.Calls))
	o.Object()
	o.Name("data").Array()
	for i := range p.Calls {
		appendCallRow(&o, &p.Calls[i], names)
	}
	o.EndArray()
	o.textOrNull("next", cursorText(p.Next))
	o.moment("searched_to", p.Next.At)
	o.EndObject()
	return x.reply(&o)
}

// oneCall is a list of the call with an id, which may be that of a video job.
func (x *request) oneCall(id string, names *keyNames) error {
	if len(id) > record.MaxID {
		return fault.Field("httpapi.calls", "id", "id must have at most %d bytes.", record.MaxID)
	}
	if strings.HasPrefix(id, "vj_") && x.api.Videos != nil {
		job, err := x.api.Videos.Get(x.context(), x.caller.User, id)
		if err != nil && !fault.Is(err, fault.NotFound) {
			return err
		}
		if err == nil {
			id = job.Generation
		}
	}
	c, _, err := x.api.Ledger.Call(x.context(), x.caller.Wallet, id)
	if fault.Is(err, fault.NotFound) {
		return x.replyCalls(report.Page{}, names)
	}
	if err != nil {
		return err
	}
	return x.replyCalls(report.Page{Calls: []record.Call{*c}}, names)
}

func appendCallRow(o *object, c *record.Call, names *keyNames) {
	u := &c.Usage
	o.Object()
	o.text("id", c.Generation)
	o.moment("created_at", c.At)
	o.text("kind", c.API)
	o.textOrNull("model", c.Model)
	o.text("model_asked", c.ModelAsked)
	o.textOrNull("provider", c.Provider)
	o.textOrNull("provider_name", c.ProviderName)
	names.append(o, "key", c.Key)
	o.text("user", c.User)
	o.integer("status", int64(c.Status))
	o.text("result", c.Result())
	o.textOrNull("error", c.Error)
	o.boolean("canceled", c.Cancelled)
	o.boolean("stream", c.Streamed)
	o.integer("attempts", int64(len(c.Attempts)))
	o.textOrNull("finish_reason", c.Finish)
	o.amountText("cost", c.Cost)
	o.boolean("settled", c.Settled)
	o.boolean("estimated", u.Source&usage.Estimated != 0)
	o.integer("prompt_tokens", u.Prompt.N)
	o.integer("cached_tokens", u.CacheRead.N)
	o.integer("completion_tokens", u.Completion.N)
	o.integer("reasoning_tokens", u.Reasoning.N)
	appendFirstToken(o, c)
	o.integer("duration_ms", c.Duration.Milliseconds())
	o.EndObject()
}

func appendFirstToken(o *object, c *record.Call) {
	if c.FirstContent > 0 {
		o.integer("first_token_ms", c.FirstContent.Milliseconds())
	} else {
		o.null("first_token_ms")
	}
}

// getCallsFile serves GET /api/calls.csv.
func (x *request) getCallsFile() error {
	q, err := x.query()
	if err != nil {
		return err
	}
	names := &keyNames{x: x}
	s, err := x.callSearch(q, names)
	if err != nil {
		return err
	}
	if err := names.read(); err != nil {
		return err
	}
	s.Limit = 1000
	return x.export("calls", "csv", s.From, s.To, func(e *exporting) error {
		e.row(report.CallHeads()...)
		left := maxExportedCalls
		return x.api.Reports.All(x.context(), s, func(c *record.Call) bool {
			key := c.Key
			if k := names.keys[key]; k != nil {
				key = k.Name
			}
			report.AppendCall(&e.Sheet, c, key)
			left--
			return e.end() && left > 0
		})
	})
}

// getCallHistogram serves GET /api/calls/histogram.
func (x *request) getCallHistogram() error {
	q, err := x.query()
	if err != nil {
		return err
	}
	from, to, zones, err := x.period(q)
	if err != nil {
		return err
	}
	u := report.Query{Wallet: x.caller.Wallet, Bucket: report.Day, Zones: zones}
	if to.Sub(from) <= mostHours*time.Hour {
		u.Bucket = report.Hour
	}
	if u.Filter, err = x.filter(q, &keyNames{x: x}); err != nil {
		return err
	}
	if u.From, u.To = report.Hour.Floor(from), report.Hour.Next(report.Hour.Floor(to.Add(-time.Microsecond))); u.Bucket == report.Day {
		u.From, u.To = zones.Start(zones.Day(from)), zones.Start(report.Day.Next(zones.Day(to.Add(-time.Microsecond))))
	}
	if u.To.Sub(u.From) > (mostDays*24+1)*time.Hour { // days of a change of clocks have an hour more
		return fault.Field("httpapi.histogram", "from", "A histogram has at most %d days. Choose a shorter period.", mostDays)
	}
	r, err := x.api.Reports.Histogram(x.context(), u)
	if err != nil {
		return err
	}
	o := newObject(2048)
	o.Object()
	o.Name("data").Object()
	o.moment("from", u.From)
	o.moment("to", u.To)
	o.text("bucket", string(u.Bucket))
	o.Name("t").Array()
	for _, t := range r.Times {
		o.Text(t.Format(time.RFC3339))
	}
	o.EndArray()
	for _, list := range []struct {
		name string
		of   func(*report.Sums) int64
	}{
		{"calls", func(s *report.Sums) int64 { return s.Calls }}, {"failed", func(s *report.Sums) int64 { return s.Failed }}, {"canceled", func(s *report.Sums) int64 { return s.Canceled }},
	} {
		o.Name(list.name).Array()
		for i := range r.Sums {
			o.Int(list.of(&r.Sums[i]))
		}
		o.EndArray()
		o.integer("total_"+list.name, list.of(&r.Total))
	}
	o.amountText("total_cost", r.Total.Cost)
	o.EndObject()
	o.EndObject()
	return x.reply(&o)
}

// recordedWithin is how soon a call's record is there after its end, for the longest calls.
const recordedWithin = 10 * time.Minute

// notRecorded is the error for a call without a record. Whether the record may still come follows from the time in the id alone: the answer
// reveals nothing about calls of other accounts.
func (x *request) notRecorded(id string) error {
	e := fault.New(fault.NotFound, "httpapi.getCall", "There is no such call.")
	rest, ours := strings.CutPrefix(id, "gen-")
	seconds, _, _ := strings.Cut(rest, "-")
	n, err := strconv.ParseInt(seconds, 10, 64)
	if age := x.at.Sub(time.Unix(n, 0)); ours && err == nil && age > -time.Minute && age < recordedWithin {
		e.Public = "There is no record of such a call yet. A call is recorded when it has ended."
		e.Details = map[string]any{"recording": true}
		e.RetryAfter = time.Second
	}
	return e
}
