package httpapi

import (
	"cmp"
	"slices"
	"time"

	"weir/internal/apikey"
	"weir/internal/catalog"
	"weir/internal/explain"
	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/operation"
	"weir/internal/record"
	"weir/internal/report"
	"weir/internal/usage"
)

func (x *request) getCredits() error {
	b, err := x.api.Ledger.Balance(x.context(), x.caller.Wallet)
	if err != nil {
		return err
	}
	var o object
	o.Object()
	o.Name("data").Object()
	o.amount("total_credits", b.Credited)
	o.amount("total_usage", b.Charged)
	o.amount("balance", b.Balance)
	o.amount("reserved", b.Held)
	o.text("currency", "RUB")
	o.EndObject()
	o.EndObject()
	return x.reply(&o)
}

const day = "2006-01-02"

// windowDays is how many completed days of the account activity covers.
const windowDays = 30

func (x *request) getActivity() error {
	q, err := x.query()
	if err != nil {
		return err
	}
	today := report.Day.Floor(x.api.Ledger.Local(x.caller.Wallet, x.at))
	from, to := today.AddDate(0, 0, -windowDays), today.AddDate(0, 0, -1)
	if q.Has("date") {
		date, err := time.Parse(day, q.Get("date"))
		if err != nil {
			return fault.Field("httpapi.getActivity", "date", "date must be a day written as YYYY-MM-DD.")
		}
		if date.Before(from) || date.After(to) {
			return fault.Field("httpapi.getActivity", "date", "date must be one of the last %d completed days: %s to %s.", windowDays, from.Format(day), to.Format(day))
		}
		from, to = date, date
	}
	key := ""
	if hash := q.Get("api_key_hash"); hash != "" {
		k, err := x.keyByHash(hash)
		if err != nil {
			return err
		}
		key = k.ID
	}
	rows, err := x.activity(key, from, to)
	if err != nil {
		return err
	}
	o := newObject(64 + 192*len(rows))
	o.Object()
	o.Name("data").Array()
	for i := range rows {
		appendActivity(&o, &rows[i])
	}
	o.EndArray()
	o.text("currency", "RUB")
	o.EndObject()
	return x.reply(&o)
}

// activity is the activity of some days, both included, as far as the caller sees it.
func (x *request) activity(key string, from, to time.Time) ([]ledger.ActivityRow, error) {
	wallet, sees := x.caller.Wallet, x.caller.Sees
	if sees.All() {
		return x.api.Ledger.Activity(x.context(), wallet, key, from.Format(day), to.Format(day))
	}
	zones, err := x.api.Reports.Zones(x.context(), wallet)
	if err != nil {
		return nil, err
	}
	list, err := x.api.Reports.Rows(x.context(), report.Query{Wallet: wallet, Filter: report.Filter{Key: key, Org: x.caller.User, Sees: sees}, Part: report.Model, Bucket: report.Day,
		From: zones.Start(from), To: zones.Start(to.AddDate(0, 0, 1)), Zones: zones})
	rows := make([]ledger.ActivityRow, 0, len(list))
	for i := range list {
		if r := &list[i]; r.Charged > 0 {
			rows = append(rows, ledger.ActivityRow{Date: r.At.Format(day), Model: r.Value, Cost: r.Cost, Requests: r.Charged, PromptTokens: r.Prompt, CompletionTokens: r.Completion, ReasoningTokens: r.Reasoning, Refunded: r.Refunded})
		}
	}
	slices.SortFunc(rows, func(a, b ledger.ActivityRow) int {
		return cmp.Or(cmp.Compare(b.Date, a.Date), cmp.Compare(b.Cost, a.Cost), cmp.Compare(a.Model, b.Model))
	})
	return rows, err
}

