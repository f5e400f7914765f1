package ledger

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"weir/internal/money"
	"weir/internal/rate"
	"weir/internal/record"
	"weir/internal/usage"
)

// Explanation is the calculation of a charge, recomputed from the record of the call.
type Explanation struct {
	Call    *record.Call
	Entries []Entry
	Refunds []Movement // money given back for the charge
	Exact   string     // sum of the lines before rounding, in rubles
	Cost    money.Nano // Exact, rounded up
	Matches bool       // Cost, the recorded cost and the wallet's entry are the same
	Why     string     // when they are not: which differs
}

// Explain recomputes the charge of a generation of a wallet ("" any wallet). It fails with fault.NotFound.
func Explain(ctx context.Context, from Reader, wallet, generation string) (Explanation, error) {
	c, entries, err := from.Call(ctx, wallet, generation)
	if err != nil {
		return Explanation{}, err
	}
	x := Explanation{Call: c, Entries: entries}
	if x.Refunds, err = from.Refunds(ctx, c.Wallet, generation); err != nil {
		return x, err
	}
	x.Why = x.recompute()
	x.Matches = x.Why == ""
	return x, nil
}

func (x *Explanation) recompute() string {
	c := x.Call
	sum := usage.Exact(c.Lines)
	x.Exact = string(sum.Append(nil))
	x.Cost, _ = sum.Ceil()
	if why := Recompute(c); why != "" {
		return why
	}
	switch {
	case !c.Settled && len(x.Entries) > 0:
		return "the call was not charged, but has an entry"
	case !c.Settled:
		return ""
	case len(x.Entries) != 1:
		return fmt.Sprintf("the call has %d entries instead of one", len(x.Entries))
	case x.Entries[0].Amount != -c.Cost || x.Entries[0].Account != WalletAccount+c.Wallet:
		return fmt.Sprintf("the entry takes %s from %s, the recorded cost is %s", -x.Entries[0].Amount, x.Entries[0].Account, c.Cost)
	}
	return ""
}

// Recompute returns why the cost of a call does not follow from its record: the quantities of its lines from its usage, their prices from
// those in dollars and the rate, the cost from quantities and prices. It returns "" when the cost follows.
func Recompute(c *record.Call) string {
	if !c.Settled {
		if c.Cost != 0 {
			return "the call was not charged, but has a cost"
		}
		return ""
	}
	cost, err := usage.Total(c.Lines)
	switch {
	case err != nil:
		return "the lines do not add up: " + err.Error()
	case cost != c.Cost && (cost < maxHold || c.Cost != maxHold): // the cost of one call is capped
		return fmt.Sprintf("the sum of the lines is %s, the recorded cost is %s", cost, c.Cost)
	}
	if why := usage.Follow(&c.Usage, c.Lines); why != "" {
		return why
	}
	return reprice(c)
}

// reprice returns why a ruble price does not follow from the price in dollars and the rate. Prices in rubles and records of old name no dollars.
func reprice(c *record.Call) string {
	for _, l := range c.Lines {
		if l.Dollars == "" {
			continue
		}
		at, ok := rate.Named(c.Rate)
		if !ok {
			return fmt.Sprintf("the price of %s is %s dollars at the rate %q, which names none", l.Kind, l.Dollars, c.Rate)
		}
		if price, err := l.PriceOf(at); err != nil || price != l.Price {
			return fmt.Sprintf("the price of %s is %s, that of %s dollars at the rate %q is %s", l.Kind, money.Price{Nano: l.Price, Set: true}, l.Dollars, c.Rate, money.Price{Nano: price, Set: true})
		}
	}
	return ""
}

// counted describes the source of the counts.
func counted(s usage.Source) string {
	said := "reported by the provider"
	if s&usage.Estimated != 0 {
		said = "estimated by this gateway, because the provider reported nothing usable before the end"
	}
	if s&usage.Capped != 0 {
		said += "; what was reported beyond what the call could consume, or beyond what the balance covered, was cut off"
	}
	if s&usage.TooLow != 0 {
		said += "; implausibly little for what was delivered"
	}
	return said
}

// WriteTo writes the explanation as text.
func (x Explanation) WriteTo(w io.Writer) (int64, error) {
	var s strings.Builder
	t := tabwriter.NewWriter(&s, 0, 0, 2, ' ', 0)
	x.writeCall(t)
	x.writeRouting(t)
	x.writeCost(t)
	if err := t.Flush(); err != nil {
		return 0, err
	}
	n, err := io.WriteString(w, s.String())
	return int64(n), err
}

func field(w io.Writer, name, format string, args ...any) {
	fmt.Fprintf(w, "%s\t%s\n", name, fmt.Sprintf(format, args...))
}

