package batches

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"

	"weir/internal/sim/kit"
)

func wrong(message string) *kit.Refusal {
	return &kit.Refusal{Status: 400, Kind: "invalid_request_error", Message: message}
}

func noBatch(id string) *kit.Refusal {
	return &kit.Refusal{Status: 404, Kind: "invalid_request_error", Message: "No batch found with id '" + id + "'."}
}

// upload serves POST /v1/files.
func (s *Wires) upload(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, s.Config.MaxBodyBytes)
	if err := r.ParseMultipartForm(1 << 20); err != nil {
		s.Refuse(kit.ChatWire, w, wrong("The body is no form."))
		return
	}
	sent, head, err := r.FormFile("file")
	if err != nil || r.FormValue("purpose") != "batch" || len(r.MultipartForm.Value) != 1 || len(r.MultipartForm.File) != 1 {
		s.Refuse(kit.ChatWire, w, wrong("A file and the purpose 'batch' are required."))
		return
	}
	content, _ := io.ReadAll(sent)
	s.mu.Lock()
	id := s.add(head.Filename, "batch", content)
	s.mu.Unlock()
	kit.SendJSON(w, 200, fmt.Appendf(nil, `{"id":%s,"object":"file","bytes":%d,"created_at":%d,"filename":"x.jsonl","purpose":"batch"}`, text(id), len(content), s.Config.Now().Unix()))
}

// add makes a file. The lock is held.
func (s *Wires) add(name, purpose string, content []byte) (id string) {
	id = s.id("file-")
	s.files[id] = &file{name, purpose, content, s.next, s.Config.Now()}
	return id
}

var noFile = &kit.Refusal{Status: 404, Kind: "invalid_request_error", Message: "No such File object."}

// listFiles serves GET /v1/files: the newest first, two on a page.
func (s *Wires) listFiles(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := r.URL.Query()
	below := s.next + 1
	if after := s.files[q.Get("after")]; after != nil {
		below = after.at
	} else if q.Get("after") != "" {
		s.Refuse(kit.ChatWire, w, noFile)
		return
	}
	ids := slices.SortedFunc(maps.Keys(s.files), func(a, b string) int { return s.files[b].at - s.files[a].at })
	body, n, more := []byte(`{"object":"list","data":[`), 0, false
	for _, id := range ids {
		f := s.files[id]
		if f.at >= below || q.Get("purpose") != "" && q.Get("purpose") != f.purpose {
			continue
		}
		if more = n == 2; more {
			break
		}
		if n++; n > 1 {
			body = append(body, ',')
		}
		body = fmt.Appendf(body, `{"id":%s,"object":"file","bytes":%d,"created_at":%d,"filename":%s,"purpose":%s}`, text(id), len(f.content), f.created.Unix(), text(f.name), text(f.purpose))
	}
	kit.SendJSON(w, 200, fmt.Appendf(body, `],"has_more":%t}`, more))
}

// deleteFile serves DELETE /v1/files/{id}. The input of a batch that runs stays.
func (s *Wires) deleteFile(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := r.PathValue("id")
	switch {
	case s.files[id] == nil:
		s.Refuse(kit.ChatWire, w, noFile)
	case slices.ContainsFunc(s.jobs, func(j *job) bool { return j.input == id && !j.ended }):
		s.Refuse(kit.ChatWire, w, wrong("The file is in use."))
	default:
		delete(s.files, id)
		kit.SendJSON(w, 200, fmt.Appendf(nil, `{"id":%s,"object":"file","deleted":true}`, text(id)))
	}
}

