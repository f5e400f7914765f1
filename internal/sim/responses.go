package sim

import (
	"bytes"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// responsesWire is POST /v1/responses of OpenAI.
var responsesWire = &wire{
	name: "responses", say: &openAIPhrases,
	fail:    (*refusal).json,
	admit:   chatWire.admit,
	inside:  responsesError,
	stream:  streamType,
	frame:   sse,
	tooLong: "Your input exceeds the context window of this model. Please adjust your input and try again.",
	text: func(s string) frame {
		return frame{event: "response.output_text.delta", data: []byte(`{"type":"response.output_text.delta","sequence_number":9,"item_id":"msg_x","output_index":0,"content_index":0,"delta":"` + s + `","logprobs":[]}`)}
	},
	idle:      frame{event: "keepalive", data: []byte(`{"type":"keepalive","sequence_number":0}`)},
	shapeless: []byte(`{"id":"resp_x","object":"response","created_at":1,"model":"m"}`),
}

// responsesError is an error inside a stream: as an event of its own, or as the end of the response.
func responsesError(f *refusal, how string, n int) frame {
	if how == "failed" {
		dst := appendInt([]byte(`{"type":"response.failed","sequence_number":`), n)
		dst = append(dst, `,"response":{"id":"resp_x","object":"response","created_at":1,"status":"failed","output":[],"usage":null,"error":{"code":"server_error","message":`...)
		return frame{event: "response.failed", data: append(appendText(dst, f.message), `}}}`...)}
	}
	dst := appendText([]byte(`{"type":"error","code":`), f.kind)
	dst = appendText(append(dst, `,"message":`...), f.message)
	return frame{event: "error", data: append(appendInt(append(dst, `,"param":null,"sequence_number":`...), n), '}')}
}

// responseStore keeps the newest responses, as those who ask for it to be stored expect.
type responseStore struct {
	mu    sync.Mutex
	byID  map[string]*response
	items map[string]storedItem
	order []string
}

type storedItem struct {
	raw       rawJSON
	reasoning string // id of the reasoning before it, in the same response
}

const maxResponses = 4096

// response is a stored one. It does not change but for its state.
type response struct {
	id     string
	input  []rawJSON // items of the request itself
	before []rawJSON // items of the responses before it
	output []rawJSON
	body   []byte // when it is complete

	background bool
	created    time.Time
	ready      time.Time // background: when it is complete
	waiting    func(status string) []byte
	cancelled  bool
}

// rawJSON is one value as written.
type rawJSON []byte

func (s *responseStore) put(r *response) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byID == nil {
		s.byID, s.items = make(map[string]*response), make(map[string]storedItem)
	}
	s.remove(r.id)
	s.byID[r.id], s.order = r, append(s.order, r.id)
	thought := ""
	for _, raw := range slices.Concat(r.input, r.output) {
		n, err := parse(raw)
		if err != nil {
			continue
		}
		s.items[n.get("id").str()] = storedItem{raw, thought}
		if n.get("type").str() == "reasoning" {
			thought = n.get("id").str()
		}
	}
	if len(s.order) > maxResponses {
		s.remove(s.order[0])
	}
}

// remove forgets a response and its items; false when it was not there.
func (s *responseStore) remove(id string) bool {
	r := s.byID[id]
	if r == nil {
		return false
	}
	for _, raw := range slices.Concat(r.input, r.output) {
		delete(s.items, idOf(raw))
	}
	delete(s.byID, id)
	s.order = slices.DeleteFunc(s.order, func(have string) bool { return have == id })
	return true
}

func (s *responseStore) get(id string) *response {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byID[id]
}

func (s *responseStore) drop(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.remove(id)
}

func (s *responseStore) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.byID, s.items, s.order = nil, nil, nil
}

// item is one of the stored items by its id, and the id of the reasoning that came before it in its response.
func (s *responseStore) item(id string) (item rawJSON, reasoning string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.items[id]
	return found.raw, found.reasoning
}

// now is the response as it stands.
func (s *responseStore) now(r *response, at time.Time) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case r.cancelled:
		return r.waiting("cancelled")
	case r.background && at.Before(r.ready):
		return r.waiting("in_progress")
	}
	return r.body
}

// responses serves POST /v1/responses.
func (s *chatWires) responses(w http.ResponseWriter, r *http.Request) {
	started := time.Now()
	s.take(responsesWire, w, r, func(body []byte) *refusal {
		q, refused := responsesRequest(&s.stored, body, false)
		if refused != nil {
			return refused
		}
		if q.background && !q.ask.stream && q.ask.knobs.fault == "" {
			s.later(w, q)
			return nil
		}
		s.answer(w, r, started, q.ask, func(answer *answer, now time.Time) *reply {
			out := &responsesReply{q: q, answer: answer, created: now}
			if q.store {
				s.stored.put(out.record())
			}
			return out.reply()
		})
		return nil
	})
}

