package chat

import (
	"encoding/base64"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"weir/internal/sim/kit"
)

// GigachatWire is the chat wire of GigaChat: functions and not tools, one call at a time, arguments as objects.
var GigachatWire = &kit.Wire{
	Name: "gigachat", Phrases: &GigachatPhrases,
	ErrorBody: func(f *kit.Refusal) []byte {
		return append(kit.AppendText(append(kit.AppendInt([]byte(`{"status":`), f.Status), `,"message":`...), f.Message), '}')
	},
	Admit: func(s *kit.Host, r *http.Request) *kit.Refusal {
		switch expires, ok := opened(kit.Bearer(r)); {
		case !ok:
			return &kit.Refusal{Status: 401, Message: "Unauthorized"}
		case !s.Config.Now().Before(expires):
			return &kit.Refusal{Status: 401, Message: "Token has expired"}
		}
		return nil
	},
	ErrorFrame: func(f *kit.Refusal, _ string, _ int) kit.Frame {
		return kit.Frame{Data: append(kit.AppendText(append(kit.AppendInt([]byte(`{"status":`), f.Status), `,"message":`...), f.Message), '}')}
	},
	Stream:   kit.StreamType,
	Frame:    kit.SSE,
	LastData: []byte("[DONE]"),
	TooLong:  "Tokens limit exceeded",
	TextFrame: func(s string) kit.Frame {
		return kit.Frame{Data: []byte(`{"choices":[{"delta":{"content":"` + s + `","role":"assistant"},"index":0}],"created":1,"model":"m","object":"chat.completion"}`)}
	},
	IdleFrame:  kit.Frame{Data: []byte(`{"choices":[]}`)},
	Incomplete: []byte(`{"created":1,"model":"m","object":"chat.completion"}`),
}

// GigachatPhrases are the words of GigaChat's errors.
var GigachatPhrases = kit.Phrases{
	Item:    kit.OpenAIPhrases.Item,
	Missing: func(param string) string { return "Invalid params: " + param + " is required" },
	Unknown: func(param string) string { return "Invalid params: unknown field " + param },
	WrongType: func(param, got, want string) string {
		return "Invalid params: " + param + " must be " + want + ", not " + got
	},
	WrongValue: func(param, want string) string { return "Invalid params: " + param + " must be " + want },
	OutOfRange: func(param, low, high string) string {
		return "Invalid params: " + param + " must be from " + low + " to " + high
	},
	Readable: func(error) string { return "Bad request: invalid json" },
}

// tokenLife is how long a token is valid.
const tokenLife = 30 * time.Minute

// oauthError has another shape than the other errors.
func oauthError(w http.ResponseWriter, status, code int, message string) {
	kit.SendJSON(w, status, append(kit.AppendText(append(kit.AppendInt([]byte(`{"code":`), code), `,"message":`...), message), '}'))
}

