package httpapi

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"weir/internal/apikey"
	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/money"
)

// What programs that are signed in learn of the limit of their key: Claude Code's gateway protocol, "Usage-limit headers", as `claude gateway` 2.1.330 serves
// it at GET /protocol. Other keys get 402, as everywhere.

const (
	unified = "Anthropic-Ratelimit-Unified-"
	overage = unified + "Overage-"

	usagePath = "/api/oauth/usage"

	// standingFor is how old a standing may be that is shown with an answer. A refusal has a new one.
	standingFor  = 15 * time.Second
	maxStandings = 10000
)

// standing is where a key is within its limit.
type standing struct {
	limit apikey.Limit
	spent money.Nano
	ends  time.Time // when the limit starts again; zero: never
}

// used is the fraction that was used, in hundredths.
func (s *standing) used() int64 {
	if s.limit.Amount <= 0 || s.spent >= s.limit.Amount {
		return 100
	}
	return max(int64(float64(s.spent)/float64(s.limit.Amount)*100+0.5), 0)
}

// reached reports whether nothing is left.
func (s *standing) reached() bool { return s.spent >= s.limit.Amount }

// standings remembers standings, so that a call does not ask the store each time.
type standings struct {
	mu  sync.Mutex
	all map[string]keptStanding
}

type keptStanding struct {
	standing
	at time.Time
}

// standing is where the caller's key is within its limit. A remembered one may be standingFor old. Callers without a limit have none.
func (x *request) standing(ctx context.Context, fresh bool) (standing, error) {
	c := x.caller
	kept := &x.api.standings
	if !fresh {
		kept.mu.Lock()
		s, ok := kept.all[c.Key]
		kept.mu.Unlock()
		if ok && s.limit == *c.Limit && x.at.Sub(s.at) < standingFor && (s.ends.IsZero() || x.at.Before(s.ends)) {
			return s.standing, nil
		}
	}
	spend, err := x.api.Ledger.KeySpend(ctx, c.Key)
	if err != nil {
		return standing{}, err
	}
	reset := ledger.Reset(c.Limit.Reset)
	s := standing{limit: *c.Limit, spent: spend.Counted(reset), ends: reset.Ends(func(t time.Time) time.Time { return x.api.Ledger.Local(c.Wallet, t) }, x.at)}
	kept.mu.Lock()
	if kept.all == nil || len(kept.all) >= maxStandings {
		kept.all = map[string]keptStanding{}
	}
	kept.all[c.Key] = keptStanding{s, x.at}
	kept.mu.Unlock()
	return s, nil
}

// showStanding sets the header fields by which Claude Code warns its person before the limit is reached. A standing that cannot be had stops no call.
func (x *request) showStanding() {
	if !x.caller.Agent || x.caller.Limit == nil {
		return
	}
	s, err := x.standing(x.context(), false)
	if err != nil {
		return
	}
	h, used := x.w.Header(), min(s.used(), 99) // below 1 while calls are let in
	status, threshold := "allowed", ""
	switch {
	case used > 95:
		status, threshold = "allowed_warning", "0.95"
	case used > 75:
		status, threshold = "allowed_warning", "0.75"
	}
	h.Set(unified+"Status", status)
	h.Set(unified+"Representative-Claim", "overage")
	h.Set(overage+"Status", status)
	h.Set(overage+"Utilization", hundredths(used))
	if threshold != "" {
		h.Set(overage+"Surpassed-Threshold", threshold)
	}
	showReset(h, s.ends)
}

func hundredths(n int64) string {
	digits := strconv.FormatInt(100+n, 10)
	return string(digits[0]-1) + "." + digits[1:]
}

func showReset(h http.Header, ends time.Time) {
	if ends.IsZero() {
		return
	}
	at := strconv.FormatInt(ends.Unix(), 10)
	h.Set(unified+"Reset", at)
	h.Set(overage+"Reset", at)
}

