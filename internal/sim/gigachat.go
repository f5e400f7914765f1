package sim

import (
	"encoding/base64"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// gigachatWire is the chat of GigaChat, a dialect of its own: functions and not tools, one call at a time, arguments as objects.
var gigachatWire = &wire{
	name: "gigachat", say: &gigachatPhrases,
	fail: func(f *refusal) []byte {
		return append(appendText(append(appendInt([]byte(`{"status":`), f.status), `,"message":`...), f.message), '}')
	},
	admit: func(s *Host, r *http.Request) *refusal {
		switch expires, ok := opened(bearer(r)); {
		case !ok:
			return &refusal{status: 401, message: "Unauthorized"}
		case !s.config.Now().Before(expires):
			return &refusal{status: 401, message: "Token has expired"}
		}
		return nil
	},
	inside: func(f *refusal, _ string, _ int) frame {
		return frame{data: append(appendText(append(appendInt([]byte(`{"status":`), f.status), `,"message":`...), f.message), '}')}
	},
	stream:  streamType,
	frame:   sse,
	last:    []byte("[DONE]"),
	tooLong: "Tokens limit exceeded",
	text: func(s string) frame {
		return frame{data: []byte(`{"choices":[{"delta":{"content":"` + s + `","role":"assistant"},"index":0}],"created":1,"model":"m","object":"chat.completion"}`)}
	},
	idle:      frame{data: []byte(`{"choices":[]}`)},
	shapeless: []byte(`{"created":1,"model":"m","object":"chat.completion"}`),
}

var gigachatPhrases = phrases{
	item:    openAIPhrases.item,
	missing: func(param string) string { return "Invalid params: " + param + " is required" },
	unknown: func(param string) string { return "Invalid params: unknown field " + param },
	wrongType: func(param, got, want string) string {
		return "Invalid params: " + param + " must be " + want + ", not " + got
	},
	wrongValue: func(param, want string) string { return "Invalid params: " + param + " must be " + want },
	outOfRange: func(param, low, high string) string {
		return "Invalid params: " + param + " must be from " + low + " to " + high
	},
	readable: func(error) string { return "Bad request: invalid json" },
}

// A token of GigaChat is good for so long.
const tokenLife = 30 * time.Minute

// oauthError has a shape of its own.
func oauthError(w http.ResponseWriter, status, code int, message string) {
	sendJSON(w, status, append(appendText(append(appendInt([]byte(`{"code":`), code), `,"message":`...), message), '}'))
}

// oauth serves POST /api/v2/oauth: credentials against a token.
func (s *chatWires) oauth(w http.ResponseWriter, r *http.Request) {
	fail := func(status, code int, message string) {
		s.stats.of("").refused.Add(1)
		oauthError(w, status, code, message)
	}
	_, secret, basic := r.BasicAuth()
	given, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Basic ")
	r.Body = http.MaxBytesReader(w, r.Body, 1<<16)
	scope := r.PostFormValue("scope")
	switch {
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", "POST")
		fail(405, 0, "Method Not Allowed")
	case !basic:
		fail(400, 4, "Can't decode 'Authorization' header")
	case !s.hasKey(given, secret):
		fail(401, 6, "credentials doesn't match db data")
	case !uuid(r.Header.Get("RqUID")):
		fail(400, 1, "RqUID header is not a valid UUID4")
	case !strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded"):
		fail(415, 3, "Content-Type must be application/x-www-form-urlencoded")
	case scope == "":
		fail(400, 5, "scope is empty")
	case scope != "GIGACHAT_API_PERS" && scope != "GIGACHAT_API_B2B" && scope != "GIGACHAT_API_CORP":
		fail(400, 7, "scope from db not fully includes consumed scope")
	default:
		expires := s.config.Now().Add(tokenLife).UnixMilli()
		dst := appendText([]byte(`{"access_token":`), tokenFor(expires))
		sendJSON(w, 200, append(strconv.AppendInt(append(dst, `,"expires_at":`...), expires, 10), '}'))
	}
}

func uuid(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		if dash != (s[i] == '-') || !dash && !strings.ContainsRune("0123456789abcdefABCDEF", rune(s[i])) {
			return false
		}
	}
	return true
}

// tokenFor is a token that reports when it ends. None is kept.
func tokenFor(expires int64) string {
	said := strconv.FormatInt(expires, 10)
	return said + "." + base64.RawURLEncoding.EncodeToString(seal(&wire{name: "token"}, &Model{}, []string{said}))
}

// opened is when a token ends; false for one that was never given.
func opened(token string) (time.Time, bool) {
	said, _, _ := strings.Cut(token, ".")
	n, err := strconv.ParseInt(said, 10, 64)
	return time.UnixMilli(n), err == nil && token == tokenFor(n)
}

// files are what was uploaded, to be named in messages.
type files struct {
	mu    sync.Mutex
	byID  map[string]medium
	order []string
}

const maxFiles = 1024

