package chat

import (
	"bytes"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"weir/internal/sim/kit"
)

// responsesWire is POST /v1/responses of OpenAI.
var responsesWire = &kit.Wire{
	Name: "responses", Phrases: &kit.OpenAIPhrases,
	ErrorBody:  (*kit.Refusal).JSON,
	Admit:      kit.ChatWire.Admit,
	ErrorFrame: responsesError,
	Stream:     kit.StreamType,
	Frame:      kit.SSE,
	TooLong:    "Your input exceeds the context window of this model. Please adjust your input and try again.",
	TextFrame: func(s string) kit.Frame {
		return kit.Frame{Event: "response.output_text.delta", Data: []byte(`{"type":"response.output_text.delta","sequence_number":9,"item_id":"msg_x","output_index":0,"content_index":0,"delta":"` + s + `","logprobs":[]}`)}
	},
	IdleFrame:  kit.Frame{Event: "keepalive", Data: []byte(`{"type":"keepalive","sequence_number":0}`)},
	Incomplete: []byte(`{"id":"resp_x","object":"response","created_at":1,"model":"m"}`),
}

// responsesError is an error inside a stream: as an event, or as the end of the response.
func responsesError(f *kit.Refusal, how string, n int) kit.Frame {
	if how == "failed" {
		dst := kit.AppendInt([]byte(`{"type":"response.failed","sequence_number":`), n)
		dst = append(dst, `,"response":{"id":"resp_x","object":"response","created_at":1,"status":"failed","output":[],"usage":null,"error":{"code":"server_error","message":`...)
		return kit.Frame{Event: "response.failed", Data: append(kit.AppendText(dst, f.Message), `}}}`...)}
	}
	dst := kit.AppendText([]byte(`{"type":"error","code":`), f.Kind)
	dst = kit.AppendText(append(dst, `,"message":`...), f.Message)
	return kit.Frame{Event: "error", Data: append(kit.AppendInt(append(dst, `,"param":null,"sequence_number":`...), n), '}')}
}

// responseStore stores the newest responses of requests with "store".
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

