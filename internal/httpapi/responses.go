package httpapi

import (
	"bytes"
	"context"
	"net/http"
	"strings"

	"weir/internal/catalog"
	"weir/internal/fault"
	"weir/internal/history"
	"weir/internal/limit"
	"weir/internal/limit/quota"
	"weir/internal/rawjson"
	"weir/internal/relay"
	"weir/internal/routing"
	"weir/internal/wire"
	"weir/internal/wire/responses"
)

// History keeps responses and carries those in the background. *history.Manager is one.
type History interface {
	// Stores decides whether a response is stored, as history.Manager does.
	Stores(w history.Wish) (bool, error)
	Keep(r *history.Response)
	Find(ctx context.Context, account, id string) (*history.Response, error)
	Chain(ctx context.Context, account, id string) ([]history.Response, error)
	OfItem(ctx context.Context, account, item string) (*history.Response, error)
	Delete(ctx context.Context, account, id string) error
	Cancel(ctx context.Context, account, id string) (*history.Response, error)
	Begin(ctx context.Context, r history.Response) (*history.Run, error)
}

// reply is a response on its way: what is asked, and what is kept of it.
type reply struct {
	x       *request
	req     *responses.Request
	call    *relay.Call
	options responses.Options
	kept    history.Response // what there is of it before the answer
	memory  limit.Tab        // of one in the background, which outlives its request
	visit   *quota.Visit     // of one in the background: what is reserved until it ends
	run     *history.Run     // that makes it in the background; nil: its client waits for it
}

// postResponses serves POST /v1/responses: whole, as a stream of events, or in the background.
func (x *request) postResponses() error {
	body, err := x.readBody()
	if err != nil {
		return err
	}
	if x.turn != nil {
		if err := x.turn.open(body); err != nil {
			return err
		}
	}
	if body, err = x.withPreset(body, responses.WithPreset); err != nil {
		return err
	}
	req, err := x.decodeResponses(body)
	if err != nil {
		return err
	}
	if x.turn != nil && x.turn.frame.Warm {
		return x.warmUp(req)
	}
	if req.Background && !req.Stream { // it outlives this request, whose body's memory serves others then
		if req, err = x.decodeResponses(bytes.Clone(req.Body)); err != nil {
			return err
		}
	}
	if err := x.reserve(req.Request); err != nil {
		return err
	}
	r := x.newReply(req)
	switch {
	case req.Background:
		return r.inBackground()
	case req.Stream:
		return r.stream(x.context(), func(w *frameWriter) frames { return responses.NewStream(w, r.options) })
	}
	defer func() { x.record = r.call.Record }()
	return x.api.Relay.Complete(x.context(), r.call, responses.NewWhole(wholeWriter{x}, r.options))
}

// Sealer encrypts what clients keep for the gateway. *seal.Ring is one.
type Sealer interface {
	// Ready reports whether there is a key.
	Ready() bool
	// Seal and Open encrypt and decrypt a text that belongs to a row and a column.
	Seal(secret, row, column string) ([]byte, error)
	Open(sealed []byte, row, column string) (string, error)
}

// compactionColumn is what compactions are encrypted for, beside their account.
const compactionColumn = "responses.compaction"

// postCompact serves POST /v1/responses/compact: a response whose one item stands for the conversation.
func (x *request) postCompact() error {
	body, err := x.readBody()
	if err != nil {
		return err
	}
	if body, err = x.withPreset(body, responses.WithPreset); err != nil {
		return err
	}
	if body, err = responses.CompactBody(body); err != nil {
		return err
	}
	req, err := x.decodeResponses(body)
	if err != nil {
		return err
	}
	if err := x.reserve(req.Request); err != nil {
		return err
	}
	r := x.newReply(req)
	defer func() { x.record = r.call.Record }()
	sink := responses.NewCompaction(wholeWriter{x}, req, r.options)
	if err := x.api.Relay.Complete(x.context(), r.call, sink); err != nil {
		return err
	}
	if sink.Failed() {
		return fault.New(fault.ProviderUnavailable, "httpapi.postCompact", "The model wrote no summary of the conversation. Try again, or name another model.")
	}
	return nil
}

