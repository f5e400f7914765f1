// Package batches has the wires for batches of requests: OpenAI's files and batches, Anthropic's message batches, and Gemini's
// batchGenerateContent. Each request is answered by the wire that it is for. It must not know what those answers are.
package batches

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"weir/internal/sim/chat"
	"weir/internal/sim/kit"
)

// Faults are what goes wrong with batches. The zero value is a provider without any.
type Faults struct {
	Submit  Submit
	Polls   int    // how often a batch is not ready yet
	Never   bool   // it never ends
	Expires bool   // it ends without an answer to any request
	Twice   bool   // each result is there twice
	Missing bool   // every second result is not there
	Unknown bool   // results also have requests that were not sent, and lines that are not JSON
	Errors  bool   // every second request fails with 429
	Usage   string // JSON that replaces the usage of each answer, "" not
}

// Submit is what happens to the request that makes a batch.
type Submit int

// The outcomes.
const (
	Accepted   Submit = iota
	Refused           // with 400
	Failed            // with 500, and there is no batch
	LostAnswer        // the connection breaks after the batch was made
	LostAsk           // the connection breaks before
)

// Wires are the wires of this package.
type Wires struct {
	*kit.Host
	serve http.Handler

	mu      sync.Mutex
	faults  Faults
	files   map[string]*file
	jobs    []*job // the oldest first
	next    int
	made    int
	cancels int
}

// file is a file of OpenAI's wire.
type file struct {
	name, purpose string
	content       []byte
	at            int // its place in the order of making
	created       time.Time
}

// job is a batch.
type job struct {
	id, wire, name  string
	endpoint, input string
	created         time.Time
	requests        []request
	looks           int
	cancelled       bool
	ended           bool
	results         []result
	output, errors  string // files of OpenAI's wire
}

type request struct {
	name string
	path string
	body []byte
}

type result struct {
	name   string
	status int // 0: not made
	body   []byte
}

// New makes the wires. serve answers the requests.
func New(h *kit.Host, serve http.Handler) *Wires {
	return &Wires{Host: h, serve: serve, files: map[string]*file{}}
}

// Mount adds the routes.
func (s *Wires) Mount(m *kit.Routes) {
	m.AddAll(kit.ChatWire, "/v1/files", map[string]http.HandlerFunc{"POST": s.upload, "GET": s.listFiles})
	m.Add(kit.ChatWire, "DELETE", "/v1/files/{id}", s.deleteFile)
	m.Add(kit.ChatWire, "GET", "/v1/files/{id}/content", s.content)
	m.AddAll(kit.ChatWire, "/v1/batches", map[string]http.HandlerFunc{"POST": s.openAI, "GET": s.listOpenAI})
	m.Add(kit.ChatWire, "GET", "/v1/batches/{id}", s.getOpenAI)
	m.Add(kit.ChatWire, "POST", "/v1/batches/{id}/cancel", s.cancelOpenAI)
	for _, base := range [...]string{"", "/anthropic"} {
		m.AddAll(chat.MessagesWire, base+"/v1/messages/batches", map[string]http.HandlerFunc{"POST": s.messages, "GET": s.listMessages})
		m.AddAll(chat.MessagesWire, base+"/v1/messages/batches/{id}", map[string]http.HandlerFunc{"GET": s.getMessages, "DELETE": s.deleteMessages})
		m.Add(chat.MessagesWire, "GET", base+"/v1/messages/batches/{id}/results", s.results)
		m.Add(chat.MessagesWire, "POST", base+"/v1/messages/batches/{id}/cancel", s.cancelMessages)
	}
	m.Add(chat.GeminiWire, "GET", "/v1beta/batches", s.listGemini)
	m.AddAll(chat.GeminiWire, "/v1beta/batches/{call}", map[string]http.HandlerFunc{"GET": s.getGemini, "POST": s.cancelGemini, "DELETE": s.deleteGemini})
}

// SetFaults sets what goes wrong from now on.
func (s *Wires) SetFaults(f Faults) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = f
}

// Counts returns how many batches were made, and cancelled.
func (s *Wires) Counts() (made, cancelled int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.made, s.cancels
}

// Kept returns how many files and batches with content there are: a batch of OpenAI's wire has its content in files.
func (s *Wires) Kept() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, j := range s.jobs {
		if j.wire != "openai" {
			n++
		}
	}
	return n + len(s.files)
}

// Reset forgets batches, files and faults.
func (s *Wires) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults, s.files, s.jobs, s.made, s.cancels = Faults{}, map[string]*file{}, nil, 0, 0
}

func (s *Wires) id(prefix string) string {
	s.next++
	return fmt.Sprintf("%s%024d", prefix, s.next)
}