func appendActivity(o *object, r *ledger.ActivityRow) {
	o.Object()
	o.text("date", r.Date)
	o.text("model", r.Model)
	o.amountText("cost", r.Cost)
	o.integer("requests", r.Requests)
	o.integer("prompt_tokens", r.PromptTokens)
	o.integer("completion_tokens", r.CompletionTokens)
	o.integer("reasoning_tokens", r.ReasoningTokens)
	o.amountText("refunded", r.Refunded)
	o.EndObject()
}

func (x *request) getGeneration() error {
	q, err := x.query()
	if err != nil {
		return err
	}
	id := q.Get("id")
	if id == "" {
		return fault.Field("httpapi.getGeneration", "id", "id is missing: give the id of an answer, gen-...")
	}
	c, _, err := x.api.Ledger.Call(x.context(), x.caller.Wallet, id)
	none := fault.New(fault.NotFound, "httpapi.getGeneration", "There is no such generation.")
	if fault.Is(err, fault.NotFound) {
		return none
	}
	if err == nil {
		err = x.sees(c.Key, none)
	}
	if err != nil {
		return err
	}
	refunds, err := x.api.Ledger.Refunds(x.context(), x.caller.Wallet, id)
	if err != nil {
		return err
	}
	var o object
	o.Object()
	o.Name("data")
	if err := appendGeneration(&o, c, refunded(refunds), x.api.Catalog(), x.base()+"/api/calls/"+c.Generation); err != nil {
		return err
	}
	o.EndObject()
	return x.reply(&o)
}

// generationCharge is everything to recompute the cost of a call.
type generationCharge struct {
	Settled   bool   `json:"settled"`
	Estimated bool   `json:"estimated"`
	Source    string `json:"source"`
	explain.Charge
	Price explain.PriceBasis `json:"price"`
}

func appendGeneration(o *object, c *record.Call, refunded money.Nano, snap *catalog.Snapshot, url string) error {
	u := &c.Usage
	o.Object()
	o.text("id", c.Generation)
	o.text("request_id", c.Request)
	o.moment("created_at", c.At)
	o.text("model", c.Model)
	o.textOrNull("provider_name", c.ProviderName)
	o.text("api_type", c.API)
	o.boolean("streamed", c.Streamed)
	o.boolean("cancelled", c.Cancelled)
	o.textOrNull("finish_reason", c.Finish)
	o.textOrNull("native_finish_reason", c.NativeFinish)
	o.integer("latency", c.FirstContent.Milliseconds())
	o.integer("generation_time", c.Generating.Milliseconds())
	o.integer("tokens_prompt", u.Prompt.N)
	o.integer("tokens_completion", u.Completion.N)
	o.integer("native_tokens_prompt", u.Prompt.N)
	o.integer("native_tokens_completion", u.Completion.N)
	o.integer("native_tokens_reasoning", u.Reasoning.N)
	o.integer("native_tokens_cached", u.CacheRead.N)
	o.null("num_media_prompt")
	o.integer("num_media_completion", u.Images.N)
	o.integer("num_search_results", u.WebSearches.N)
	o.amount("usage", c.Cost)
	o.amount("total_cost", c.Cost)
	o.amount("refunded", refunded)
	o.null("upstream_inference_cost") // the provider's own figure is in dollars: /api/calls has it under its own name
	appendCacheDiscount(o, c.Lines)
	o.text("currency", "RUB")
	o.boolean("is_byok", c.OwnKey != "")
	o.textOrNull("session_id", c.Session)
	o.textOrNull("user_agent", c.UserAgent)
	o.textOrNull("http_referer", c.Referer)
	o.textOrNull("service_tier", u.Tier)
	o.text("record_url", url)
	charge, err := operation.JSON(generationCharge{Settled: c.Settled, Estimated: u.Source&usage.Estimated != 0, Source: u.Source.String(), Charge: explain.ChargeOf(c), Price: explain.BasisOf(c)})
	if err != nil {
		return err
	}
	o.Name("charge").Raw(charge)
	o.Name("provider_responses").Array()
	for i := range c.Attempts {
		a := &c.Attempts[i]
		o.Object()
		o.text("provider_name", providerName(a.Provider, c, snap))
		o.integer("status", int64(a.Status))
		o.integer("latency", (a.Ended - a.Started).Milliseconds())
		o.EndObject()
	}
	o.EndArray()
	o.Name("metadata").Object()
	o.raw("client", c.Metadata)
	routing, err := operation.JSON(explain.RoutingOf(c))
	o.Name("routing").Raw(routing)
	o.EndObject()
	o.EndObject()
	return err
}