// later answers at once to a request that is to be worked on in the background.
func (s *chatWires) later(w http.ResponseWriter, q *responsesReader) {
	counts := s.stats.of(q.ask.name)
	counts.begin(false)
	defer counts.end(false)
	said := s.reply(q.ask)
	out := &responsesReply{q: q, answer: &said, created: s.config.Now()}
	rec := out.record()
	rec.background = true
	out.q.root = detached(out.q.root) // the request's bytes are used again for others
	rec.waiting = func(status string) []byte { return out.object(nil, status, "[]", false) }
	delay := q.ask.knobs.delay
	if delay == 0 {
		delay = s.config.Delay
	}
	rec.ready = rec.created.Add(delay)
	s.stored.put(rec)
	sendJSON(w, 200, rec.waiting("queued"))
}

// inputTokens serves POST /v1/responses/input_tokens.
func (s *chatWires) inputTokens(w http.ResponseWriter, r *http.Request) {
	s.take(responsesWire, w, r, func(body []byte) *refusal {
		q, refused := responsesRequest(&s.stored, body, true)
		if refused != nil {
			return refused
		}
		tokens, _ := q.ask.promptTokens()
		sendJSON(w, 200, append(appendInt([]byte(`{"object":"response.input_tokens","input_tokens":`), tokens), '}'))
		return nil
	})
}

// found is a stored response, nil when there is none, which the client is told.
func (s *chatWires) storedResponse(w http.ResponseWriter, r *http.Request) *response {
	id := r.PathValue("id")
	stored := s.stored.get(id)
	if stored == nil {
		s.refuse(responsesWire, w, &refusal{status: 404, kind: "invalid_request_error", message: "Response with id '" + id + "' not found."})
	}
	return stored
}

func (s *chatWires) getResponse(w http.ResponseWriter, r *http.Request) {
	stored := s.storedResponse(w, r)
	if stored == nil {
		return
	}
	if r.URL.Query().Get("stream") == "true" {
		s.refuse(responsesWire, w, &refusal{status: 400, kind: "invalid_request_error", param: "stream", message: "This response cannot be streamed because it was not created with both `background=true` and `stream=true`."})
		return
	}
	sendJSON(w, 200, s.stored.now(stored, s.config.Now()))
}

func (s *chatWires) deleteResponse(w http.ResponseWriter, r *http.Request) {
	if stored := s.storedResponse(w, r); stored != nil {
		s.stored.drop(stored.id)
		sendJSON(w, 200, []byte(`{"id":"`+stored.id+`","object":"response.deleted","deleted":true}`))
	}
}

func (s *chatWires) cancelResponse(w http.ResponseWriter, r *http.Request) {
	stored := s.storedResponse(w, r)
	if stored == nil {
		return
	}
	if !stored.background {
		s.refuse(responsesWire, w, &refusal{status: 400, kind: "invalid_request_error", message: "Cannot cancel a synchronous response."})
		return
	}
	now := s.config.Now()
	s.stored.mu.Lock()
	stored.cancelled = stored.cancelled || now.Before(stored.ready)
	s.stored.mu.Unlock()
	sendJSON(w, 200, s.stored.now(stored, now))
}

// inputItems serves the items of a response's request, newest first unless told.
func (s *chatWires) inputItems(w http.ResponseWriter, r *http.Request) {
	stored := s.storedResponse(w, r)
	if stored == nil {
		return
	}
	query := r.URL.Query()
	limit := 20
	if said := query.Get("limit"); said != "" {
		n, err := among(said, 1, 100)
		if err != nil {
			s.refuse(responsesWire, w, &refusal{status: 400, kind: "invalid_request_error", code: "integer_out_of_range", param: "limit", message: "Invalid value for 'limit': expected a number from 1 to 100."})
			return
		}
		limit = n
	}
	items := slices.Clone(stored.input)
	if query.Get("order") != "asc" {
		slices.Reverse(items)
	}
	if after := query.Get("after"); after != "" {
		for i := range items {
			if idOf(items[i]) == after {
				items = items[i+1:]
				break
			}
		}
	}
	more := len(items) > limit
	items = items[:min(limit, len(items))]
	dst := append(append([]byte(`{"object":"list","data":[`), bytes.Join(raws(items), []byte{','})...), ']')
	ends := [2]string{}
	if len(items) > 0 {
		ends = [2]string{idOf(items[0]), idOf(items[len(items)-1])}
	}
	dst = appendText(append(dst, `,"first_id":`...), ends[0])
	dst = appendText(append(dst, `,"last_id":`...), ends[1])
	sendJSON(w, 200, append(strconv.AppendBool(append(dst, `,"has_more":`...), more), '}'))
}

func raws(items []rawJSON) [][]byte {
	out := make([][]byte, len(items))
	for i := range items {
		out[i] = items[i]
	}
	return out
}

func idOf(item rawJSON) string {
	n, err := parse(item)
	if err != nil {
		return ""
	}
	return n.get("id").str()
}

// withID is an item with an id of its own, made from its place, when it came without.
func withID(item *node, response string, at int) rawJSON {
	if item.given("id") != nil {
		return bytes.Clone(item.raw)
	}
	prefix := map[string]string{"function_call": "fc_", "reasoning": "rs_", "function_call_output": "fco_", "custom_tool_call": "ctc_"}[item.get("type").str()]
	if prefix == "" {
		prefix = "msg_"
	}
	id := prefix + "in_" + strings.TrimPrefix(response, "resp_") + "_" + strconv.Itoa(at)
	return append(append(appendText([]byte(`{"id":`), id), ','), bytes.TrimLeft(item.raw[1:], " \t\r\n")...)
}