func (f *files) put(id string, m medium) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.byID == nil {
		f.byID = make(map[string]medium)
	}
	if _, have := f.byID[id]; !have {
		f.order = append(f.order, id)
	}
	f.byID[id] = m
	if len(f.order) > maxFiles {
		delete(f.byID, f.order[0])
		f.order = f.order[1:]
	}
}

func (f *files) get(id string) (medium, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	m, ok := f.byID[id]
	return m, ok
}

func (f *files) reset() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.byID, f.order = nil, nil
}

// upload serves POST /api/v1/files.
func (s *chatWires) upload(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, s.config.MaxBodyBytes)
	file, head, err := r.FormFile("file")
	if err != nil {
		s.refuse(gigachatWire, w, &refusal{status: 400, message: "Invalid params: file is required"})
		return
	}
	defer file.Close()
	raw, err := io.ReadAll(file)
	m := medium{name: head.Filename}
	if err != nil || !m.kindOf(head.Header.Get("Content-Type")) || !m.inline(base64.StdEncoding.EncodeToString(raw)) {
		s.refuse(gigachatWire, w, &refusal{status: 400, message: "Invalid params: unsupported file"})
		return
	}
	if r.FormValue("purpose") != "general" {
		s.refuse(gigachatWire, w, &refusal{status: 400, message: "Invalid params: purpose must be general"})
		return
	}
	id := amazonID(m.String())
	s.files.put(id, m)
	dst := append(appendText([]byte(`{"id":`), id), `,"object":"file","bytes":`...)
	dst = strconv.AppendInt(append(appendInt(dst, len(raw)), `,"created_at":`...), s.config.Now().Unix(), 10)
	sendJSON(w, 200, append(appendText(append(dst, `,"filename":`...), head.Filename), `,"purpose":"general","access_policy":"private"}`...))
}

// gigachat serves POST /api/v1/chat/completions.
func (s *chatWires) gigachat(w http.ResponseWriter, r *http.Request) {
	started := time.Now()
	s.take(gigachatWire, w, r, func(body []byte) *refusal {
		g, refused := gigachatRequest(&s.files, body)
		if refused != nil {
			return refused
		}
		session := r.Header.Get("X-Session-ID") != ""
		if !session {
			g.ask.marks = &marks{digest: newDigest} // without a session nothing is remembered
		}
		s.answer(w, r, started, g.ask, func(answer *answer, now time.Time) *reply {
			return (&gigachatReply{ask: g.ask, answer: answer, created: now.Unix()}).reply()
		})
		return nil
	})
}

// gigachatReader reads a request. Members that it does not know are ignored, as the service does it.
type gigachatReader struct {
	checker
	files *files
	asked string // the function that the message before called
	state string // and the state that came with the call
}

func gigachatRequest(files *files, body []byte) (*gigachatReader, *refusal) {
	root, err := parse(body)
	if err != nil {
		return nil, unreadable(&gigachatPhrases, err)
	}
	r := &gigachatReader{checker: newChecker(&gigachatPhrases), files: files}
	r.root, r.ask.parallel, r.ask.streamUsage = root, false, true
	r.status = 422
	if !r.typed(root, object, "body") {
		return nil, r.fault
	}
	model := root.get("model")
	if !model.is(text) {
		r.missing("model")
		return nil, r.fault
	}
	base, err := r.ask.knobs.named(model.text)
	r.ask.name, r.ask.persona = model.text, modelNamed(base)
	if err != nil || r.ask.persona == nil {
		return nil, &refusal{status: 404, message: "No such model"}
	}
	r.fields()
	r.conversation()
	if r.fault == nil {
		r.together()
	}
	return r, r.fault
}

func (r *gigachatReader) fields() {
	a := r.ask
	for i, name := range r.root.names {
		v := &r.root.items[i]
		if v.kind == null {
			continue
		}
		switch name {
		case "stream":
			a.stream = r.typed(v, boolean, name) && v.yes()
		case "temperature":
			r.decimal(v, name, 0, 2)
		case "top_p":
			r.decimal(v, name, 0, 1)
		case "max_tokens":
			a.maxTokens = int(r.integer(v, name, 1, 1<<31))
		case "repetition_penalty":
			r.decimal(v, name, 0, 10)
		case "update_interval":
			r.decimal(v, name, 0, 60)
		case "reasoning_effort":
			a.effort = r.words(v, name, "low", "medium", "high")
		case "functions":
			r.each(v, name, r.function)
			a.overhead += countTokens(string(v.raw))
		case "function_call":
			r.functionCall(v, name)
		case "response_format":
			r.responseFormat(v, name)
		}
	}
}

func (r *gigachatReader) function(v *node, param string) {
	if !r.typed(v, object, param) {
		return
	}
	t := tool{name: v.get("name").str(), schema: v.given("parameters")}
	switch {
	case !validName(t.name):
		r.wrongValue(param+".name", namePattern)
	case t.schema == nil:
		r.missing(param + ".parameters")
	case !t.schema.is(object):
		r.wrongType(param+".parameters", t.schema, "an object")
	}
	r.ask.tools = append(r.ask.tools, t)
}