// oauth serves POST /api/v2/oauth: credentials against a token.
func (s *Wires) oauth(w http.ResponseWriter, r *http.Request) {
	fail := func(status, code int, message string) {
		s.Stats.Of("").Refused.Add(1)
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
	case !s.HasKey(given, secret):
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
		expires := s.Config.Now().Add(tokenLife).UnixMilli()
		dst := kit.AppendText([]byte(`{"access_token":`), tokenFor(expires))
		kit.SendJSON(w, 200, append(strconv.AppendInt(append(dst, `,"expires_at":`...), expires, 10), '}'))
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

// tokenFor returns a token that contains its expiry time. Tokens are not stored.
func tokenFor(expires int64) string {
	said := strconv.FormatInt(expires, 10)
	return said + "." + base64.RawURLEncoding.EncodeToString(kit.Seal(&kit.Wire{Name: "token"}, &kit.Model{}, []string{said}))
}

// opened returns when a token expires; false for a token that was not issued here.
func opened(token string) (time.Time, bool) {
	said, _, _ := strings.Cut(token, ".")
	n, err := strconv.ParseInt(said, 10, 64)
	return time.UnixMilli(n), err == nil && token == tokenFor(n)
}

// files are what was uploaded, to be named in messages.
type files struct {
	mu    sync.Mutex
	byID  map[string]kit.Medium
	order []string
}

const maxFiles = 1024

func (f *files) put(id string, m kit.Medium) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.byID == nil {
		f.byID = make(map[string]kit.Medium)
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

func (f *files) get(id string) (kit.Medium, bool) {
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
func (s *Wires) upload(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, s.Config.MaxBodyBytes)
	file, head, err := r.FormFile("file")
	if err != nil {
		s.Refuse(GigachatWire, w, &kit.Refusal{Status: 400, Message: "Invalid params: file is required"})
		return
	}
	defer file.Close()
	raw, err := io.ReadAll(file)
	m := kit.Medium{Name: head.Filename}
	if err != nil || !m.SetType(head.Header.Get("Content-Type")) || !m.FromBase64(base64.StdEncoding.EncodeToString(raw)) {
		s.Refuse(GigachatWire, w, &kit.Refusal{Status: 400, Message: "Invalid params: unsupported file"})
		return
	}
	if r.FormValue("purpose") != "general" {
		s.Refuse(GigachatWire, w, &kit.Refusal{Status: 400, Message: "Invalid params: purpose must be general"})
		return
	}
	id := kit.AmazonID(m.String())
	s.files.put(id, m)
	dst := append(kit.AppendText([]byte(`{"id":`), id), `,"object":"file","bytes":`...)
	dst = strconv.AppendInt(append(kit.AppendInt(dst, len(raw)), `,"created_at":`...), s.Config.Now().Unix(), 10)
	kit.SendJSON(w, 200, append(kit.AppendText(append(dst, `,"filename":`...), head.Filename), `,"purpose":"general","access_policy":"private"}`...))
}

// gigachat serves POST /api/v1/chat/completions.
func (s *Wires) gigachat(w http.ResponseWriter, r *http.Request) {
	started := time.Now()
	s.HandleJSON(GigachatWire, w, r, func(body []byte) *kit.Refusal {
		g, refused := gigachatRequest(&s.files, body)
		if refused != nil {
			return refused
		}
		session := r.Header.Get("X-Session-ID") != ""
		if !session {
			g.Request.Marks = &kit.Marks{Digest: kit.NewDigest} // without a session nothing is remembered
		}
		s.Answer(w, r, started, g.Request, func(answer *kit.Answer, now time.Time) *kit.Reply {
			return (&gigachatReply{ask: g.Request, answer: answer, created: now.Unix()}).reply()
		})
		return nil
	})
}

// gigachatReader reads a request. Unknown members are ignored, as the service does it.
type gigachatReader struct {
	kit.Checker
	files *files
	asked string // the function that the previous message called
	state string // and the state that came with the call
}

func gigachatRequest(files *files, body []byte) (*gigachatReader, *kit.Refusal) {
	root, err := kit.Parse(body)
	if err != nil {
		return nil, kit.Unreadable(&GigachatPhrases, err)
	}
	r := &gigachatReader{Checker: kit.NewChecker(&GigachatPhrases), files: files}
	r.Root, r.Request.ParallelCalls, r.Request.StreamUsage = root, false, true
	r.Status = 422
	if !r.ExpectKind(root, kit.Object, "body") {
		return nil, r.Fault
	}
	model := root.Get("model")
	if !model.Is(kit.Text) {
		r.Missing("model")
		return nil, r.Fault
	}
	base, err := r.Request.Knobs.ParseName(model.Text)
	r.Request.Name, r.Request.Model = model.Text, kit.ModelNamed(base)
	if err != nil || r.Request.Model == nil {
		return nil, &kit.Refusal{Status: 404, Message: "No such model"}
	}
	r.fields()
	r.conversation()
	if r.Fault == nil {
		r.together()
	}
	return r, r.Fault
}

func (r *gigachatReader) fields() {
	a := r.Request
	for i, name := range r.Root.Names {
		v := &r.Root.Items[i]
		if v.Kind == kit.Null {
			continue
		}
		switch name {
		case "stream":
			a.Stream = r.ExpectKind(v, kit.Boolean, name) && v.IsTrue()
		case "temperature":
			r.Decimal(v, name, 0, 2)
		case "top_p":
			r.Decimal(v, name, 0, 1)
		case "max_tokens":
			a.MaxTokens = int(r.Integer(v, name, 1, 1<<31))
		case "repetition_penalty":
			r.Decimal(v, name, 0, 10)
		case "update_interval":
			r.Decimal(v, name, 0, 60)
		case "reasoning_effort":
			a.Effort = r.OneOf(v, name, "low", "medium", "high")
		case "functions":
			r.Each(v, name, r.function)
			a.Overhead += kit.CountTokens(string(v.Raw))
		case "function_call":
			r.functionCall(v, name)
		case "response_format":
			r.responseFormat(v, name)
		}
	}
}

func (r *gigachatReader) function(v *kit.Node, param string) {
	if !r.ExpectKind(v, kit.Object, param) {
		return
	}
	t := kit.Tool{Name: v.Get("name").Str(), Schema: v.Given("parameters")}
	switch {
	case !kit.ValidName(t.Name):
		r.WrongValue(param+".name", kit.NamePattern)
	case t.Schema == nil:
		r.Missing(param + ".parameters")
	case !t.Schema.Is(kit.Object):
		r.WrongType(param+".parameters", t.Schema, "an object")
	}
	r.Request.Tools = append(r.Request.Tools, t)
}

func (r *gigachatReader) functionCall(v *kit.Node, param string) {
	switch {
	case v.Is(kit.Text):
		r.Request.Choice.Mode = r.OneOf(v, param, "none", "auto")
	case v.Is(kit.Object) && v.Get("name").Is(kit.Text):
		r.Request.Choice.Mode, r.Request.Choice.Only = "required", []string{v.Get("name").Text}
	default:
		r.WrongValue(param, "'none', 'auto' or an object with a name")
	}
}

func (r *gigachatReader) responseFormat(v *kit.Node, param string) {
	if !r.ExpectKind(v, kit.Object, param) {
		return
	}
	switch r.OneOf(v.Get("type"), param+".type", "text", "json_object", "json_schema") {
	case "json_object":
		r.Request.Format = kit.AnyJSON
	case "json_schema":
		schema := v.Get("schema")
		if !schema.Is(kit.Object) {
			r.Missing(param + ".schema")
			return
		}
		r.Request.Format, r.Request.Schema = kit.JSONSchema, schema
		r.Request.Overhead += kit.CountTokens(string(schema.Raw))
	}
}

func (r *gigachatReader) conversation() {
	v := r.Root.Given("messages")
	if v == nil || v.Is(kit.Array) && len(v.Items) == 0 {
		r.Missing("messages")
		return
	}
	r.Each(v, "messages", r.message)
}

func (r *gigachatReader) message(v *kit.Node, param string) {
	if !r.ExpectKind(v, kit.Object, param) {
		return
	}
	role, content := v.Get("role"), v.Given("content")
	if role == nil {
		r.Missing(param + ".role")
		return
	}
	t := kit.Turn{Role: r.OneOf(role, param+".role", "system", "user", "assistant", "function")}
	call := v.Given("function_call")
	switch {
	case r.Fault != nil:
		return
	case content != nil && !r.ExpectKind(content, kit.Text, param+".content"):
		return
	case content == nil && call == nil:
		r.Missing(param + ".content")
		return
	case t.Role == "system" && len(r.Request.Turns) > 0:
		r.Refuse(param, "", "Invalid params: system message must be the first message")
		return
	}
	if content != nil {
		r.AddText(&t, content.Text, param)
	}
	switch t.Role {
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
	r.Request.Turns = append(r.Request.Turns, t)
}

func (r *gigachatReader) called(t *kit.Turn, v, call *kit.Node, param string) {
	args := call.Get("arguments")
	if !r.ExpectKind(call, kit.Object, param+".function_call") {
		return
	}
	if !call.Get("name").Is(kit.Text) {
		r.Missing(param + ".function_call.name")
	}
	if args == nil {
		r.Missing(param + ".function_call.arguments")
		return
	}
	if !r.ExpectKind(args, kit.Object, param+".function_call.arguments") {
		return
	}
	r.asked = call.Get("name").Str()
	if state := v.Get("functions_state_id").Str(); state != "" && state != stateOf(r.Request.Model, r.asked, string(kit.Canonical(nil, args))) {
		r.Refuse(param, "", "Invalid params: functions_state_id is not found")
	}
	t.Calls = append(t.Calls, r.asked+" "+string(args.Raw))
}

// stateOf returns the state id of a call.
func stateOf(m *kit.Model, name, args string) string {
	d := kit.NewDigest
	d.Add(kit.Sign(GigachatWire, m, name, args))
	return kit.AmazonID(kit.HexOf(uint64(d)))
}

func (r *gigachatReader) result(t *kit.Turn, v *kit.Node, param string) {
	name := v.Get("name").Str()
	switch {
	case r.asked == "":
		r.Refuse(param, "", "Invalid params: function message must be after assistant message with function_call")
	case name != "" && name != r.asked:
		r.Refuse(param, "", "Invalid params: function result name "+name+" does not match the function call "+r.asked)
	default:
		if _, err := kit.Parse([]byte(v.Get("content").Str())); err != nil {
			r.Refuse(param, "", "Invalid params: function result is not valid json string")
		}
	}
	t.Role, t.Result = "tool", r.asked
	r.asked = ""
}

func (r *gigachatReader) attachments(t *kit.Turn, v *kit.Node, param string) {
	list := v.Given("attachments")
	if list == nil {
		return
	}
	r.Each(list, param+".attachments", func(v *kit.Node, param string) {
		if !r.ExpectKind(v, kit.Text, param) {
			return
		}
		m, ok := r.files.get(v.Text)
		if !ok {
			r.Fault = &kit.Refusal{Status: 404, Message: "No such file: " + v.Text}
			return
		}
		t.Media = append(t.Media, m)
	})
}

// together checks rules that involve more than one member.
func (r *gigachatReader) together() {
	a := r.Request
	for _, name := range a.Choice.Only {
		found := false
		for i := range a.Tools {
			found = found || a.Tools[i].Name == name
		}
		if !found {
			r.Refuse("", "", "Invalid params: function "+name+" is not described in functions")
		}
	}
	if err := a.Knobs.Check(); err != nil {
		r.Refuse("", "", "Invalid params: "+err.Error())
	}
	if tokens, _ := a.PromptTokens(); tokens > a.Model.ContextTokens {
		r.Refuse("", "", "Tokens limit exceeded: "+kit.Itoa(tokens)+" > "+kit.Itoa(a.Model.ContextTokens))
	}
}
