package report_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/report"
	"weir/internal/zone"
)

// account is a store and a book with fixed answers.
type account struct {
	report.Store
	report.Account
	rows []report.Row
	held money.Nano
	own  int
}

func (a *account) Zones(context.Context, string) (zone.History, error) { return a.Zone, nil }

func (a *account) CatchUp(context.Context) (late, err error) { return nil, nil }

func (a *account) Running(string) (int, money.Nano) { return a.own, money.Nano(a.own) * money.Ruble }

func (a *account) Balance(context.Context, string) (ledger.Balance, error) {
	return ledger.Balance{Balance: a.Account.Balance, Held: a.held}, nil
}

func (a *account) JobHolds(context.Context, string) ([]report.Held, error) {
	return []report.Held{{Job: "vj_1", Amount: money.Ruble}}, nil
}

type asked struct{ *account }

func (a asked) Account(context.Context, string, time.Time, time.Time, int) (report.Account, error) {
	return a.account.Account, nil
}

func (a asked) Usage(context.Context, report.Query) ([]report.Row, error) { return a.rows, nil }

func (a asked) People(context.Context, report.PeopleSearch) ([]report.Person, error) { return nil, nil }
func (a asked) ToppedUp(context.Context, string) (bool, error)                       { return true, nil }

func (a asked) SearchCalls(context.Context, report.Search, int) (report.Window, error) {
	return report.Window{}, nil
}

func day(d int) time.Time { return time.Date(2026, 11, d, 0, 0, 0, 0, time.UTC) }

// A statement has a row for each posting, until there are too many of a kind on one day: then they are one row. Refunds of a day always are.
func TestStatementFolds(t *testing.T) {
	t.Parallel()
	a := &account{held: 3 * money.Ruble}
	add := func(d int, kind string, n int, amount money.Nano) {
		for range n {
			a.Movements = append(a.Movements, ledger.Movement{Kind: kind, At: day(d).Add(time.Hour), Amount: amount})
			a.Account.Balance += amount
		}
	}
	add(1, ledger.TopUpKind, 20, 5)
	add(2, ledger.TopUpKind, 21, 5)
	add(2, ledger.AdjustmentKind, 1, -7)
	add(3, ledger.RefundKind, 1, 2)
	add(4, ledger.RefundKind, 2, 2)
	add(5, ledger.AdjustmentKind, 30, -1)
	add(5, ledger.AdjustmentKind, 2, 9)
	for d, cost := range map[int]money.Nano{2: 11} {
		a.Days = append(a.Days, report.DaySum{Day: day(d), Calls: 4, Cost: cost})
		a.Account.Balance -= cost
	}
	a.Account.Balance += 100
	a.Before = 100
	s, err := report.New(asked{a}, a).Statement(t.Context(), "wal_1", day(1), day(30))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	rows := map[string]int{}
	for i := range s.Lines {
		l := &s.Lines[i]
		k := fmt.Sprintf("%d %s %t", l.Day.Day(), l.Kind, l.Amount < 0)
		got[k] += l.Count
		rows[k]++
	}
	for k, want := range map[string][2]int64{"1 topup false": {20, 20}, "2 topup false": {21, 1}, "2 adjustment true": {1, 1}, "2 calls true": {4, 1}, "3 refund false": {1, 1}, "4 refund false": {2, 1},
		"5 adjustment true": {30, 1}, "5 adjustment false": {2, 1}} {
		if got[k] != want[0] || int64(rows[k]) != want[1] {
			t.Errorf("%s: %d entries in %d rows, want %v", k, got[k], rows[k], want)
		}
	}
	if last := s.Lines[len(s.Lines)-1]; !s.Agrees || last.Balance != s.Closing || s.Closing != a.Account.Balance || s.Opening+s.Credited-s.Debited != s.Closing {
		t.Errorf("%+v", s)
	}
	if s.Calls != 2*money.Ruble || len(s.Jobs) != 1 {
		t.Errorf("held for calls: %s, %v", s.Calls, s.Jobs)
	}
	a.After = 1 // a row that the balance does not have
	if s, err = report.New(asked{a}, a).Statement(t.Context(), "wal_1", day(1), day(30)); err != nil || s.Agrees {
		t.Errorf("a wrong balance agrees: %v", err)
	}
	a.More = true
	if _, err := report.New(asked{a}, a).Statement(t.Context(), "wal_1", day(1), day(30)); !fault.Is(err, fault.Invalid) {
		t.Errorf("too many postings: %v", err)
	}
}

// The parts of each day sum to the day, and the days to the total, however many models there are.
func TestOverviewSums(t *testing.T) {
	t.Parallel()
	now := day(24).Add(13 * time.Hour)
	for models := range 9 {
		a := &account{Account: report.Account{Balance: 1000 * money.Ruble}, held: 2 * money.Ruble, own: 1}
		var sum, week money.Nano
		for d := 1; d <= 24; d++ {
			for m := range models {
				cost := money.Nano(m+1) * money.Ruble
				a.rows = append(a.rows, report.Row{At: day(d), Value: fmt.Sprint("m", m), Sums: report.Sums{Calls: 1, Cost: cost}})
				if sum += cost; d >= 17 && d < 24 {
					week += cost
				}
			}
		}
		o, err := report.New(asked{a}, a).Overview(t.Context(), "wal_1", report.Filter{}, now)
		if err != nil {
			t.Fatal(err)
		}
		var days, parts, top money.Nano
		for _, d := range o.Days {
			days += d.Cost
			for _, p := range d.Shares {
				parts += p.Cost
			}
			if len(d.Shares) > 4 {
				t.Errorf("%d shares", len(d.Shares))
			}
		}
		for _, s := range o.Top {
			top += s.Cost
		}
		if len(o.Days) != 30 || days != sum || parts != sum || top != sum || o.Total != sum || o.Month != sum || o.Running != 2 {
			t.Errorf("%d models: %d days %s, parts %s, top %s, total %s, month %s, want %s; %d running", models, len(o.Days), days, parts, top, o.Total, o.Month, sum, o.Running)
		}
		want := -1
		if week > 0 {
			want = int((998 * money.Ruble) / (week / 7))
		}
		if o.Runway != want {
			t.Errorf("%d models: lasts %d days, want %d", models, o.Runway, want)
		}
		a.held = 5 * money.Ruble // of other nodes, too
		if o, err = report.New(asked{a}, a).Overview(t.Context(), "wal_1", report.Filter{}, now); err != nil || o.Running != -1 {
			t.Errorf("%d running, %v", o.Running, err)
		}
	}
}