// appendCacheDiscount writes what the prompt's cached tokens cost less than the others, below zero when writing them to the cache cost
// more than reading brought; null where the prices do not say.
func appendCacheDiscount(o *object, lines []usage.Line) {
	if saved, ok := usage.Saved(lines); ok {
		o.amount("cache_discount", saved)
		return
	}
	o.null("cache_discount")
}

// providerName is the display name of a provider: as it was for the one that served, as it is now for the others, and the id of one
// that is gone.
func providerName(id string, c *record.Call, snap *catalog.Snapshot) string {
	if id == c.Provider && c.ProviderName != "" {
		return c.ProviderName
	}
	if p := snap.Providers[id]; p != nil {
		return p.Name
	}
	return id
}

func (x *request) getKey() error {
	k, err := x.api.Keys.ByHash(x.context(), x.caller.User, x.caller.Hash)
	if err != nil {
		return err
	}
	spend, err := x.api.Ledger.KeySpend(x.context(), k.ID)
	if err != nil {
		return err
	}
	var o object
	o.Object()
	o.Name("data").Object()
	o.text("label", k.Label)
	appendLimit(&o, &k, spend)
	o.boolean("include_byok_in_limit", false)
	o.boolean("is_free_tier", false)
	o.boolean("is_management_key", k.Management)
	o.boolean("is_provisioning_key", k.Management)
	o.moment("expires_at", k.ExpiresAt)
	o.text("creator_user_id", k.Creator)
	o.Name("rate_limit").Object()
	appendRates(&o, x.caller.Rates.Over(x.api.cfg.KeyRates))
	o.EndObject()
	o.EndObject()
	o.EndObject()
	return x.reply(&o)
}

// appendRates writes what a key may use in a minute.
func appendRates(o *object, r apikey.Rates) {
	if r.Requests == 0 {
		o.integer("requests", -1)
	} else {
		o.integer("requests", r.Requests)
	}
	o.text("interval", "1m")
	if r.Tokens == 0 {
		o.null("tokens")
	} else {
		o.integer("tokens", r.Tokens)
	}
	if r.Rubles == 0 {
		o.null("rubles")
	} else {
		o.amount("rubles", r.Rubles)
	}
	if r.Calls == 0 {
		o.null("concurrent_calls")
	} else {
		o.integer("concurrent_calls", r.Calls)
	}
	if r == (apikey.Rates{Calls: r.Calls}) {
		o.text("note", "This key has no limit on requests, tokens or rubles per minute.")
	} else {
		o.text("note", "These limits refill steadily: after a 429, wait the seconds of Retry-After.")
	}
}

// appendLimit writes a key's limit and what it has spent.
func appendLimit(o *object, k *apikey.Key, s ledger.KeySpend) {
	if k.Limit == nil {
		o.null("limit")
		o.null("limit_remaining")
		o.null("limit_reset")
	} else {
		o.amount("limit", k.Limit.Amount)
		o.amount("limit_remaining", k.Limit.Remaining(s.Counted(ledger.Reset(k.Limit.Reset))))
		o.textOrNull("limit_reset", string(k.Limit.Reset))
	}
	o.amount("usage", s.Total)
	o.amount("usage_daily", s.Daily)
	o.amount("usage_weekly", s.Weekly)
	o.amount("usage_monthly", s.Monthly)
	for _, name := range []string{"byok_usage", "byok_usage_daily", "byok_usage_weekly", "byok_usage_monthly"} {
		o.integer(name, 0)
	}
}
