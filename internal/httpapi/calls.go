package httpapi

import (
	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/rate"
	"weir/internal/record"
	"weir/internal/usage"
)

// getCall serves the record of one call: why it was routed as it was, and how each number of its charge came about.
func (x *request) getCall() error {
	c, entries, err := x.api.Ledger.Call(x.context(), x.caller.Wallet, x.values[0])
	if fault.Is(err, fault.NotFound) {
		return x.notRecorded(x.values[0])
	}
	if err != nil {
		return err
	}
	refunds, err := x.api.Ledger.Refunds(x.context(), x.caller.Wallet, x.values[0])
	if err != nil {
		return err
	}
	stored, err := x.storesText(c)
	if err != nil {
		return err
	}
	o := newObject(4096)
	o.Object()
	o.Name("data").Object()
	appendRow(&o, c)
	names := &keyNames{x: x}
	if c.Key != "" {
		if err := names.read(); err != nil {
			return err
		}
	}
	if k := names.keys[c.Key]; k != nil {
		o.text("key_hash", k.Hash)
		o.text("key_name", k.Name)
	} else {
		o.null("key_hash")
		o.null("key_name")
	}
	o.Name("plan").Object()
	appendCandidates(&o, c)
	o.EndObject()
	appendAttempts(&o, c)
	appendUsage(&o, c)
	appendPriceBasis(&o, c)
	o.Name("hold").Object()
	o.amountText("amount", c.Hold)
	o.amountText("released", max(0, c.Hold-c.Cost))
	o.EndObject()
	appendEntries(&o, entries)
	appendRefunds(&o, refunds)
	o.boolean("stored_text", stored)
	o.EndObject()
	o.EndObject()
	return x.reply(&o)
}

func appendRow(o *object, c *record.Call) {
	o.text("id", c.Generation)
	o.text("request_id", c.Request)
	o.moment("created_at", c.At)
	o.text("user", c.User)
	o.textOrNull("key", c.Key)
	o.text("api", c.API)
	o.text("kind", c.API)
	o.integer("status", int64(c.Status))
	o.text("result", c.Result())
	o.text("model_asked", c.ModelAsked)
	if c.Preset == "" {
		o.null("preset")
	} else {
		o.Name("preset").Object()
		o.text("name", c.Preset)
		o.integer("version", c.PresetVersion)
		o.EndObject()
	}
	o.textOrNull("model", c.Model)
	o.textOrNull("provider", c.Provider)
	o.textOrNull("provider_name", c.ProviderName)
	o.textOrNull("endpoint", c.Endpoint)
	o.textOrNull("upstream_id", c.UpstreamID)
	o.textOrNull("own_key", c.OwnKey)
	o.boolean("stream", c.Streamed)
	o.boolean("canceled", c.Cancelled)
	o.boolean("settled", c.Settled)
	o.textOrNull("error", c.Error)
	o.textOrNull("finish_reason", c.Finish)
	o.textOrNull("native_finish_reason", c.NativeFinish)
	o.textOrNull("notice", c.Notice)
	o.amountText("cost", c.Cost)
	o.integer("first_token_ms", c.FirstContent.Milliseconds())
	o.integer("generating_ms", c.Generating.Milliseconds())
	o.integer("duration_ms", c.Duration.Milliseconds())
	o.textOrNull("session_id", c.Session)
	o.textOrNull("client_user", c.ClientUser)
	o.textOrNull("user_agent", c.UserAgent)
	o.textOrNull("http_referer", c.Referer)
	o.textOrNull("title", c.Title)
	o.raw("metadata", c.Metadata)
	o.raw("parameters", c.Parameters)
}

// appendCandidates writes what routing considered, as POST /v1/route/explain showed it at the time of the call.
func appendCandidates(o *object, c *record.Call) {
	o.textOrNull("catalog_version", c.Catalog)
	o.Name("candidates").Array()
	for i := range c.Candidates {
		k := &c.Candidates[i]
		o.Object()
		o.text("endpoint", k.Endpoint)
		o.textOrNull("own_key", k.OwnKey)
		o.textOrNull("model", k.Slug)
		o.integer("order", int64(k.Order))
		o.textOrNull("dropped_by", k.DroppedBy)
		o.textOrNull("detail", k.Detail)
		o.Name("score")
		appendScore(o, k.Score, k.Reason)
		appendPlannedPrice(o, k)
		o.EndObject()
	}
	o.EndArray()
}

