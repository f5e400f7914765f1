package upstream

import (
	"bytes"
	"net/http"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/fault"
)

// deferred prepares a request for a batch of the provider, or reads the answer that such a batch gave.
func (c *Client) deferred(ep *catalog.Endpoint, req *completion.Request, yield func(*completion.Event, error) bool) {
	fail := func(err error) { yield(nil, c.polish(ep, err)) }
	t, err := c.target(ep.Provider)
	if err != nil {
		fail(err)
		return
	}
	texter := t.speak(req.Style)
	batcher, batches := t.dialect.(dialect.Batcher)
	if texter == nil || !batches || !req.Chats() {
		fail(dialect.Unsupported(ep, "The provider of this model does not take requests of this kind in batches."))
		return
	}
	d := req.Deferred
	if d.Answer == nil {
		call, err := texter.Request(ep, req)
		if err == nil {
			d.Most = batcher.MostBatched()
			err = prepare(ep, d, &call)
		}
		fail(err)
		return
	}
	req.Used.Set(&d.Key)
	if s := d.Answer.Status; s < 200 || s > 299 {
		fail(texter.Failure(ep, s, http.Header{}, d.Answer.Body[:min(len(d.Answer.Body), dialect.MaxFailureBytes)]))
		return
	}
	answer := &dialect.Answer{Endpoint: ep, Request: req, Length: int64(len(d.Answer.Body)), Limits: c.cfg.Limits, Body: dialect.NewBody(bytes.NewReader(d.Answer.Body))}
	for ev, err := range texter.Events(answer) {
		if err != nil {
			fail(err)
			return
		}
		if !yield(ev, nil) || ev.Done {
			return
		}
	}
	fail(dialect.Ended(ep))
}

// prepare fills in what the provider is to get. It always returns an error, which stops the call.
func prepare(ep *catalog.Endpoint, d *completion.Deferred, call *dialect.Call) error {
	if call.Content != nil || call.URL != "" || call.Verb() != http.MethodPost {
		return dialect.Unsupported(ep, "The provider of this model does not take requests of this kind in batches.")
	}
	d.Endpoint, d.Path, d.Header, d.Body = ep.ID, call.Path, call.Header, bytes.Join(call.Pieces(), nil)
	return &fault.Error{Kind: fault.Canceled, Op: "upstream.prepare", Public: "The request was prepared for a batch.", Next: fault.Stop}
}
