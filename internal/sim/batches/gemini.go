package batches

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"weir/internal/sim/chat"
	"weir/internal/sim/kit"
)

// GoogleMethod serves models/{model}:batchGenerateContent. It reports whether the method is that.
func (s *Wires) GoogleMethod(w http.ResponseWriter, r *http.Request, model, method string) bool {
	if method != "batchGenerateContent" {
		return false
	}
	s.HandleJSON(chat.GeminiWire, w, r, func(body []byte) *kit.Refusal {
		n, err := kit.Parse(body)
		if err != nil || !n.Is(kit.Object) || unknownField(n, "batch") != "" {
			return wrong("Invalid JSON payload received.")
		}
		b := n.Get("batch")
		list := b.Get("inputConfig").Get("requests").Get("requests")
		if unknownField(b, "displayName", "inputConfig") != "" || b.Get("displayName").Str() == "" || !list.Is(kit.Array) || len(list.Items) == 0 {
			return wrong("batch: displayName and inputConfig.requests.requests are required.")
		}
		j := &job{wire: "gemini", name: b.Get("displayName").Str()}
		path := strings.Replace(r.URL.Path, ":batchGenerateContent", ":generateContent", 1)
		for i := range list.Items {
			one := &list.Items[i]
			if unknownField(one, "request", "metadata") != "" || !one.Get("request").Is(kit.Object) {
				return wrong("A request is invalid.")
			}
			j.requests = append(j.requests, request{one.Get("metadata").Get("key").Str(), path, []byte(string(one.Get("request").Raw))})
		}
		return s.submit(w, j, "batches/", s.viewGemini)
	})
	return true
}

// viewGemini is the operation of a batch as Google writes it.
func (s *Wires) viewGemini(j *job) []byte {
	state, rest := "BATCH_STATE_RUNNING", ""
	if j.ended {
		state = "BATCH_STATE_SUCCEEDED"
		list := ""
		for i, one := range j.results {
			if i > 0 {
				list += ","
			}
			answer := `"error":{"code":1,"message":"The request was not made.","status":"CANCELLED"}`
			switch {
			case one.status == 200:
				answer = `"response":` + string(one.body)
			case one.status == 429:
				answer = `"error":{"code":8,"message":"Quota exceeded.","status":"RESOURCE_EXHAUSTED"}`
			case one.status != 0:
				answer = `"error":{"code":3,"message":"Invalid argument.","status":"INVALID_ARGUMENT"}`
			}
			list += `{"metadata":{"key":` + text(one.name) + `},` + answer + `}`
		}
		rest = `,"done":true,"response":{"@type":"type.googleapis.com/google.ai.generativelanguage.v1main.GenerateContentBatchOutput","inlinedResponses":{"inlinedResponses":[` + list + `]}}`
		switch {
		case j.cancelled:
			state = "BATCH_STATE_CANCELLED"
		case s.faults.Expires:
			state, rest = "BATCH_STATE_EXPIRED", `,"done":true,"error":{"code":4,"message":"The batch has expired."}`
		}
	}
	return fmt.Appendf(nil, `{"name":%s,"metadata":{"@type":"type.googleapis.com/google.ai.generativelanguage.v1main.GenerateContentBatch","displayName":%s,"state":%s}%s}`, text(j.id), text(j.name), text(state), rest)
}

func (s *Wires) noGemini(w http.ResponseWriter) {
	s.Refuse(chat.GeminiWire, w, &kit.Refusal{Status: 404, Message: "Batch not found."})
}

func (s *Wires) listGemini(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	page, more := s.listed("gemini", r.URL.Query().Get("pageToken"), 2)
	body := []byte(`{"operations":[`)
	for i, j := range page {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, s.viewGemini(j)...)
	}
	token := ""
	if more {
		token = page[len(page)-1].id
	}
	kit.SendJSON(w, 200, fmt.Appendf(body, `],"nextPageToken":%s}`, text(token)))
}

func (s *Wires) getGemini(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j := s.find("gemini", "batches/"+r.PathValue("call"))
	if j == nil {
		s.noGemini(w)
		return
	}
	s.look(j, r)
	kit.SendJSON(w, 200, s.viewGemini(j))
}

// deleteGemini serves DELETE /v1beta/batches/{call}, whether the batch has ended or not.
func (s *Wires) deleteGemini(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j := s.find("gemini", "batches/"+r.PathValue("call"))
	switch {
	case j == nil:
		s.noGemini(w)
	default:
		s.jobs = slices.DeleteFunc(s.jobs, func(k *job) bool { return k == j })
		kit.SendJSON(w, 200, []byte(`{}`))
	}
}

func (s *Wires) cancelGemini(w http.ResponseWriter, r *http.Request) {
	id, ok := strings.CutSuffix(r.PathValue("call"), ":cancel")
	s.mu.Lock()
	defer s.mu.Unlock()
	j := s.find("gemini", "batches/"+id)
	if j == nil || !ok {
		s.noGemini(w)
		return
	}
	if !j.ended {
		j.cancelled = true
		s.cancels++
	}
	kit.SendJSON(w, 200, []byte(`{}`))
}