// appendPlannedPrice writes what a candidate would have cost, null in a record of old.
func appendPlannedPrice(o *object, k *record.Candidate) {
	if k.Slug == "" {
		o.null("price")
		return
	}
	o.Name("price").Object()
	o.amountText("prompt_per_1k", k.Prompt)
	o.amountText("completion_per_1k", k.Completion)
	o.amountText("request", k.PerRequest)
	o.EndObject()
}

func appendAttempts(o *object, c *record.Call) {
	o.Name("attempts").Array()
	for i := range c.Attempts {
		a := &c.Attempts[i]
		o.Object()
		o.text("endpoint", a.Endpoint)
		o.text("provider", a.Provider)
		o.textOrNull("own_key", a.OwnKey)
		o.integer("status", int64(a.Status))
		o.textOrNull("reason", a.Reason)
		o.integer("started_ms", a.Started.Milliseconds())
		if a.FirstContent > 0 {
			o.integer("first_token_ms", a.FirstContent.Milliseconds())
		} else {
			o.null("first_token_ms")
		}
		o.integer("ended_ms", a.Ended.Milliseconds())
		o.EndObject()
	}
	o.EndArray()
}

func appendUsage(o *object, c *record.Call) {
	u := &c.Usage
	o.Name("usage").Object()
	o.integer("prompt_tokens", u.Prompt.N)
	o.integer("completion_tokens", u.Completion.N)
	o.integer("reasoning_tokens", u.Reasoning.N)
	appendParts(o, c)
	o.text("source", u.Source.String())
	if u.UpstreamCost != "" {
		o.text("upstream_cost_usd", u.UpstreamCost) // the provider's own figure, as it wrote it
	}
	o.EndObject()
}

// appendParts writes the lines of a charge and the counts that they follow from.
func appendParts(o *object, c *record.Call) {
	o.Name("parts").Array()
	for _, line := range c.Lines {
		o.Object()
		o.text("kind", line.Kind.String())
		o.integer("quantity", line.Quantity)
		o.text("measure", line.Measure())
		o.text("unit", line.Kind.Unit())
		o.text("price", money.Nano(line.Price).String())
		o.textOrNull("price_usd", line.Dollars)
		if line.Dollars == "" {
			o.null("price_usd_unit")
		} else {
			o.text("price_usd_unit", line.Kind.DollarUnit())
		}
		o.text("cost", string(line.AppendAmount(nil)))
		o.EndObject()
	}
	o.EndArray()
	o.Name("counts").Object()
	for i, count := range c.Usage.Counts() {
		if count.Reported || count.N != 0 {
			o.integer(usage.CountNames[i], count.N)
		}
	}
	o.EndObject()
	exact := usage.Exact(c.Lines)
	o.text("exact", string(exact.Append(nil)))
}

// appendPriceBasis writes what the prices of a charge come from.
func appendPriceBasis(o *object, c *record.Call) {
	o.Name("price").Object()
	o.textOrNull("list", c.PriceList)
	o.textOrNull("rate", c.Rate)
	p := rate.PartsOf(c.Rate)
	o.textOrNull("rubles_per_dollar", p.RubPerUSD)
	o.textOrNull("margin", p.Margin)
	o.Name("vat")
	appendVAT(o, p.VAT)
	if p.VAT.Mode != "" {
		o.amountText("vat_amount", p.VAT.Part(c.Cost))
	} else {
		o.null("vat_amount")
	}
	o.textOrNull("source", c.SourcePrice)
	o.EndObject()
}

// appendVAT writes which tax prices contain, null for none.
func appendVAT(o *object, v rate.VAT) {
	if v.Mode == "" {
		o.Null()
		return
	}
	o.Object()
	o.text("mode", v.Mode)
	o.text("percent", v.Percent)
	o.EndObject()
}

func appendEntries(o *object, entries []ledger.Entry) {
	o.Name("entries").Array()
	for i := range entries {
		o.Int(entries[i].ID)
	}
	o.EndArray()
}
