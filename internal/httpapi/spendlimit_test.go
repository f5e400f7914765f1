package httpapi_test

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/apikey"
	"weir/internal/fault"
	"weir/internal/httpapi"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/relay"
)

const unified = "Anthropic-Ratelimit-Unified-"

// TestSpendLimitOfAgents shows how Claude Code learns of the limit of its sign-in, before it is reached and after: the header fields and the body of
// its gateway protocol. A key that is no sign-in gets 402 and none of them.
func TestSpendLimitOfAgents(t *testing.T) {
	t.Parallel()
	midnight := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, 2) // the clock that looks at keys is the machine's
	now, reset := midnight.Add(-10*time.Hour), strconv.FormatInt(midnight.Unix(), 10)
	var refused *fault.Error
	var lock sync.Mutex
	refuse := func(e *fault.Error) { lock.Lock(); defer lock.Unlock(); refused = e }
	r := relayFunc(func(ctx context.Context, c *relay.Call, sink relay.Sink) error {
		lock.Lock()
		e := refused
		lock.Unlock()
		if e != nil {
			return e
		}
		return hello(ctx, c, sink)
	})
	clock := now
	n := startWith(t, r, nil, func(d *httpapi.Deps) { d.Now = func() time.Time { lock.Lock(); defer lock.Unlock(); return clock } })
	wait := func(d time.Duration) { lock.Lock(); defer lock.Unlock(); clock = clock.Add(d) }
	page := n.join(t, "anna@example.org", apikey.User)
	access, _ := n.signAgentIn(page)["access_token"].(string)
	bearer := []string{"Authorization", "Bearer " + access, "Anthropic-Version", "2023-06-01"}
	const body = `{"model":"acme/small","max_tokens":10,"messages":[{"role":"user","content":"hi"}]}`
	ask := func() *response { return n.do("POST", "/v1/messages?beta=true", body, bearer...) }
	noneOf := func(r *response) {
		t.Helper()
		for name := range r.Header {
			if strings.HasPrefix(name, unified) {
				t.Errorf("%s: %s", name, r.Header.Get(name))
			}
		}
	}
	noneOf(ask())
	usage := n.do("GET", "/api/oauth/usage", "", bearer...)
	if m := usage.json(t); usage.StatusCode != 200 || at(m, "extra_usage", "monthly_limit") != nil || at(m, "extra_usage", "daily", "used_credits") != 0.0 || at(m, "extra_usage", "currency") != "RUB" || len(m["limits"].([]any)) != 0 {
		t.Errorf("%d %s", usage.StatusCode, usage.body)
	}

	key := n.keyOf(t, access)
	limited := &apikey.Limit{Amount: 500 * money.Ruble, Reset: apikey.Daily}
	if _, err := n.keys.Change(t.Context(), key.User, key.Hash, apikey.Change{Limit: &limited}, httpapi.Actor{Name: "test"}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		spent                          money.Nano
		status, utilization, surpassed string
		percent                        float64
		severity                       string
	}{
		{0, "allowed", "0.00", "", 0, "normal"},
		{375 * money.Ruble, "allowed", "0.75", "", 75, "normal"},
		{410 * money.Ruble, "allowed_warning", "0.82", "0.75", 82, "warning"},
		{490 * money.Ruble, "allowed_warning", "0.98", "0.95", 98, "critical"},
		{499*money.Ruble + 999*money.Ruble/1000, "allowed_warning", "0.99", "0.95", 99, "critical"},
	} {
		n.books.spends(key.ID, ledger.KeySpend{Total: 900 * money.Ruble, Daily: c.spent})
		wait(16 * time.Second)
		r := ask()
		want := map[string]string{"Status": c.status, "Representative-Claim": "overage", "Overage-Status": c.status, "Overage-Utilization": c.utilization, "Overage-Surpassed-Threshold": c.surpassed,
			"Reset": reset, "Overage-Reset": reset}
		for name, value := range want {
			if r.StatusCode != 200 || r.Header.Get(unified+name) != value {
				t.Errorf("%s spent: %d, %s is %q, want %q", c.spent, r.StatusCode, name, r.Header.Get(unified+name), value)
			}
		}
		m := n.do("GET", "/api/oauth/usage", "", bearer...).json(t)
		if at(m, "extra_usage", "monthly_limit") != 50000.0 || at(m, "extra_usage", "used_credits") != float64(int64(c.spent/(money.Ruble/100))) || at(m, "extra_usage", "utilization") != c.percent ||
			at(m, "limits", 0, "group") != "daily" || at(m, "limits", 0, "percent") != c.percent || at(m, "limits", 0, "resets_at") != midnight.Format("2006-01-02T15:04:05.000Z") || at(m, "limits", 0, "severity") != c.severity {
			t.Errorf("%s spent: %v", c.spent, m)
		}
	}

	tooLittle := fault.New(fault.PaymentRequired, "test", "The spending limit of this key is too low for this request.")
	tooLittle.Details = map[string]any{"reason": "key_limit", "required": "1.0", "available": "0.0"}
	refuse(tooLittle)
	n.books.spends(key.ID, ledger.KeySpend{Daily: 500 * money.Ruble})
	end := ask()
	lock.Lock()
	left := midnight.Sub(clock)
	lock.Unlock()
	for name, value := range map[string]string{"X-Should-Retry": "false", "Retry-After": left.Truncate(time.Second).String(), unified + "Status": "rejected", unified + "Reset": reset,
		unified + "Overage-Reset": reset, unified + "Overage-Utilization": "1", unified + "Overage-Surpassed-Threshold": "1", unified + "Overage-Period": "daily",
		unified + "Overage-Disabled-Reason": "org_spend_cap_reached", unified + "Representative-Claim": "", unified + "Overage-Status": ""} {
		said := end.Header.Get(name)
		if name == "Retry-After" {
			d, _ := time.ParseDuration(said + "s")
			said = d.String()
		}
		if said != value {
			t.Errorf("%s is %q, want %q", name, said, value)
		}
	}
	m := end.json(t)
	if message, _ := at(m, "error", "message").(string); end.StatusCode != 429 || at(m, "error", "type") != "billing_error" || message != "spend limit reached · resets "+midnight.Format("Jan 2")+", 00:00 UTC · raise the limit of this sign-in at "+n.url+"/keys" {
		t.Errorf("%d %s", end.StatusCode, end.body)
	}
	if chat := n.do("POST", "/v1/chat/completions", chatBody(false), bearer...); chat.StatusCode != 402 {
		t.Errorf("another style: %d %s", chat.StatusCode, chat.body)
	}
	other := n.do("POST", "/v1/messages", body, "Authorization", "Bearer "+n.first.KeyText)
	noneOf(other)
	if other.StatusCode != 402 || other.Header.Get("X-Should-Retry") != "" {
		t.Errorf("a key: %d %s", other.StatusCode, other.body)
	}

	waits := *tooLittle
	waits.RetryAfter = 2 * time.Second
	refuse(&waits)
	if r := ask(); r.StatusCode != 429 || r.Header.Get("Retry-After") != "2" || r.Header.Get("X-Should-Retry") != "" || at(r.json(t), "error", "type") != "rate_limit_error" {
		t.Errorf("%d %v %s", r.StatusCode, r.Header, r.body)
	}

	empty := fault.New(fault.PaymentRequired, "test", "The balance is too low for this request. Top up, or ask for fewer tokens.")
	refuse(empty)
	if r := ask(); r.StatusCode != 429 || r.Header.Get("X-Should-Retry") != "false" || r.Header.Get("Retry-After") != "" || r.Header.Get(unified+"Overage-Disabled-Reason") != "out_of_credits" ||
		at(r.json(t), "error", "message") != empty.Public {
		t.Errorf("%d %v %s", r.StatusCode, r.Header, r.body)
	}
}

// keyOf finds the key with a text.
func (n *node) keyOf(t *testing.T, text string) apikey.Found {
	t.Helper()
	f, err := n.store.Accounts.KeyByHash(t.Context(), apikey.Hash(text))
	if err != nil {
		t.Fatal(err)
	}
	if !f.Agent {
		t.Fatal("the key is no sign-in")
	}
	return f
}

// spends has a key have spent so much.
func (b *books) spends(key string, s ledger.KeySpend) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.spend[key] = s
}
