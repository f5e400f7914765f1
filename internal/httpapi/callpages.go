package httpapi

import (
	"strconv"
	"strings"
	"time"

	"weir/internal/fault"
	"weir/internal/record"
	"weir/internal/usage"
)

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