// capped is the refusal of a program that is signed in for want of money, as its protocol has it. The fields are set that belong to it. It is nil for other
// refusals and callers. What only waits for calls that run is a matter of seconds: the program asks again by itself.
func (x *request) capped(e *fault.Error) *fault.Error {
	if e.Kind != fault.PaymentRequired || x.caller == nil || !x.caller.Agent || x.envelope() != messagesEnvelope {
		return nil
	}
	h := x.w.Header()
	for name := range h {
		if strings.HasPrefix(name, unified) {
			delete(h, name)
		}
	}
	out := *e
	if e.RetryAfter > 0 {
		out.Kind = fault.RateLimited
		return &out
	}
	h.Set("X-Should-Retry", "false")
	h.Set(unified+"Status", "rejected")
	reason := "out_of_credits" // the wallet, which no time fills
	if e.Details["reason"] == "key_limit" && x.caller.Limit != nil {
		reason = "org_spend_cap_reached"
		out.Public = "spend limit reached"
		s, err := x.standing(x.context(), true)
		if err != nil {
			h.Set(overage+"Disabled-Reason", "fetch_error")
			h.Del(unified + "Status")
			return &out
		}
		h.Set(overage+"Utilization", "1")
		h.Set(overage+"Surpassed-Threshold", "1")
		showReset(h, s.ends)
		if !s.ends.IsZero() {
			h.Set("Retry-After", strconv.FormatInt(int64(s.ends.Sub(x.at)/time.Second), 10)) // days, where others get an hour at most
			h.Set(overage+"Period", string(s.limit.Reset))
			out.Public += " · resets " + s.ends.Format("Jan 2, 15:04") + " UTC"
		}
		if !s.reached() {
			out.Public += " · this request needs more than is left"
		}
		out.Public += " · raise the limit of this sign-in at " + x.base() + "/keys"
	}
	h.Set(overage+"Disabled-Reason", reason)
	return &out
}

// getOAuthUsage is what Claude Code shows as amounts beside the percentage: in kopecks, of the caller's key.
func (x *request) getOAuthUsage() error {
	x.w.Header()["Cache-Control"] = noStore
	kopecks := func(n money.Nano) int64 { return int64(n / (money.Ruble / 100)) }
	o := newObject(512)
	o.Object()
	o.Name("extra_usage").Object()
	o.boolean("is_enabled", true)
	var s standing
	if x.caller.Limit == nil {
		spend, err := x.api.Ledger.KeySpend(x.context(), x.caller.Key)
		if err != nil {
			return err
		}
		o.null("monthly_limit")
		o.integer("used_credits", kopecks(spend.Monthly))
		o.null("utilization")
		for _, part := range []struct {
			name  string
			spent money.Nano
		}{{"daily", spend.Daily}, {"weekly", spend.Weekly}} {
			o.Name(part.name).Object()
			o.null("limit")
			o.integer("used_credits", kopecks(part.spent))
			o.null("utilization")
			o.EndObject()
		}
	} else {
		var err error
		if s, err = x.standing(x.context(), true); err != nil {
			return err
		}
		o.integer("monthly_limit", kopecks(s.limit.Amount)) // whatever its interval is
		o.integer("used_credits", kopecks(max(s.spent, 0)))
		o.integer("utilization", s.percent())
	}
	o.text("currency", "RUB")
	o.EndObject()
	o.Name("limits").Array()
	if x.caller.Limit != nil && s.limit.Reset != apikey.Never {
		severity := "normal"
		switch {
		case s.used() > 95:
			severity = "critical"
		case s.used() > 75:
			severity = "warning"
		}
		o.Object()
		o.text("kind", "spend")
		o.text("group", string(s.limit.Reset))
		o.integer("percent", s.percent())
		o.text("resets_at", s.ends.UTC().Format("2006-01-02T15:04:05.000Z"))
		o.text("severity", severity)
		o.boolean("is_active", true)
		o.EndObject()
	}
	o.EndArray()
	o.EndObject()
	return x.reply(&o)
}

// percent is used while calls may still be let in, and 100 once none is.
func (s *standing) percent() int64 {
	if s.reached() {
		return 100
	}
	return min(s.used(), 99)
}