// sealing encrypts a compaction for the caller's account.
func (x *request) sealing(summary []byte) string {
	sealed, err := x.api.Sealer.Seal(string(summary), x.caller.User, compactionColumn)
	if err != nil {
		x.api.Slog.Error("a compaction could not be encrypted", "request_id", x.id, "cause", err)
		return ""
	}
	return responses.Seal(sealed)
}

// opening decrypts a compaction of the caller's account.
func (x *request) opening(sealed []byte) (string, error) {
	return x.api.Sealer.Open(sealed, x.caller.User, compactionColumn)
}

// decodeResponses reads a body, and puts in what it names of what was kept.
func (x *request) decodeResponses(body []byte) (*responses.Request, error) {
	if responses.HasSealed(body) {
		if err := rawjson.Check(body, rawjson.Defaults); err != nil {
			return nil, err
		}
		var err error
		if body, err = responses.Unseal(body, x.opening); err != nil {
			return nil, err
		}
		if err := x.memory.Charge(int64(len(body))); err != nil {
			return nil, err
		}
	}
	req, err := responses.Decode(body)
	if err != nil {
		return nil, err
	}
	if req.Compact && !x.api.Sealer.Ready() {
		return nil, fault.Field("httpapi.responses", "input", "This gateway has no master key, without which it compacts no conversation. Ask its operator to set one.")
	}
	if ids := responses.References(req); len(ids) > 0 {
		if req, err = x.resolve(req, ids); err != nil {
			return nil, err
		}
	}
	if req.Previous != "" {
		before, err := x.continues(req.Previous)
		if err != nil {
			return nil, err
		}
		req.Continue(before)
	}
	req.Account = x.caller.Wallet
	req.Memory = &x.memory
	x.usePlugins(req.Request)
	x.asked = req.Models[0]
	if req.SessionID == "" {
		if req.SessionID = x.header("X-Session-Id"); len(req.SessionID) > 256 {
			return nil, fault.Field("httpapi.responses", "session_id", "X-Session-Id must have at most 256 bytes.")
		}
	}
	if !req.Store {
		return req, nil
	}
	d := x.caller.Defaults
	storing := x.storing()
	store, err := x.api.History.Stores(history.Wish{
		Asked: req.StoreAsked, Background: req.Background, Forbidden: d != nil && d.Preferences.ZDR, Bytes: len(req.Body),
		Never: storing.Responses == wire.StoreNever, OnRequest: storing.Responses == wire.StoreOnRequest,
	})
	if err != nil {
		return nil, err
	}
	if !store {
		req.Store, req.Encrypted = false, true
	}
	return req, nil
}

// mostLoads bounds how many stored responses one request may have read for the items that it names.
const mostLoads = 1000

// resolve puts stored items in the places of what names them. One item may be named often, so what comes of it is bounded as a body is.
func (x *request) resolve(req *responses.Request, ids []string) (*responses.Request, error) {
	s := storedItems{x: x, found: map[string][]byte{}}
	most := x.route.body(&x.api.cfg)
	size := int64(len(req.Body))
	for _, id := range ids {
		v, err := s.item(id)
		if err != nil {
			return nil, err
		}
		if v == nil {
			break // reported below
		}
		if size += int64(len(v)); size > most {
			return nil, fault.Newf(fault.PayloadTooLarge, "httpapi.resolve", "With the stored items that input names, the request is larger than %d bytes. Name fewer items.", most)
		}
	}
	if err := x.memory.Charge(size); err != nil {
		return nil, err
	}
	body, err := responses.Resolve(req, s.found)
	if err == nil && responses.HasSealed(body) {
		body, err = responses.Unseal(body, x.opening)
	}
	if err != nil {
		return nil, err
	}
	return responses.Decode(body)
}

// storedItems finds items of stored responses of the account. A response is read once, however many of its items are named.
type storedItems struct {
	x     *request
	found map[string][]byte
	loads int
}

