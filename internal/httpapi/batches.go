package httpapi

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"

	"weir/internal/apikey"
	"weir/internal/batch"
	"weir/internal/fault"
	"weir/internal/limit"
	"weir/internal/routing"
	"weir/internal/wire/batches"
)

// postBatch serves POST /v1/batches: the batch is on the disk before the answer leaves.
func (x *request) postBatch() error {
	if err := x.keeps("a batch"); err != nil {
		return err
	}
	body, err := x.readBody()
	if err != nil {
		return err
	}
	c, err := batches.Decode(body)
	if err != nil {
		return err
	}
	betas, err := x.betas()
	if err != nil {
		return err
	}
	if _, err := x.file(c.Input); fault.Is(err, fault.NotFound) {
		return batch.NoInput("httpapi.postBatch", c.Input)
	} else if err != nil {
		return err
	}
	x.mayKeep(&routing.Preferences{})
	b, err := x.api.Batches.Add(x.context(), &batch.NewBatch{Caller: x.caller, Shape: batch.Requests, Endpoint: c.Endpoint, Metadata: c.Metadata, Input: c.Input, Keep: c.Keep,
		Generation: x.generation, Version: x.header("Anthropic-Version"), Betas: betas, Tags: x.tags([]byte("{}"))})
	if err != nil {
		return err
	}
	x.writeBody(http.StatusOK, jsonType, batches.Append(nil, b))
	return nil
}

const maxBetas = 2048 // bytes

// betas are the features of the messages style that a batch asks for.
func (x *request) betas() (string, error) {
	text := strings.Join(x.r.Header["Anthropic-Beta"], ",")
	if len(text) > maxBetas {
		return "", fault.Field("httpapi.betas", "anthropic-beta", "anthropic-beta must have at most %d bytes.", maxBetas)
	}
	return text, nil
}

// batch finds the batch that the path names, if the caller sees it.
func (x *request) batch(shape batch.Shape) (*batch.Batch, error) {
	b, err := x.api.Batches.Get(x.context(), x.caller.User, x.values[0], shape)
	if err == nil {
		err = x.sees(b.Key, batch.NoBatch("httpapi.batch"))
	}
	return b, err
}

func (x *request) getBatch() error {
	b, err := x.batch(batch.Requests)
	if err != nil {
		return err
	}
	return x.replyStoredJSON(batches.Append(nil, b))
}

func (x *request) cancelBatch() error {
	if _, err := x.batch(batch.Requests); err != nil {
		return err
	}
	b, err := x.api.Batches.Cancel(x.context(), x.caller.User, x.values[0], batch.Requests)
	if err != nil {
		return err
	}
	return x.replyStoredJSON(batches.Append(nil, b))
}

func (x *request) listBatches() error {
	limit, err := x.limitOf(batchesPage, batchesMost)
	if err != nil {
		return err
	}
	list, more, err := x.api.Batches.List(x.context(), batch.Query{User: x.caller.User, Sees: x.caller.Sees, Shape: batch.Requests, After: x.r.URL.Query().Get("after"), Limit: limit})
	if err != nil {
		return err
	}
	return x.replyStoredJSON(batches.AppendList(nil, len(list), more, func(to []byte, i int) ([]byte, string) { return batches.Append(to, &list[i]), list[i].ID }))
}

// postMessageBatch serves POST /v1/messages/batches: its requests become a file that its user never sees.
func (x *request) postMessageBatch() error {
	if err := x.keeps("a batch"); err != nil {
		return err
	}
	body, err := x.readBody()
	if err != nil {
		return err
	}
	_, lineBytes, lines := x.api.Batches.Limits()
	if err := x.memory.Charge(int64(len(body))); err != nil { // the copy below
		return err
	}
	file, total, err := batches.DecodeMessages(body, lines, lineBytes)
	if err != nil {
		return err
	}
	betas, err := x.betas()
	if err != nil {
		return err
	}
	x.mayKeep(&routing.Preferences{})
	b, err := x.api.Batches.Add(x.context(), &batch.NewBatch{Caller: x.caller, Shape: batch.Messages, Endpoint: batches.MessagesEndpoint, Requests: bytes.NewReader(file), Total: total,
		Generation: x.generation, Version: x.header("Anthropic-Version"), Betas: betas, Tags: x.tags([]byte("{}"))})
	if err != nil {
		return err
	}
	x.writeBody(http.StatusOK, jsonType, batches.AppendMessages(nil, b, x.base()))
	return nil
}

func (x *request) getMessageBatch() error {
	b, err := x.batch(batch.Messages)
	if err != nil {
		return err
	}
	return x.replyStoredJSON(batches.AppendMessages(nil, b, x.base()))
}

func (x *request) cancelMessageBatch() error {
	if _, err := x.batch(batch.Messages); err != nil {
		return err
	}
	b, err := x.api.Batches.Cancel(x.context(), x.caller.User, x.values[0], batch.Messages)
	if err != nil {
		return err
	}
	return x.replyStoredJSON(batches.AppendMessages(nil, b, x.base()))
}