func (x *Explanation) writeCall(w io.Writer) {
	c := x.Call
	field(w, "generation", "%s", c.Generation)
	field(w, "request", "%s", c.Request)
	field(w, "at", "%s", c.At.UTC().Format(time.RFC3339Nano))
	field(w, "user", "%s", c.User)
	field(w, "wallet", "%s", c.Wallet)
	field(w, "key", "%s", c.Key)
	field(w, "model", "%s (asked for %s)", c.Model, c.ModelAsked)
	field(w, "served by", "%s, endpoint %s, as %s", c.ProviderName, c.Endpoint, c.UpstreamModel)
	field(w, "ended", "status %d%s, finish %q, streamed %t, client left %t", c.Status, errorWord(c.Error), c.Finish, c.Streamed, c.Cancelled)
	field(w, "took", "%s, first content after %s", c.Duration, c.FirstContent)
}

func errorWord(e string) string {
	if e == "" {
		return ""
	}
	return " " + e
}

// keyWord is which of the provider's keys an attempt was made with.
func keyWord(tag string) string {
	if tag == "" {
		return ""
	}
	return ", key " + tag
}

func (x *Explanation) writeRouting(w io.Writer) {
	for _, k := range x.Call.Candidates {
		switch {
		case k.DroppedBy != "":
			field(w, "candidate", "%s\tdropped by %s: %s%s", k.Endpoint, k.DroppedBy, k.Detail, offered(&k))
		case k.Order > 0:
			field(w, "candidate", "%s\tnumber %d by %s%s", k.Endpoint, k.Order, k.Reason, offered(&k))
		default:
			field(w, "candidate", "%s\tnot reached, %s%s", k.Endpoint, k.Reason, offered(&k))
		}
	}
	for _, a := range x.Call.Attempts {
		field(w, "attempt", "%s\tfrom %s to %s, status %d%s%s", a.Endpoint, a.Started, a.Ended, a.Status, errorWord(a.Reason), keyWord(a.ProviderKey))
	}
}

// offered is the model that a candidate was looked at for, and its price.
func offered(k *record.Candidate) string {
	if k.Slug == "" {
		return ""
	}
	s := fmt.Sprintf(" (%s for %s in and %s out per 1000 tokens", k.Slug, k.Prompt, k.Completion)
	if k.PerRequest > 0 {
		s += ", " + k.PerRequest.String() + " per request"
	}
	return s + ")"
}

// timesRate continues a price in dollars with what makes rubles of it.
func timesRate(version string) string {
	p := rate.PartsOf(version)
	if p.RubPerUSD == "" {
		return ""
	}
	times := " x " + p.RubPerUSD + " rubles x (1 + " + p.Margin + ")"
	if p.VAT.Mode == rate.OnTop {
		times += " x (1 + " + p.VAT.Percent + " % VAT)"
	}
	return times
}

func (x *Explanation) writeCost(w io.Writer) {
	c := x.Call
	field(w, "usage", "%s", counted(c.Usage.Source))
	if c.Usage.UpstreamCost != "" {
		field(w, "provider's cost", "%s dollars", c.Usage.UpstreamCost)
	}
	if c.Usage.Tier != "" {
		field(w, "service tier", "%s, as the provider's answer says", c.Usage.Tier)
	}
	times := timesRate(c.Rate)
	for _, l := range c.Lines {
		from := ""
		if l.Dollars != "" {
			from = "\tfrom " + l.Dollars + " dollars per " + l.Kind.DollarUnit() + times
		}
		field(w, l.Kind.String(), "%s\tx %s per %s\t= %s%s", l.Measure(), money.Price{Nano: l.Price, Set: true}, l.Kind.Unit(), l.AppendAmount(nil), from)
	}
	field(w, "exact sum", "%s rubles", x.Exact)
	field(w, "rounded up", "%s rubles", x.Cost)
	field(w, "charged", "%s rubles", c.Cost)
	if vat := rate.PartsOf(c.Rate).VAT; vat.Mode != "" {
		field(w, "of that VAT", "%s rubles, %s %%", vat.Part(c.Cost), vat.Percent)
	}
	field(w, "price list", "%s", orNone(c.PriceList))
	field(w, "rate", "%s", orNone(c.Rate))
	field(w, "catalog", "%s", orNone(c.Catalog))
	field(w, "source price", "%s", orNone(c.SourcePrice))
	field(w, "held", "%s rubles at most", c.Hold)
	for i := range c.Funds {
		f := &c.Funds[i]
		kind, only := f.Kind, ""
		if f.Kind != PeriodTotal {
			kind += " from " + time.Unix(f.Start, 0).UTC().Format(time.DateOnly)
		}
		if f.Lease == 0 {
			only = ", only counted"
		}
		field(w, "counts in", "%s\t%s%s", f.ID, kind, only)
	}
	for _, e := range x.Entries {
		field(w, "entry", "%d\ttransaction %d, %s %s, %s", e.ID, e.Transaction, e.Account, e.Amount, e.Ref)
	}
	for i := range x.Refunds {
		m := &x.Refunds[i]
		field(w, "refund", "%d\t%s rubles, %s by %s, reference %s: %s", m.Transaction, m.Amount, m.At.UTC().Format(time.RFC3339), m.Actor, m.Reference(), m.Why())
	}
	if x.Matches {
		field(w, "verdict", "the charge follows from the record")
	} else {
		field(w, "verdict", "MISMATCH: %s", x.Why)
	}
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