func (r *gigachatReader) functionCall(v *node, param string) {
	switch {
	case v.is(text):
		r.ask.choice.mode = r.words(v, param, "none", "auto")
	case v.is(object) && v.get("name").is(text):
		r.ask.choice.mode, r.ask.choice.only = "required", []string{v.get("name").text}
	default:
		r.wrongValue(param, "'none', 'auto' or an object with a name")
	}
}

func (r *gigachatReader) responseFormat(v *node, param string) {
	if !r.typed(v, object, param) {
		return
	}
	switch r.words(v.get("type"), param+".type", "text", "json_object", "json_schema") {
	case "json_object":
		r.ask.format = anyJSON
	case "json_schema":
		schema := v.get("schema")
		if !schema.is(object) {
			r.missing(param + ".schema")
			return
		}
		r.ask.format, r.ask.schema = jsonSchema, schema
		r.ask.overhead += countTokens(string(schema.raw))
	}
}

func (r *gigachatReader) conversation() {
	v := r.root.given("messages")
	if v == nil || v.is(array) && len(v.items) == 0 {
		r.missing("messages")
		return
	}
	r.each(v, "messages", r.message)
}

func (r *gigachatReader) message(v *node, param string) {
	if !r.typed(v, object, param) {
		return
	}
	role, content := v.get("role"), v.given("content")
	if role == nil {
		r.missing(param + ".role")
		return
	}
	t := turn{role: r.words(role, param+".role", "system", "user", "assistant", "function")}
	call := v.given("function_call")
	switch {
	case r.fault != nil:
		return
	case content != nil && !r.typed(content, text, param+".content"):
		return
	case content == nil && call == nil:
		r.missing(param + ".content")
		return
	case t.role == "system" && len(r.ask.turns) > 0:
		r.refuse(param, "", "Invalid params: system message must be the first message")
		return
	}
	if content != nil {
		r.say(&t, content.text, param)
	}
	switch t.role {
	case "assistant":
		r.asked, r.state = "", ""
		if call != nil {
			r.called(&t, v, call, param)
		}
	case "function":
		r.result(&t, v, param)
	case "user":
		r.attachments(&t, v, param)
	}
	r.ask.turns = append(r.ask.turns, t)
}

func (r *gigachatReader) called(t *turn, v, call *node, param string) {
	args := call.get("arguments")
	if !r.typed(call, object, param+".function_call") {
		return
	}
	if !call.get("name").is(text) {
		r.missing(param + ".function_call.name")
	}
	if args == nil {
		r.missing(param + ".function_call.arguments")
		return
	}
	if !r.typed(args, object, param+".function_call.arguments") {
		return
	}
	r.asked = call.get("name").str()
	if state := v.get("functions_state_id").str(); state != "" && state != stateOf(r.ask.persona, r.asked, string(canonical(nil, args))) {
		r.refuse(param, "", "Invalid params: functions_state_id is not found")
	}
	t.calls = append(t.calls, r.asked+" "+string(args.raw))
}

// stateOf is the id of what the service keeps of a call.
func stateOf(m *Model, name, args string) string {
	d := newDigest
	d.add(sign(gigachatWire, m, name, args))
	return amazonID(hexOf(uint64(d)))
}

func (r *gigachatReader) result(t *turn, v *node, param string) {
	name := v.get("name").str()
	switch {
	case r.asked == "":
		r.refuse(param, "", "Invalid params: function message must be after assistant message with function_call")
	case name != "" && name != r.asked:
		r.refuse(param, "", "Invalid params: function result name "+name+" does not match the function call "+r.asked)
	default:
		if _, err := parse([]byte(v.get("content").str())); err != nil {
			r.refuse(param, "", "Invalid params: function result is not valid json string")
		}
	}
	t.role, t.result = "tool", r.asked
	r.asked = ""
}

func (r *gigachatReader) attachments(t *turn, v *node, param string) {
	list := v.given("attachments")
	if list == nil {
		return
	}
	r.each(list, param+".attachments", func(v *node, param string) {
		if !r.typed(v, text, param) {
			return
		}
		m, ok := r.files.get(v.text)
		if !ok {
			r.fault = &refusal{status: 404, message: "No such file: " + v.text}
			return
		}
		t.media = append(t.media, m)
	})
}

// together checks what depends on more than one member.
func (r *gigachatReader) together() {
	a := r.ask
	for _, name := range a.choice.only {
		found := false
		for i := range a.tools {
			found = found || a.tools[i].name == name
		}
		if !found {
			r.refuse("", "", "Invalid params: function "+name+" is not described in functions")
		}
	}
	if err := a.knobs.check(); err != nil {
		r.refuse("", "", "Invalid params: "+err.Error())
	}
	if tokens, _ := a.promptTokens(); tokens > a.persona.ContextTokens {
		r.refuse("", "", "Tokens limit exceeded: "+itoa(tokens)+" > "+itoa(a.persona.ContextTokens))
	}
}