// response is a stored response. Only its state changes.
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
	reasoning := ""
	for _, raw := range slices.Concat(r.input, r.output) {
		n, err := kit.Parse(raw)
		if err != nil {
			continue
		}
		s.items[n.Get("id").Str()] = storedItem{raw, reasoning}
		if n.Get("type").Str() == "reasoning" {
			reasoning = n.Get("id").Str()
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

// now is the response in its present state.
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
func (s *Wires) responses(w http.ResponseWriter, r *http.Request) {
	started := time.Now()
	s.HandleJSON(responsesWire, w, r, func(body []byte) *kit.Refusal {
		q, refused := responsesRequest(&s.stored, body, false)
		if refused != nil {
			return refused
		}
		if q.background && !q.Request.Stream && q.Request.Knobs.Fault == "" {
			s.later(w, q)
			return nil
		}
		s.Answer(w, r, started, q.Request, func(answer *kit.Answer, now time.Time) *kit.Reply {
			out := &responsesReply{q: q, answer: answer, created: now}
			if q.store {
				s.stored.put(out.record())
			}
			return out.reply()
		})
		return nil
	})
}

// later answers a background request at once.
func (s *Wires) later(w http.ResponseWriter, q *responsesReader) {
	counts := s.Stats.Of(q.Request.Name)
	counts.Begin(false)
	defer counts.End(false)
	said := s.Reply(q.Request)
	out := &responsesReply{q: q, answer: &said, created: s.Config.Now()}
	rec := out.record()
	rec.background = true
	out.q.Root = detached(out.q.Root) // the request's bytes are used again for others
	rec.waiting = func(status string) []byte { return out.object(nil, status, "[]", false) }
	delay := q.Request.Knobs.Delay
	if delay == 0 {
		delay = s.Config.Delay
	}
	rec.ready = rec.created.Add(delay)
	s.stored.put(rec)
	kit.SendJSON(w, 200, rec.waiting("queued"))
}

// inputTokens serves POST /v1/responses/input_tokens.
func (s *Wires) inputTokens(w http.ResponseWriter, r *http.Request) {
	s.HandleJSON(responsesWire, w, r, func(body []byte) *kit.Refusal {
		q, refused := responsesRequest(&s.stored, body, true)
		if refused != nil {
			return refused
		}
		tokens, _ := q.Request.PromptTokens()
		kit.SendJSON(w, 200, append(kit.AppendInt([]byte(`{"object":"response.input_tokens","input_tokens":`), tokens), '}'))
		return nil
	})
}

// storedResponse is a stored response. Without one it answers 404 and returns nil.
func (s *Wires) storedResponse(w http.ResponseWriter, r *http.Request) *response {
	id := r.PathValue("id")
	stored := s.stored.get(id)
	if stored == nil {
		s.Refuse(responsesWire, w, &kit.Refusal{Status: 404, Kind: "invalid_request_error", Message: "Response with id '" + id + "' not found."})
	}
	return stored
}

func (s *Wires) getResponse(w http.ResponseWriter, r *http.Request) {
	stored := s.storedResponse(w, r)
	if stored == nil {
		return
	}
	if r.URL.Query().Get("stream") == "true" {
		s.Refuse(responsesWire, w, &kit.Refusal{Status: 400, Kind: "invalid_request_error", Param: "stream", Message: "This response cannot be streamed because it was not created with both `background=true` and `stream=true`."})
		return
	}
	kit.SendJSON(w, 200, s.stored.now(stored, s.Config.Now()))
}

func (s *Wires) deleteResponse(w http.ResponseWriter, r *http.Request) {
	if stored := s.storedResponse(w, r); stored != nil {
		s.stored.drop(stored.id)
		kit.SendJSON(w, 200, []byte(`{"id":"`+stored.id+`","object":"response.deleted","deleted":true}`))
	}
}

func (s *Wires) cancelResponse(w http.ResponseWriter, r *http.Request) {
	stored := s.storedResponse(w, r)
	if stored == nil {
		return
	}
	if !stored.background {
		s.Refuse(responsesWire, w, &kit.Refusal{Status: 400, Kind: "invalid_request_error", Message: "Cannot cancel a synchronous response."})
		return
	}
	now := s.Config.Now()
	s.stored.mu.Lock()
	stored.cancelled = stored.cancelled || now.Before(stored.ready)
	s.stored.mu.Unlock()
	kit.SendJSON(w, 200, s.stored.now(stored, now))
}

// inputItems serves the items of a response's request, newest first by default.
func (s *Wires) inputItems(w http.ResponseWriter, r *http.Request) {
	stored := s.storedResponse(w, r)
	if stored == nil {
		return
	}
	query := r.URL.Query()
	limit := 20
	if said := query.Get("limit"); said != "" {
		n, err := kit.ParseInt(said, 1, 100)
		if err != nil {
			s.Refuse(responsesWire, w, &kit.Refusal{Status: 400, Kind: "invalid_request_error", Code: "integer_out_of_range", Param: "limit", Message: "Invalid value for 'limit': expected a number from 1 to 100."})
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
	dst = kit.AppendText(append(dst, `,"first_id":`...), ends[0])
	dst = kit.AppendText(append(dst, `,"last_id":`...), ends[1])
	kit.SendJSON(w, 200, append(strconv.AppendBool(append(dst, `,"has_more":`...), more), '}'))
}

func raws(items []rawJSON) [][]byte {
	out := make([][]byte, len(items))
	for i := range items {
		out[i] = items[i]
	}
	return out
}

func idOf(item rawJSON) string {
	n, err := kit.Parse(item)
	if err != nil {
		return ""
	}
	return n.Get("id").Str()
}

// withID is an item with an id made from its place, when it came without.
func withID(item *kit.Node, response string, at int) rawJSON {
	if item.Given("id") != nil {
		return bytes.Clone(item.Raw)
	}
	prefix := map[string]string{"function_call": "fc_", "reasoning": "rs_", "function_call_output": "fco_", "custom_tool_call": "ctc_"}[item.Get("type").Str()]
	if prefix == "" {
		prefix = "msg_"
	}
	id := prefix + "in_" + strings.TrimPrefix(response, "resp_") + "_" + strconv.Itoa(at)
	return append(append(kit.AppendText([]byte(`{"id":`), id), ','), bytes.TrimLeft(item.Raw[1:], " \t\r\n")...)
}
