package ledger

import (
	"context"
	"strings"
	"time"

	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/record"
)

// differ reports whether limits can bind one call.
func differ(list []Limit) bool {
	for i := range list {
		if list[i].ID == "" || len(list[i].ID) > record.MaxID {
			return false
		}
		for j := range i {
			if list[i].ID == list[j].ID {
				return false
			}
		}
	}
	return len(list) <= MaxLimits
}

// KeyIDs is how the ids of keys begin.
const KeyIDs = "key_"

// refusal names the limit that refused. Other errors stay as they are.
func (h *Hold) refusal(err error, x *limited) error {
	e := fault.From(err)
	if e.Kind != fault.PaymentRequired {
		return err
	}
	if at, ok := h.book.Renews(h.asked.Wallet, x.Reset); ok {
		e.Details["renews_at"] = at.Format(time.RFC3339)
	}
	text := "The spending limit of this key is too low for this request. Raise it, or ask for fewer tokens."
	switch {
	case x.ID == h.asked.Key:
		e.Details["reason"] = "key_limit"
	case strings.HasPrefix(x.ID, KeyIDs):
		e.Details["reason"], e.Details["key"] = "key_limit", x.ID
		text = "The spending limit of a key above this one is too low for this request. Raise it, or ask for fewer tokens."
	default:
		e.Details["reason"], e.Details["budget"] = "budget", x.ID
		text = "A budget is too low for this request. Raise it, or ask for fewer tokens."
	}
	if e.RetryAfter == 0 {
		e.Public = text
	}
	return e
}

// strictest looks whether one of the other limits is even stricter than the one that refused. It reserves nothing.
func (h *Hold) strictest(ctx context.Context, refused error, others []limited, extra money.Nano) error {
	worst := fault.From(refused)
	if worst.Kind != fault.PaymentRequired {
		return refused
	}
	for i := range others {
		x := &others[i]
		if x.Open {
			continue
		}
		l, err := h.book.take(ctx, h.share(x), x.lease, &x.Limit, extra)
		if err == nil {
			l.shrink(extra, l != x.lease)
			continue
		}
		if e := fault.From(h.refusal(err, x)); e.Kind == fault.PaymentRequired && stricter(e, worst) {
			worst = e
		}
	}
	return worst
}

// stricter reports whether a refusal by one limit lasts longer, or leaves less, than that by another.
func stricter(a, b *fault.Error) bool {
	if (a.RetryAfter == 0) != (b.RetryAfter == 0) {
		return a.RetryAfter == 0
	}
	return left(a) < left(b)
}

// left is what a refusal says that can be spent.
func left(e *fault.Error) money.Nano {
	text, _ := e.Details["available"].(string)
	n, _ := money.Parse(text)
	return n
}

// Renews is when the present interval of a wallet's limits ends; false for those that are never reset.
func (b *Book) Renews(wallet string, r Reset) (time.Time, bool) {
	if r == Never {
		return time.Time{}, false
	}
	now := b.cfg.Now()
	next := r.End(b.store.Local(wallet, now))
	at := now.UTC().Truncate(time.Hour) // days begin with an hour
	if sure := next.Add(-15 * time.Hour); at.Before(sure) {
		at = sure // no clock is further ahead
	}
	for b.store.Local(wallet, at).Before(next) {
		at = at.Add(time.Hour)
	}
	return at, true
}

// End is the first day after the interval of r that a moment belongs to, both as in Periods; zero when it has no end.
func (r Reset) End(at time.Time) time.Time {
	start := time.Unix(r.Period(at).Start, 0).UTC()
	switch r {
	case Daily:
		return start.AddDate(0, 0, 1)
	case Weekly:
		return start.AddDate(0, 0, 7)
	case Monthly:
		return start.AddDate(0, 1, 0)
	case Never:
	}
	return time.Time{}
}

// Counted appends the intervals in which a call counts in one of its funds. at is when the call began, as in Periods. A budget has one interval. A key
// counts in all, as its own calls do: its limit may get another. The one that the call was held from comes before what the clock says.
func Counted(list []Period, f *record.Fund, at time.Time) []Period {
	list = append(list, Period{f.Kind, f.Start})
	if !strings.HasPrefix(f.ID, KeyIDs) {
		return list
	}
	for _, p := range Periods(at) {
		if p.Kind != f.Kind {
			list = append(list, p)
		}
	}
	return list
}