func (x *request) deleteMessageBatch() error {
	if _, err := x.batch(batch.Messages); err != nil {
		return err
	}
	if err := x.api.Batches.Delete(x.context(), x.caller.User, x.values[0], batch.Messages); err != nil {
		return err
	}
	return x.replyStoredJSON(batches.AppendMessagesDeleted(nil, x.values[0]))
}

func (x *request) listMessageBatches() error {
	limit, err := x.limitOf(batchesPage, batchesMost)
	if err != nil {
		return err
	}
	query := x.r.URL.Query()
	q := batch.Query{User: x.caller.User, Sees: x.caller.Sees, Shape: batch.Messages, After: query.Get("after_id"), Before: query.Get("before_id"), Limit: limit}
	if q.After != "" && q.Before != "" {
		return fault.Field("httpapi.listMessageBatches", "before_id", "Send after_id or before_id, not both.")
	}
	list, more, err := x.api.Batches.List(x.context(), q)
	if err != nil {
		return err
	}
	return x.replyStoredJSON(batches.AppendList(nil, len(list), more, func(to []byte, i int) ([]byte, string) {
		return batches.AppendMessages(to, &list[i], x.base()), list[i].ID
	}))
}

func (x *request) getMessageBatchResults() error {
	if _, err := x.batch(batch.Messages); err != nil {
		return err
	}
	r, err := x.api.Batches.Results(x.context(), x.caller.User, x.values[0])
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	return x.sendLines(r, -1)
}

// Spare implements batch.Runner.
func (a *API) Spare(caller *apikey.Caller) bool { return a.quotas.Spare(a.Now(), caller) }

// Run implements batch.Runner: it makes a call of a batch as if its user had sent it, through the same limits, the same handler and the relay.
func (a *API) Run(ctx context.Context, c *batch.Call) (answer batch.Answer) {
	work := limit.For(ctx, &c.Caller.User)
	kept := &keptAnswer{header: http.Header{}}
	x := a.newRequest(kept, batchRequest(&work, c), a.table)
	x.begin()
	x.caller, x.generation, x.part = c.Caller, c.Generation, c
	defer func() {
		if x.call != nil {
			c.Held = x.call.Held
		}
		if p := recover(); p != nil && p != http.ErrAbortHandler {
			panic(p)
		}
		answer = batch.Answer{Status: kept.status, Body: kept.body, RequestID: x.id, Err: x.fault, Record: x.record}
	}()
	defer x.finish()
	defer func() {
		if p := recover(); p != nil {
			x.panicked(p)
		}
	}()
	if err := x.serveBatch(); err != nil {
		x.fail(fault.From(err))
	}
	return answer
}

// serveBatch is serve for a call of a batch: its caller is known, and it has no address.
func (x *request) serveBatch() error {
	route, values, _ := x.table.find(http.MethodPost, x.r.URL)
	if route == nil || route.access != inference {
		return fault.New(fault.NotFound, "httpapi.serveBatch", "Batches know no route "+x.askedFor()+".")
	}
	x.route, x.values = route, values
	if err := x.checkBodySize(); err != nil {
		return err
	}
	if t := x.api.Traces; t != nil && !(x.deferred() && x.part.Deferred.Prepares()) { // of a part of a provider's batch, the answer is what counts
		x.trace = t.Begin(nil, false)
	}
	if x.caller.Management {
		return fault.New(fault.PermissionDenied, "httpapi.serveBatch", "A management key cannot call models. Use an API key.")
	}
	x.memory.Open(x.api.quotas.Bytes, x.caller.User)
	if err := x.visit.Enter(x.api.quotas, x.at, x.caller, route.rated() && !x.deferred()); err != nil {
		return err
	}
	defer x.visit.Leave()
	return route.handle(x)
}

func batchRequest(ctx context.Context, c *batch.Call) *http.Request {
	header := http.Header{"Content-Type": {"application/json"}}
	if c.Version != "" {
		header["Anthropic-Version"] = []string{c.Version}
	}
	if c.Betas != "" {
		header["Anthropic-Beta"] = []string{c.Betas}
	}
	if c.Tags != "" {
		header[tagsHeader] = []string{c.Tags}
	}
	r := &http.Request{Method: http.MethodPost, URL: &url.URL{Path: c.Endpoint}, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: header,
		Body: io.NopCloser(bytes.NewReader(c.Body)), ContentLength: int64(len(c.Body))}
	return r.WithContext(ctx)
}

// keptAnswer is where the answer of a call of a batch goes.
type keptAnswer struct {
	header http.Header
	status int
	body   []byte
}

// Header implements http.ResponseWriter.
func (k *keptAnswer) Header() http.Header { return k.header }

// WriteHeader implements http.ResponseWriter.
func (k *keptAnswer) WriteHeader(status int) { k.status = status }

// Write implements http.ResponseWriter.
func (k *keptAnswer) Write(b []byte) (int, error) {
	k.body = append(k.body, b...)
	return len(b), nil
}

var _ batch.Runner = (*API)(nil)
