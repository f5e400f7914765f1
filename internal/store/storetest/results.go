package storetest

import (
	"slices"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"weir/internal/record"
	"weir/internal/report"
)

// otherTag is of a provider's key beside keyTag.
const otherTag = "fedcba987654"

// resultQuery is a question of how calls ended.
func (x *sales) resultQuery(rt *rapid.T) report.ResultQuery {
	q := report.ResultQuery{Bucket: rapid.SampledFrom([]report.Bucket{report.Day, report.Hour}).Draw(rt, "bucket"), Filter: report.Filter{
		Kind:   rapid.SampledFrom([]string{"", "", "messages"}).Draw(rt, "asked kind"),
		Result: rapid.SampledFrom([]string{"", report.Failed, record.OK, record.Canceled, "timeout"}).Draw(rt, "asked result"),
	}, Status: rapid.SampledFrom([]int{0, 0, 200, 503, 418}).Draw(rt, "asked status")}
	if q.ProviderKey = rapid.SampledFrom([]string{"", "", keyTag}).Draw(rt, "asked provider key"); q.ProviderKey == "" {
		q.Filter.Model = rapid.SampledFrom([]string{"", "a/x", report.Nothing}).Draw(rt, "asked model")
		q.Filter.Provider = rapid.SampledFrom([]string{"", "p", report.Nothing}).Draw(rt, "asked provider")
	}
	q.From = q.Bucket.Floor(x.now.Add(-time.Duration(rapid.IntRange(0, 80*24).Draw(rt, "hours ago")) * time.Hour))
	q.To = q.Bucket.Floor(q.From.Add(time.Duration(rapid.IntRange(24, 60*24).Draw(rt, "hours")) * time.Hour))
	return q
}

// ended compares how calls of all accounts ended with the calls that are kept, one by one.
func (x *sales) ended(t failing, q report.ResultQuery) {
	want := map[time.Time]report.ResultRow{}
	same := func(value, asked string) bool {
		return asked == "" || value == asked || asked == report.Nothing && value == ""
	}
	f := &q.Filter
	for i := range x.calls {
		c := &x.calls[i]
		failed := c.Error != "" && !c.Cancelled
		fits := same(c.Model, f.Model) && same(c.Provider, f.Provider) && same(c.API, f.Kind) && (q.Status == 0 || q.Status == c.Status) && (same(c.Result(), f.Result) || f.Result == report.Failed && failed) &&
			(q.ProviderKey == "" || slices.ContainsFunc(c.Attempts, func(a record.Attempt) bool { return a.ProviderKey == q.ProviderKey }))
		if !fits || c.At.Before(q.From) || !c.At.Before(q.To) || c.At.Before(x.since) {
			continue
		}
		row := want[q.Bucket.Floor(c.At)]
		row.At = q.Bucket.Floor(c.At)
		one := report.Sale{Calls: 1, Sales: c.Cost, VAT: report.VATOf(c)}
		if c.Settled {
			one.Charged = 1
		}
		if failed {
			row.Failed++
		}
		if m, known := report.MarginOf(c); known {
			one.Upstream = m.Upstream
		} else {
			one.Unknown, one.UnknownNet = 1, c.Cost-one.VAT
		}
		row.Add(&one)
		want[row.At] = row
	}
	list, err := x.s.Ledger.Results(t.Context(), q)
	if err != nil {
		t.Errorf("%+v: %v", q, err)
	}
	got := map[time.Time]report.ResultRow{}
	for i, row := range list {
		if got[row.At] = row; i > 0 && !list[i-1].At.Before(row.At) {
			t.Errorf("%+v: %s is not after %s", q, row.At, list[i-1].At)
		}
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("%+v: %s", q, diff)
	}
}

// endedWhole compares all calls, and those of each provider's key.
func (x *sales) endedWhole(t failing) {
	for _, tag := range []string{"", keyTag, otherTag} {
		for _, bucket := range []report.Bucket{report.Hour, report.Day} {
			x.ended(t, report.ResultQuery{From: report.Day.Floor(x.now.AddDate(0, 0, -75)), To: report.Day.Floor(x.now.AddDate(0, 0, 1)), Bucket: bucket, ProviderKey: tag})
		}
	}
}
