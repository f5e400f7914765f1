package batches

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"weir/internal/sim/chat"
	"weir/internal/sim/kit"
)

// validID reports whether a text can be a custom_id.
func validID(id string) bool {
	return id != "" && len(id) <= 64 && !strings.ContainsFunc(id, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-')
	})
}

// messages serves POST /v1/messages/batches.
func (s *Wires) messages(w http.ResponseWriter, r *http.Request) {
	s.HandleJSON(chat.MessagesWire, w, r, func(body []byte) *kit.Refusal {
		n, err := kit.Parse(body)
		if err != nil || !n.Is(kit.Object) || unknownField(n, "requests") != "" || !n.Get("requests").Is(kit.Array) || len(n.Get("requests").Items) == 0 {
			return wrong("requests: Field required")
		}
		path, _ := strings.CutSuffix(r.URL.Path, "/batches")
		j := &job{wire: "messages"}
		seen := map[string]bool{}
		for i := range n.Get("requests").Items {
			one := &n.Get("requests").Items[i]
			name := one.Get("custom_id").Str()
			if unknownField(one, "custom_id", "params") != "" || !validID(name) || seen[name] || !one.Get("params").Is(kit.Object) || one.Get("params").Get("stream").IsTrue() {
				return wrong(fmt.Sprintf("requests.%d: invalid", i))
			}
			seen[name] = true
			j.requests = append(j.requests, request{name, path, []byte(string(one.Get("params").Raw))})
		}
		return s.submit(w, j, "msgbatch_", s.viewMessages)
	})
}

// viewMessages is a batch as Anthropic writes it.
func (s *Wires) viewMessages(j *job) []byte {
	status, url, processing := "in_progress", "null", len(j.requests)
	switch {
	case j.ended:
		status, url, processing = "ended", text("/v1/messages/batches/"+j.id+"/results"), 0
	case j.cancelled:
		status = "canceling"
	}
	return fmt.Appendf(nil, `{"id":%s,"type":"message_batch","processing_status":%s,"request_counts":{"processing":%d,"succeeded":%d,"errored":0,"canceled":0,"expired":0},"ended_at":null,"created_at":%s,"expires_at":%s,"cancel_initiated_at":null,"archived_at":null,"results_url":%s}`,
		text(j.id), text(status), processing, len(j.requests)-processing, text(j.created.UTC().Format(time.RFC3339Nano)), text(j.created.Add(24*time.Hour).UTC().Format(time.RFC3339Nano)), url)
}

func (s *Wires) noMessages(w http.ResponseWriter) {
	s.Refuse(chat.MessagesWire, w, &kit.Refusal{Status: 404, Kind: "not_found_error", Message: "No such batch."})
}

func (s *Wires) listMessages(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	page, more := s.listed("messages", r.URL.Query().Get("after_id"), 2)
	body := []byte(`{"data":[`)
	for i, j := range page {
		s.look(j, r) // a list shows how far a batch is, too
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, s.viewMessages(j)...)
	}
	kit.SendJSON(w, 200, fmt.Appendf(body, `],"has_more":%t,"first_id":null,"last_id":null}`, more))
}

func (s *Wires) getMessages(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j := s.find("messages", r.PathValue("id"))
	if j == nil {
		s.noMessages(w)
		return
	}
	s.look(j, r)
	kit.SendJSON(w, 200, s.viewMessages(j))
}

// results serves GET /v1/messages/batches/{id}/results.
func (s *Wires) results(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j := s.find("messages", r.PathValue("id"))
	if j == nil || !j.ended {
		s.noMessages(w)
		return
	}
	w.Header().Set("Content-Type", "application/x-jsonl")
	for _, one := range j.results {
		body := `{"type":"expired"}`
		switch {
		case one.status == 0 && j.cancelled:
			body = `{"type":"canceled"}`
		case one.status == 0:
		case one.status == 200:
			body = `{"type":"succeeded","message":` + string(oneLine(one.body)) + `}`
		case one.status == 429:
			body = `{"type":"errored","error":{"type":"error","error":{"type":"rate_limit_error","message":"Rate limited"}}}`
		default:
			body = `{"type":"errored","error":` + string(oneLine(one.body)) + `}`
		}
		fmt.Fprintf(w, `{"custom_id":%s,"result":%s}`+"\n", text(one.name), body)
	}
	if s.faults.Unknown {
		fmt.Fprint(w, "no JSON\n{\"result\":5}\n")
	}
}

// deleteMessages serves DELETE /v1/messages/batches/{id}.
func (s *Wires) deleteMessages(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j := s.find("messages", r.PathValue("id"))
	switch {
	case j == nil:
		s.noMessages(w)
	case !j.ended:
		s.Refuse(chat.MessagesWire, w, wrong("Batches can only be deleted once they have finished processing."))
	default:
		s.jobs = slices.DeleteFunc(s.jobs, func(k *job) bool { return k == j })
		kit.SendJSON(w, 200, fmt.Appendf(nil, `{"id":%s,"type":"message_batch_deleted"}`, text(j.id)))
	}
}

func (s *Wires) cancelMessages(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j := s.find("messages", r.PathValue("id"))
	if j == nil {
		s.noMessages(w)
		return
	}
	if !j.ended {
		j.cancelled = true
		s.cancels++
	}
	kit.SendJSON(w, 200, s.viewMessages(j))
}