// item is an item of any stored response, nil when it does not exist.
func (s *storedItems) item(id string) ([]byte, error) {
	if v := s.found[id]; v != nil {
		return v, nil
	}
	x := s.x
	if s.loads++; s.loads > mostLoads {
		return nil, fault.Field("httpapi.resolve", "input", "input names items of more than %d stored responses. Name fewer.", mostLoads)
	}
	if of, ok := responses.ResponseOf(id); ok {
		r, err := x.stored(of)
		if err == nil {
			return s.add(r, responses.Listed(r.ID, r.Input), id, false)
		}
		if !fault.Is(err, fault.NotFound) {
			return nil, err
		}
	}
	r, err := x.api.History.OfItem(x.context(), x.caller.User, id)
	if err == nil {
		err = x.sees(r.Key, history.NoResponse("httpapi.item"))
	}
	if fault.Is(err, fault.NotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return s.add(r, responses.Split(r.Output), id, true)
}

// add takes in the items of a response, and gives the one of that id. Ids of an answer are ours; of an input only those that name the response.
func (s *storedItems) add(r *history.Response, items [][]byte, id string, ours bool) ([]byte, error) {
	if err := s.x.chargeStored(*r); err != nil {
		return nil, err
	}
	for _, v := range items {
		name := rawjson.TextAt(v, "id")
		if of, ok := responses.ResponseOf(name); s.found[name] == nil && (ours || name == id || ok && of == r.ID) {
			s.found[name] = v
		}
	}
	return s.found[id], nil
}

// chargeStored takes memory for responses that were read from the store. Reading them is free, so the user's share is the bound.
func (x *request) chargeStored(list ...history.Response) error {
	n := 0
	for i := range list {
		n += list[i].Size()
	}
	return x.memory.Charge(int64(n))
}

// continues is the conversation that the request goes on with, as a list of items.
func (x *request) continues(id string) ([]byte, error) {
	t := x.turn
	if t == nil {
		return x.before(id)
	}
	t.previous, t.parent = id, t.s.kept.find(id)
	if t.parent == nil {
		return x.before(id)
	}
	lists, n := t.parent.items(), 0
	for _, list := range lists {
		n += len(list)
	}
	if err := x.memory.Charge(int64(n)); err != nil {
		return nil, err
	}
	return responses.Join(lists...), nil
}

// before is the conversation that a stored response ends, as a list of items.
func (x *request) before(id string) ([]byte, error) {
	chain, err := x.api.History.Chain(x.context(), x.caller.User, id)
	if err == nil {
		err = x.sees(chain[len(chain)-1].Key, history.NoParent())
	}
	if err != nil {
		return nil, err
	}
	if err := x.chargeStored(chain...); err != nil {
		return nil, err
	}
	lists := make([][]byte, 0, 2*len(chain))
	for i := range chain {
		lists = append(lists, chain[i].Input, chain[i].Output)
	}
	list := responses.Join(lists...)
	if responses.HasSealed(list) {
		return responses.UnsealHistory(list, x.opening)
	}
	return list, nil
}

// idSize is how many characters an id of a response has, after its prefix.
const idSize = 32

// responsesAPI is the API of calls in the responses style, in their records.
const responsesAPI = "responses"

func (x *request) newReply(req *responses.Request) *reply {
	r := &reply{x: x, req: req}
	r.call = x.newCall(req.Request, responsesAPI, responses.PromptText(req.Request))
	o := responses.Options{
		ID: responses.CallID(x.generation), Created: x.at.Unix(), Stored: req.Store, NewID: newID, Now: x.api.Now,
	}
	if req.Store || x.turn != nil {
		r.kept = history.Response{Account: x.caller.User, Key: x.caller.Key, ID: o.ID, Parent: req.Previous, Background: req.Background, Input: responses.InputItems(req), CreatedAt: x.at}
		if days := x.storing().Days; days > 0 {
			r.kept.ExpiresAt = x.at.AddDate(0, 0, int(days))
		}
		o.Keep = r.keep
	}
	if req.Compact {
		o.Seal = x.sealing
	}
	if x.turn != nil {
		r.call.Parameters = throughSocket(r.call.Parameters)
		o.Keep = r.keepTurn
	}
	r.options = responses.OptionsOf(req, o)
	return r
}

func newID(prefix string) string {
	return string(appendID(append(make([]byte, 0, len(prefix)+idSize), prefix...), idSize))
}

// keep stores an answer before the client gets its end.
func (r *reply) keep(k responses.Kept) {
	a := history.Answer{Status: history.Status(k.Status), Object: k.Object, Output: k.Output, Items: k.IDs}
	if r.run != nil {
		r.run.Answer(a)
		return
	}
	kept := r.kept.With(a)
	r.x.api.History.Keep(&kept)
}

// keepTurn keeps an answer for the next message of its socket, and stores it where that is asked for.
func (r *reply) keepTurn(k responses.Kept) {
	t, input := r.x.turn, r.kept.Input
	if r.req.Store {
		if t.parent != nil && !t.parent.stored { // the conversation so far is stored nowhere else
			before := responses.Join(append(t.parent.items(), input)...)
			r.kept.Parent, r.kept.Input = "", before[1:len(before)-1]
		}
		r.keep(k)
	}
	t.keep(r.options.ID, r.req, input, k.Output)
}

// failed is the response object of a response in the background that came to no answer.
func (r *reply) failed(err error) []byte {
	return responses.Restated(r.kept.Object, string(history.Failed), r.x.api.Redact(ResponsesFailure(fault.From(err), "")))
}

func (r *reply) stream(ctx context.Context, to func(w *frameWriter) frames) error {
	x := r.x
	s := x.openStream(ResponsesFailure, to)
	defer s.silence() // also when the relay panics
	defer func() { x.record = r.call.Record }()
	err := x.api.Relay.Complete(ctx, r.call, s.sink())
	s.silence()
	_ = (&frameWriter{s}).Flush() // storing a response in the background may take its time
	return err
}

// inBackground answers at once, or follows with a stream, and goes on whether or not the client stays.
func (r *reply) inBackground() error {
	x := r.x
	if !r.req.Stream {
		if err := r.keepBody(); err != nil {
			return err
		}
	}
	r.kept.Status, r.kept.Object = history.Queued, responses.Queued(&r.options)
	run, err := x.api.History.Begin(context.WithoutCancel(x.context()), r.kept)
	if err != nil {
		r.memory.Close()
		return err
	}
	r.run = run
	if !r.req.Stream {
		x.trace = nil // the answer in the background ends it
		r.visit = x.visit.Keep()
		go r.aside()
		x.writeBody(http.StatusOK, jsonType, r.kept.Object)
		return nil
	}
	err = run.Carry(func(ctx context.Context) error {
		return r.stream(ctx, func(w *frameWriter) frames { return responses.NewStream(patient{w}, r.options) })
	}, r.failed)
	if err != nil && x.r.Context().Err() == nil && fault.Is(err, fault.Canceled) {
		return fault.New(fault.Conflict, "httpapi.background", "The response was cancelled.") // somebody still reads
	}
	return err
}

// keepBody charges for the copies of the body that a response in the background has after that request has ended: itself and its input.
func (r *reply) keepBody() error {
	x := r.x
	r.memory.Open(x.api.quotas.Bytes, x.caller.User)
	r.req.Memory = &r.memory
	return x.api.quotas.Short(r.memory.Take(int64(len(r.req.Body))+int64(len(r.kept.Input))), "httpapi.background")
}

// patient takes every frame, also of a client that has gone: the answer is made all the same.
type patient struct{ w *frameWriter }

// Write sends one frame.
func (p patient) Write(frame []byte) (int, error) {
	if p.w.s.x.r.Context().Err() == nil {
		_, _ = p.w.Write(frame)
	}
	return len(frame), nil
}

// Flush sends what was written.
func (p patient) Flush() error {
	if p.w.s.x.r.Context().Err() == nil {
		_ = p.w.Flush()
	}
	return nil
}

// aside makes an answer in the background.
func (r *reply) aside() {
	x := r.x
	defer r.memory.Close()
	defer func() {
		r.visit.Correct(x.api.Now(), r.call.Record) // its request ended long ago
		r.visit.Leave()
	}()
	defer func() {
		if p := recover(); p != nil {
			x.api.Metrics.panics.Inc()
			x.api.Slog.Error("panic in a response in the background", "request_id", x.id)
		}
	}()
	err := r.run.Carry(func(ctx context.Context) error {
		return x.api.Relay.Complete(ctx, r.call, responses.NewWhole(discard{}, r.options))
	}, r.failed)
	if err != nil && fault.Is(err, fault.Internal) {
		x.api.Slog.Error("a response in the background failed", "request_id", x.id, "cause", fault.From(err).Cause)
	}
	if t := r.call.Trace; t != nil {
		x.api.Traces.End(t, x.answered(http.StatusOK, x.route.Pattern, fault.From(err), r.call.Record))
	}
	x.api.Metrics.call(r.call.Record, traceID(r.call.Trace))
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }

// countInput serves POST /v1/responses/input_tokens: our own count of the prompt. It is free, and calls no provider.
func (x *request) countInput() error {
	body, err := x.readBody()
	if err != nil {
		return err
	}
	if body, err = x.withPreset(body, responses.WithPreset); err != nil {
		return err
	}
	req, err := x.decodeResponses(body)
	if err != nil {
		return err
	}
	if _, _, ok := x.api.Catalog().Resolve(req.Models[0]); !ok {
		return routing.Unknown(req.Models[0], catalog.TypeChat, x.api.Catalog())
	}
	o := newObject(96)
	o.Object()
	o.text("object", "response.input_tokens")
	o.integer("input_tokens", x.api.Tokens.Count(responses.PromptText(req.Request)))
	o.EndObject()
	return x.reply(&o)
}

// getResponse serves GET /v1/responses/{id}.
func (x *request) getResponse() error {
	if strings.EqualFold(x.r.URL.Query().Get("stream"), "true") {
		return fault.Field("httpapi.getResponse", "stream", "A stored response cannot be streamed. Leave stream out, and ask until the status is final.")
	}
	r, err := x.stored(x.values[0])
	if err != nil {
		return err
	}
	return x.replyStored(r)
}

// stored finds a response that the caller sees.
func (x *request) stored(id string) (*history.Response, error) {
	r, err := x.api.History.Find(x.context(), x.caller.User, id)
	if err == nil {
		err = x.sees(r.Key, history.NoResponse("httpapi.stored"))
	}
	return r, err
}

// lost is why a response failed whose node has stopped.
var lost = fault.New(fault.Draining, "httpapi.lost", "The node that made this response has stopped.")

func (x *request) replyStored(r *history.Response) error {
	if err := x.chargeStored(*r); err != nil {
		return err
	}
	var failure []byte
	if r.Status == history.Failed && bytes.Contains(r.Object, []byte(`"error":null`)) {
		failure = ResponsesFailure(lost, "")
	}
	x.writeBody(http.StatusOK, jsonType, responses.Restated(r.Object, string(r.Status), failure))
	return nil
}

// cancelResponse serves POST /v1/responses/{id}/cancel.
func (x *request) cancelResponse() error {
	if _, err := x.stored(x.values[0]); err != nil {
		return err
	}
	r, err := x.api.History.Cancel(x.context(), x.caller.User, x.values[0])
	if err != nil {
		return err
	}
	return x.replyStored(r)
}

// deleteResponse serves DELETE /v1/responses/{id}.
func (x *request) deleteResponse() error {
	id := x.values[0]
	if _, err := x.stored(id); err != nil {
		return err
	}
	if err := x.api.History.Delete(x.context(), x.caller.User, id); err != nil {
		return err
	}
	o := newObject(96)
	o.Object()
	o.text("id", id)
	o.text("object", "response.deleted")
	o.boolean("deleted", true)
	o.EndObject()
	return x.reply(&o)
}