// submit makes a batch, or does what the faults say. reply is called with the lock held, and its bytes are sent without it.
func (s *Wires) submit(w http.ResponseWriter, j *job, prefix string, reply func(*job) []byte) *kit.Refusal {
	s.mu.Lock()
	f := s.faults.Submit
	if f == Accepted || f == LostAnswer {
		j.id, j.created = s.id(prefix), s.Config.Now()
		s.jobs = append(s.jobs, j)
		s.made++
	}
	var body []byte
	if f == Accepted {
		body = reply(j)
	}
	s.mu.Unlock()
	switch f {
	case Refused:
		return &kit.Refusal{Status: 400, Kind: "invalid_request_error", Message: "The batch is refused."}
	case Failed:
		return &kit.Refusal{Status: 500, Kind: "server_error", Message: "The server had an error."}
	case LostAnswer, LostAsk:
		panic(http.ErrAbortHandler)
	}
	kit.SendJSON(w, 200, body)
	return nil
}

// find returns a batch of a wire, nil without one. The lock is held.
func (s *Wires) find(wire, id string) *job {
	for _, j := range s.jobs {
		if j.wire == wire && j.id == id {
			return j
		}
	}
	return nil
}

// look has a batch go on by one step. The lock is held, except while requests are answered.
func (s *Wires) look(j *job, r *http.Request) {
	if j.ended {
		return
	}
	j.looks++
	f := s.faults
	if !j.cancelled && (f.Never || j.looks <= f.Polls) {
		return
	}
	cancelled := j.cancelled
	s.mu.Unlock()
	var out []result
	for i, q := range j.requests {
		one := result{name: q.name}
		switch {
		case f.Expires, cancelled && i%2 == 1:
		case f.Errors && i%2 == 1:
			one.status, one.body = 429, []byte(`{"error":{"message":"Rate limit reached for requests","type":"requests","param":null,"code":"rate_limit_exceeded"}}`)
		default:
			one.status, one.body = s.answer(&q, r)
			if f.Usage != "" && one.status == 200 {
				one.body = replaceUsage(one.body, f.Usage)
			}
		}
		if f.Missing && i%2 == 0 {
			continue
		}
		out = append(out, one)
		if f.Twice {
			out = append(out, one)
		}
	}
	if f.Unknown {
		out = append(out, result{name: "stranger-1", status: 200, body: []byte(`{}`)}, result{name: "bp_x-99999999999999999999", status: 200, body: []byte(`{}`)})
	}
	s.mu.Lock()
	if !j.ended {
		j.ended, j.results = true, out
	}
}

// answer has a request answered by its wire, with the credentials of the one that asks for the batch.
func (s *Wires) answer(q *request, by *http.Request) (int, []byte) {
	r := httptest.NewRequest("POST", q.path, bytes.NewReader(q.body))
	for name, values := range by.Header {
		if name != "Content-Length" && name != "Content-Type" && name != "Accept-Encoding" {
			r.Header[name] = values
		}
	}
	r.URL.RawQuery = by.URL.Query().Encode()
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	func() {
		defer func() {
			if p := recover(); p != nil {
				w.Code = 500
				w.Body.Reset()
				w.Body.WriteString(`{"error":{"message":"The server had an error.","type":"server_error","param":null,"code":null}}`)
			}
		}()
		s.serve.ServeHTTP(w, r)
	}()
	return w.Code, w.Body.Bytes()
}

// replaceUsage puts other counts into an answer.
func replaceUsage(body []byte, usage string) []byte {
	n, err := kit.Parse(body)
	if err != nil {
		return body
	}
	for _, name := range []string{"usage", "usageMetadata"} {
		if u := n.Get(name); u != nil {
			return bytes.Replace(body, u.Raw, []byte(usage), 1)
		}
	}
	return body
}

func text(v string) string { return string(kit.AppendText(nil, v)) }

func textOrNull(v string) string {
	if v == "" {
		return "null"
	}
	return text(v)
}

func oneLine(b []byte) []byte { return kit.AppendCompact(nil, b) }

// listed returns a page of the batches of a wire, the newest first, after one of them. The lock is held.
func (s *Wires) listed(wire, after string, most int) (page []*job, more bool) {
	skip := after != ""
	for i := len(s.jobs) - 1; i >= 0; i-- {
		j := s.jobs[i]
		switch {
		case j.wire != wire:
		case skip:
			skip = j.id != after
		case len(page) == most:
			return page, true
		default:
			page = append(page, j)
		}
	}
	return page, false
}

func unknownField(n *kit.Node, known ...string) string {
	for _, name := range n.Names {
		if !strings.Contains(" "+strings.Join(known, " ")+" ", " "+name+" ") {
			return name
		}
	}
	return ""
}
