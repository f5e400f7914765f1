package world_test

import (
	"encoding/json"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/app/apptest"
)

// reply is what the scripted provider answers.
type reply struct {
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"`
	Body    json.RawMessage   `json:"body"`
	Stream  []json.RawMessage `json:"stream"` // frames; a string is sent as it stands
	Named   bool              `json:"named"`  // frames have an event line with their type
	Done    bool              `json:"done"`   // "[DONE]" ends the stream
	Routes  []struct {
		When string `json:"when"` // matches "METHOD path"
		reply
	} `json:"routes"`
}

// got is a request as the provider got it.
type got struct {
	Provider string // the first part of the path
	Method   string
	Path     string
	Header   http.Header
	Body     []byte
}

// provider is a scripted provider on loopback.
type provider struct {
	URL string

	mu    sync.Mutex
	reply *reply // nil: a plain good answer of the wire
	seen  []got
}

func startProvider(t *testing.T) *provider {
	t.Helper()
	p := &provider{}
	server := &http.Server{Handler: p, ReadHeaderTimeout: time.Minute}
	l := apptest.Listen(t)
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	p.URL = "http://" + l.Addr().String()
	return p
}

// script says what is answered from now on. Unless it goes on, what was seen before is forgotten.
func (p *provider) script(r *reply, goOn bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reply = r; !goOn {
		p.seen = nil
	}
}

// asked are the POST requests so far that ask for an answer.
func (p *provider) asked() (list []got) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, g := range p.seen {
		if g.Method == http.MethodPost && !strings.HasSuffix(g.Path, "/oauth") {
			list = append(list, g)
		}
	}
	return list
}

func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	p.mu.Lock()
	p.seen = append(p.seen, got{name, r.Method, r.URL.Path, r.Header.Clone(), body})
	answer := p.reply
	p.mu.Unlock()
	if answer != nil {
		for i := range answer.Routes {
			if regexp.MustCompile(answer.Routes[i].When).MatchString(r.Method + " " + r.URL.Path) {
				answer.Routes[i].send(w)
				return
			}
		}
	}
	if answer == nil || answer.Routes != nil || r.Method != http.MethodPost || strings.HasSuffix(r.URL.Path, "/oauth") {
		plain(w, r)
		return
	}
	answer.send(w)
}

func (r *reply) send(w http.ResponseWriter) {
	status := r.Status
	if status == 0 {
		status = http.StatusOK
	}
	if r.Stream == nil {
		w.Header().Set("Content-Type", "application/json")
	} else {
		w.Header().Set("Content-Type", "text/event-stream")
	}
	for name, value := range r.Headers {
		w.Header().Set(name, value)
	}
	w.WriteHeader(status)
	if r.Stream == nil {
		_, _ = w.Write(r.Body)
		return
	}
	for _, f := range r.Stream {
		var data string
		if json.Unmarshal(f, &data) != nil {
			data = string(f)
			if r.Named {
				var typed struct{ Type string }
				_ = json.Unmarshal(f, &typed)
				data = "event: " + typed.Type + "\ndata: " + data
			}
		}
		if !strings.HasPrefix(data, "event: ") {
			data = "data: " + data
		}
		_, _ = io.WriteString(w, data+"\n\n")
		_ = http.NewResponseController(w).Flush()
	}
	if r.Done {
		_, _ = io.WriteString(w, "data: [DONE]\n\n")
	}
}

// plain answers as a provider of the wire does when nothing is special.
func plain(w http.ResponseWriter, r *http.Request) {
	answers := []struct{ when, body string }{
		{`/oauth$`, `{"access_token":"token","expires_at":4102444800000}`},
		{`/content$`, "\x00\x00\x00\x18ftypmp42\x00\x00\x00\x00mp42isom\x00\x00\x00\x08mdat"},
		{`/videos`, `{"id":"video_1","object":"video","model":"sora-2","status":"completed","progress":100,"created_at":1760000000,"completed_at":1760000001,"seconds":"4","size":"1280x720"}`},
		{`/chat/completions$`, `{"id":"c1","object":"chat.completion","created":1760000000,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}],"usage":{"prompt_tokens":11,"completion_tokens":7,"total_tokens":18}}`},
		{`/responses$`, `{"id":"resp_1","object":"response","created_at":1760000000,"status":"completed","model":"m","output":[{"type":"message","id":"msg_1","status":"completed","role":"assistant","content":[{"type":"output_text","text":"ok","annotations":[]}]}],"usage":{"input_tokens":11,"output_tokens":7,"total_tokens":18}}`},
		{`/messages$`, `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"ok"}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":11,"output_tokens":7}}`},
		{`enerateContent$`, `{"candidates":[{"content":{"role":"model","parts":[{"text":"ok"}]},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":11,"candidatesTokenCount":7,"totalTokenCount":18},"modelVersion":"m"}`},
		{`/converse(-stream)?$`, `{"output":{"message":{"role":"assistant","content":[{"text":"ok"}]}},"stopReason":"end_turn","usage":{"inputTokens":11,"outputTokens":7,"totalTokens":18},"metrics":{"latencyMs":1}}`},
		{`/embeddings$`, `{"object":"list","data":[{"object":"embedding","index":0,"embedding":[0.1,0.2]}],"model":"m","usage":{"prompt_tokens":1,"total_tokens":1}}`},
		{`/moderations$`, `{"id":"m1","model":"m","results":[{"flagged":false,"categories":{"hate":false},"category_scores":{"hate":0.01}}]}`},
		{`/images`, `{"created":1760000000,"data":[{"b64_json":"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="}]}`},
		{`/transcriptions$`, `{"text":"hi","task":"transcribe","language":"english","duration":3.0,"segments":[]}`},
	}
	for _, a := range answers {
		if regexp.MustCompile(a.when).MatchString(r.URL.Path) {
			w.Header().Set("Content-Type", "application/json")
			if strings.HasSuffix(r.URL.Path, "/content") {
				w.Header().Set("Content-Type", "video/mp4")
			}
			_, _ = io.WriteString(w, a.body)
			return
		}
	}
	http.NotFound(w, r)
}

// value is the body as JSON. A form is {name: [values]}.
func (g *got) value() (any, error) {
	kind, params, _ := mime.ParseMediaType(g.Header.Get("Content-Type"))
	if kind != "multipart/form-data" {
		return strictJSON(g.Body)
	}
	form, err := multipart.NewReader(strings.NewReader(string(g.Body)), params["boundary"]).ReadForm(1 << 20)
	if err != nil {
		return nil, err
	}
	m := object{}
	for name, values := range form.Value {
		for _, v := range values {
			m[name] = append(list(m[name]), v)
		}
	}
	for name := range form.File {
		m[name] = append(list(m[name]), "file")
	}
	return m, nil
}

// fields are header fields by their names in lower case.
func fields(h http.Header) object {
	m := object{}
	for name, values := range maps.All(h) {
		m[strings.ToLower(name)] = strings.Join(values, ", ")
	}
	return m
}