// content serves GET /v1/files/{id}/content.
func (s *Wires) content(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	f := s.files[r.PathValue("id")]
	s.mu.Unlock()
	if f == nil {
		s.Refuse(kit.ChatWire, w, noFile)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	_, _ = w.Write(f.content)
}

// openAI serves POST /v1/batches.
func (s *Wires) openAI(w http.ResponseWriter, r *http.Request) {
	s.HandleJSON(kit.ChatWire, w, r, func(body []byte) *kit.Refusal {
		n, err := kit.Parse(body)
		if err != nil || !n.Is(kit.Object) {
			return wrong("The body must be a JSON object.")
		}
		if name := unknownField(n, "input_file_id", "endpoint", "completion_window", "metadata"); name != "" {
			return wrong("Unknown parameter: '" + name + "'.")
		}
		j := &job{wire: "openai", endpoint: n.Get("endpoint").Str(), input: n.Get("input_file_id").Str(), name: n.Get("metadata").Get("weir_part").Str()}
		if n.Get("completion_window").Str() != "24h" || j.endpoint != "/v1/chat/completions" && j.endpoint != "/v1/responses" {
			return wrong("Invalid completion_window or endpoint.")
		}
		s.mu.Lock()
		f := s.files[j.input]
		s.mu.Unlock()
		if f == nil {
			return wrong("Invalid file id.")
		}
		seen := map[string]bool{}
		for _, line := range bytes.Split(bytes.TrimSuffix(f.content, []byte{'\n'}), []byte{'\n'}) {
			one, err := kit.Parse(bytes.Clone(line))
			if err != nil || unknownField(one, "custom_id", "method", "url", "body") != "" || one.Get("method").Str() != "POST" || one.Get("url").Str() != j.endpoint ||
				!one.Get("body").Is(kit.Object) || one.Get("custom_id").Str() == "" || seen[one.Get("custom_id").Str()] || one.Get("body").Get("stream").IsTrue() {
				return wrong("A line of the file is invalid.")
			}
			seen[one.Get("custom_id").Str()] = true
			j.requests = append(j.requests, request{one.Get("custom_id").Str(), j.endpoint, one.Get("body").Raw})
		}
		return s.submit(w, j, "batch_", s.viewOpenAI)
	})
}

// viewOpenAI is a batch as OpenAI writes it.
func (s *Wires) viewOpenAI(j *job) []byte {
	status := "in_progress"
	switch {
	case j.ended && j.cancelled:
		status = "cancelled"
	case j.ended && s.faults.Expires:
		status = "expired"
	case j.ended:
		status = "completed"
	case j.cancelled:
		status = "cancelling"
	}
	return fmt.Appendf(nil, `{"id":%s,"object":"batch","endpoint":%s,"errors":null,"input_file_id":%s,"completion_window":"24h","status":%s,"output_file_id":%s,"error_file_id":%s,"created_at":%d,"request_counts":{"total":%d,"completed":0,"failed":0},"metadata":{"weir_part":%s}}`,
		text(j.id), text(j.endpoint), text(j.input), text(status), textOrNull(j.output), textOrNull(j.errors), j.created.Unix(), len(j.requests), text(j.name))
}

// written puts the results of a batch that has ended into files. The lock is held.
func (s *Wires) written(j *job) {
	if !j.ended || j.output != "" || j.errors != "" {
		return
	}
	var output, failed []byte
	for i, one := range j.results {
		line := fmt.Appendf(nil, `{"id":"batch_req_%d","custom_id":%s,`, i, text(one.name))
		switch {
		case one.status == 0:
			failed = append(append(failed, line...), `"response":null,"error":{"code":"batch_expired","message":"This request could not be executed before the completion window expired."}}`+"\n"...)
		case one.status == 200:
			output = append(append(output, line...), fmt.Sprintf(`"response":{"status_code":200,"request_id":"r","body":%s},"error":null}`+"\n", oneLine(one.body))...)
		default:
			failed = append(append(failed, line...), fmt.Sprintf(`"response":{"status_code":%d,"request_id":"r","body":%s},"error":null}`+"\n", one.status, oneLine(one.body))...)
		}
	}
	if s.faults.Unknown {
		output = append(output, "no JSON\n{\"custom_id\":5}\n[]\n"...)
	}
	for _, x := range []struct {
		to      *string
		content []byte
	}{{&j.output, output}, {&j.errors, failed}} {
		if len(x.content) > 0 {
			*x.to = s.add(j.id+".jsonl", "batch_output", x.content)
		}
	}
}

func (s *Wires) listOpenAI(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	page, more := s.listed("openai", r.URL.Query().Get("after"), 2)
	body := []byte(`{"object":"list","data":[`)
	for i, j := range page {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, s.viewOpenAI(j)...)
	}
	kit.SendJSON(w, 200, fmt.Appendf(body, `],"has_more":%t}`, more))
}

func (s *Wires) getOpenAI(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j := s.find("openai", r.PathValue("id"))
	if j == nil {
		s.Refuse(kit.ChatWire, w, noBatch(r.PathValue("id")))
		return
	}
	s.look(j, r)
	s.written(j)
	kit.SendJSON(w, 200, s.viewOpenAI(j))
}

func (s *Wires) cancelOpenAI(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j := s.find("openai", r.PathValue("id"))
	switch {
	case j == nil:
		s.Refuse(kit.ChatWire, w, noBatch(r.PathValue("id")))
	case j.ended:
		s.Refuse(kit.ChatWire, w, &kit.Refusal{Status: 409, Kind: "invalid_request_error", Message: "The batch has ended."})
	default:
		j.cancelled = true
		s.cancels++
		kit.SendJSON(w, 200, s.viewOpenAI(j))
	}
}
