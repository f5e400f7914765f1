package upstream

import (
	"context"
	"errors"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/fault"
	"weir/internal/rawjson"
)

const maxCountBytes = 64 << 10 // of an answer with a count

// CountTokens asks ep how many tokens the prompt of req has. It fails with fault.Invalid when ep cannot count, and otherwise like
// Complete; a failure does not take a credential out of use.
func (c *Client) CountTokens(ctx context.Context, ep *catalog.Endpoint, req *completion.Request) (int64, error) {
	if ctx.Err() != nil {
		return 0, callerFault(ctx)
	}
	t, err := c.target(ep.Provider)
	if err != nil {
		return 0, err
	}
	texter := t.speak(req.Style)
	counter, _ := texter.(dialect.TokenCounter)
	if counter == nil {
		return 0, cannotCount()
	}
	call, ok := counter.CountRequest(ep, req)
	if !ok {
		return 0, cannotCount()
	}
	key := t.keys.pick(ep.UpstreamID, nil, c.cfg.Now)
	if key == nil {
		return 0, c.polish(ep, noKeyInUse(ep))
	}
	a := c.newAttempt(ctx, ep, texter, nil, false, t.group.standard)
	a.limit = maxCountBytes
	defer a.end()
	answer, err := a.askWith(t, key, req, &call)
	if err != nil {
		return 0, c.polish(ep, err)
	}
	body, err := answer.ReadAll(nil)
	if err != nil {
		return 0, c.polish(ep, err)
	}
	if !rawjson.Valid(body) {
		return 0, c.polish(ep, dialect.Broken(ep, errNoCount))
	}
	n, ok := rawjson.Int(rawjson.Find(body, "input_tokens"))
	if !ok {
		n, ok = rawjson.Int(rawjson.Find(body, "totalTokens")) // on the Gemini wire
	}
	if !ok || n < 0 {
		return 0, c.polish(ep, dialect.Broken(ep, errNoCount))
	}
	return n, nil
}

var errNoCount = errors.New("upstream: the answer holds no count")

func cannotCount() error {
	return fault.New(fault.Invalid, "upstream.CountTokens", "The provider of this model cannot count tokens.")
}
