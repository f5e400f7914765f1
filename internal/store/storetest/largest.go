package storetest

import (
	"cmp"
	"fmt"
	"slices"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"weir/internal/report"
)

// largest compares the largest values of a property and what is left, as a page shows them, with all rows of the same usage.
func (x *sales) largest(rt *rapid.T) {
	r := report.New(x.s.Ledger, flushed{x.s.Ledger})
	wallet := fmt.Sprint("wal_", rapid.IntRange(0, 2).Draw(rt, "largest of wallet"))
	zones, err := x.s.Ledger.Zones(rt.Context(), wallet)
	if err != nil {
		rt.Fatal(err)
	}
	m := rapid.SampledFrom([]report.Metric{report.Cost, report.Calls, report.Errors, report.TokensOut}).Draw(rt, "metric")
	most := rapid.SampledFrom([]int{1, 2, 8}).Draw(rt, "most series")
	first := report.Day.Floor(x.now).AddDate(0, 0, -rapid.IntRange(0, 70).Draw(rt, "first day"))
	q := report.Query{
		Wallet: wallet, Bucket: report.Day, Zones: zones, From: zones.Start(first), To: zones.Start(first.AddDate(0, 0, rapid.IntRange(1, 70).Draw(rt, "days shown"))),
		Part:   rapid.SampledFrom([]report.Part{report.TagNamed("project"), report.Session, report.ClientUser}).Draw(rt, "largest by"),
		Filter: report.Filter{Model: rapid.SampledFrom([]string{"", "", "a/x"}).Draw(rt, "of model"), Member: rapid.SampledFrom([]string{"", "", "usr_0", "usr_7"}).Draw(rt, "of member")},
		Whole:  rapid.Bool().Draw(rt, "all figures"),
	}
	got, err := r.Usage(rt.Context(), q, m, most)
	if err != nil {
		rt.Fatal(err)
	}
	all := q
	if all.Metric = m; q.Whole {
		all.Metric = ""
	}
	rows, err := r.Rows(rt.Context(), all)
	if err != nil {
		rt.Fatal(err)
	}
	want := report.Usage{Times: got.Times, Sums: make([]report.Sums, len(got.Times)), PreviousFrom: got.PreviousFrom, PreviousTotal: got.PreviousTotal, LastAt: got.LastAt}
	groups := map[string]*report.Series{}
	for i := range rows {
		row := &rows[i]
		at := slices.IndexFunc(got.Times, row.At.Equal)
		if groups[row.Value] == nil {
			groups[row.Value] = &report.Series{Key: row.Value, Values: make([]report.Sums, len(got.Times))}
		}
		for _, s := range []*report.Sums{&groups[row.Value].Values[at], &groups[row.Value].Total, &want.Sums[at], &want.Total} {
			s.Add(&row.Sums)
		}
	}
	for _, g := range groups {
		want.Series = append(want.Series, *g)
	}
	slices.SortFunc(want.Series, func(a, b report.Series) int {
		x, _ := m.Of(&a.Total)
		y, _ := m.Of(&b.Total)
		return cmp.Or(-cmp.Compare(x, y), -cmp.Compare(a.Total.Calls, b.Total.Calls), cmp.Compare(a.Key, b.Key))
	})
	if len(want.Series) > most {
		want.Other, want.OtherCount = make([]report.Sums, len(got.Times)), len(want.Series)-most
		for _, s := range want.Series[most:] {
			want.OtherTotal.Add(&s.Total)
			for i := range s.Values {
				want.Other[i].Add(&s.Values[i])
			}
		}
		want.Series = want.Series[:most]
	}
	// when the last call of a part of a day was is not known
	if diff := gocmp.Diff(&want, got, cmpopts.IgnoreFields(report.Sums{}, "LastAt"), cmpopts.IgnoreFields(report.Usage{}, "Query"), cmpopts.EquateEmpty()); diff != "" {
		rt.Errorf("%+v: %s", q, diff)
	}
}
