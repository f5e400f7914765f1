package world_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/internal/apikey"
	"weir/internal/app/apptest"
	"weir/internal/catalog/builtin"
	"weir/internal/config"
	"weir/internal/money"
)

// A case is a request, what the provider answers to it, and what must come of it.
type wireCase struct {
	ID      string   `json:"id"`
	Source  []string `json:"source"` // public reports, owner/repository#number; "specification": a line of the API's description
	Control bool     `json:"control"`
	Gateway string   `json:"gateway"` // "builtin": the built-in catalog
	step
	Steps  []step `json:"steps"` // several requests in turn
	Repeat int    `json:"repeat"`
	Share  *struct {
		Of  string  `json:"of"`
		Min float64 `json:"min"`
	} `json:"share"` // the provider Of is asked first in at least Min of the repetitions
}

type step struct {
	Request *request          `json:"request"`
	Reply   *reply            `json:"reply"`
	Expect  *expect           `json:"expect"`
	Accept  []expect          `json:"accept"` // one of these must hold wholly
	Keep    map[string]string `json:"keep"`   // pointers into the answer, by the names that later requests use
	Until   *check            `json:"until"`  // the request is repeated until this holds
	GoOn    bool              `json:"go_on"`  // what the provider has seen before counts
}

type request struct {
	Path    string            `json:"path"`
	Method  string            `json:"method"`
	Headers map[string]string `json:"headers"`
	Body    json.RawMessage   `json:"body"`
	Form    [][2]string       `json:"form"`
}

// expect is what must hold. Members that are absent are not checked.
type expect struct {
	Status      json.RawMessage `json:"status"` // a number or a list of them
	Requests    *int            `json:"requests"`
	Text        *string         `json:"text"`
	Reasoning   *string         `json:"reasoning"`
	Calls       *[]wantedCall   `json:"calls"`
	Finish      *string         `json:"finish"`
	ErrorFrames *int            `json:"error_frames"`
	Answer      []check         `json:"answer"`
	Headers     []check         `json:"headers"`
	Sent        []check         `json:"sent"`
	SentHeaders []check         `json:"sent_headers"`
	Contains    []string        `json:"contains"`
	Lacks       []string        `json:"lacks"`
	NoMember    []string        `json:"no_member"`
	Asked       string          `json:"asked"`
}

type wantedCall struct {
	Name      string `json:"name"`
	Arguments any    `json:"arguments"`
}

// stage is a node with a scripted provider.
type stage struct {
	*apptest.Account
	provider *provider
}

// startStage starts a node with the providers of a configuration.
func startStage(t *testing.T, declare func(address string) string) *stage {
	t.Helper()
	s := &stage{provider: startProvider(t)}
	path := filepath.Join(t.TempDir(), "weir.yaml")
	if err := os.WriteFile(path, []byte(declare(s.provider.URL)), 0o600); err != nil {
		t.Fatal(err)
	}
	none := func(string) (string, bool) { return "", false }
	loaded, err := config.Load(path, none, nil)
	if err != nil {
		t.Fatal(err)
	}
	gw := apptest.StartGateway(t, func(set *apptest.Setup) {
		set.Builtin, set.Config.Providers = loaded.Builtin, loaded.Providers
		set.Config.Models = loaded.Models
		set.Clock = whenListsWereMade()
		set.Video.Keep = config.KeepFolder
		set.Video.FirstPoll, set.Video.MostPoll = 10*time.Millisecond, 20*time.Millisecond
	})
	s.Account = gw.Open(t, apptest.Opening{Amount: 1_000_000 * money.Ruble, Keys: []*apikey.Limit{nil}})[0]
	return s
}

// whenListsWereMade is a clock that shows a day soon after the one of the built-in lists: no test may end because a model of theirs has retired.
func whenListsWereMade() func() time.Time {
	back := time.Since(time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC))
	return func() time.Time { return time.Now().Add(-back) }
}

// declared are the providers that most cases name.
func declared(t *testing.T) func(address string) string {
	t.Helper()
	return func(address string) string {
		b, err := os.ReadFile("testdata/providers.json")
		if err != nil {
			t.Fatal(err)
		}
		var d object
		if err := json.Unmarshal(bytes.ReplaceAll(b, []byte("UPSTREAM"), []byte(address)), &d); err != nil {
			t.Fatal(err)
		}
		d["builtin"] = false
		for _, p := range list(d["providers"]) {
			obj(p)["api_key"] = "sk-upstream"
		}
		return text(d)
	}
}

// everyBuiltin are all built-in providers at the address of the scripted one.
func everyBuiltin(address string) string {
	var providers []any
	for _, p := range builtin.Providers() {
		base := "/v1"
		switch p.Dialect {
		case "gemini":
			base = "/v1beta"
		case "anthropic", "bedrock":
			base = ""
		}
		if !p.Template && p.ID != "vertex" { // whose key is exchanged elsewhere
			providers = append(providers, object{"id": p.ID, "api_key": "sk-upstream", "base_url": address + "/" + p.ID + base})
		}
	}
	return text(object{"builtin": true, "providers": providers})
}

// failing are the cases that are known to fail. The list only ever gets shorter.
func failing(t *testing.T) map[string]bool {
	t.Helper()
	b, err := os.ReadFile("testdata/failing.txt")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, line := range strings.Fields(string(b)) {
		known[line] = true
	}
	return known
}

// readCases reads the cases of all classes.
func readCases(t *testing.T) (all []wireCase) {
	t.Helper()
	files, err := filepath.Glob("testdata/cases/*.json")
	if err != nil || len(files) < 18 {
		t.Fatalf("%d files of cases, %v", len(files), err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var f struct {
			Class, Why string
			Cases      []wireCase
		}
		d := json.NewDecoder(bytes.NewReader(b))
		d.DisallowUnknownFields()
		if err := d.Decode(&f); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all = append(all, f.Cases...)
	}
	return all
}

// Each case of testdata/cases comes out as it says.
func TestCases(t *testing.T) {
	t.Parallel()
	all := readCases(t)
	known := failing(t)
	for name, declare := range map[string]func(string) string{"": declared(t), "builtin": everyBuiltin} {
		t.Run("gateway"+name, func(t *testing.T) {
			t.Parallel()
			s := startStage(t, declare)
			for i := range all {
				if c := &all[i]; c.Gateway == name {
					t.Run(c.ID, func(t *testing.T) { //nolint:paralleltest // the scripted provider answers one case at a time
						wrong := s.run(t, c)
						switch {
						case known[c.ID] && len(wrong) == 0:
							t.Errorf("%s passes now: take it out of testdata/failing.txt", c.ID)
						case !known[c.ID]:
							for _, w := range wrong {
								t.Error(w)
							}
						}
					})
				}
			}
		})
	}
	for id := range known {
		if !slices.ContainsFunc(all, func(c wireCase) bool { return c.ID == id }) {
			t.Errorf("testdata/failing.txt names %s, which is no case", id)
		}
	}
}

// run plays a case, and returns what is wrong.
func (s *stage) run(t *testing.T, c *wireCase) (wrong []string) {
	t.Helper()
	steps := c.Steps
	if steps == nil {
		steps = []step{c.step}
	}
	first := 0
	for range max(c.Repeat, 1) {
		kept := map[string]any{}
		for i := range steps {
			for _, w := range s.step(t, &steps[i], kept) {
				wrong = append(wrong, fmt.Sprintf("step %d: %s", i+1, w))
			}
		}
		if list := s.provider.asked(); c.Share != nil && len(list) > 0 && list[0].Provider == c.Share.Of {
			first++
		}
	}
	if c.Share != nil && float64(first) < c.Share.Min*float64(c.Repeat) {
		wrong = append(wrong, fmt.Sprintf("%s was asked first %d times of %d", c.Share.Of, first, c.Repeat))
	}
	return wrong
}

func (s *stage) step(t *testing.T, st *step, kept map[string]any) []string {
	t.Helper()
	s.provider.script(st.Reply, st.GoOn)
	var answer *apptest.Answer
	if st.Until == nil {
		answer = s.send(t, st.Request, kept)
	} else {
		apptest.WaitFor(t, text(st.Until.At), func() bool {
			answer = s.send(t, st.Request, kept)
			var v any
			return json.Unmarshal(answer.Body, &v) == nil && len(st.Until.complaints(v)) == 0
		})
	}
	var doc any
	_ = json.Unmarshal(answer.Body, &doc) // streams and files are no JSON
	for name, pointer := range st.Keep {
		if list := at(doc, pointer); len(list) == 1 {
			kept[name] = list[0]
		}
	}
	if st.Accept == nil {
		return s.wrong(st, st.Expect, answer, doc)
	}
	var all []string
	for i := range st.Accept {
		wrong := s.wrong(st, &st.Accept[i], answer, doc)
		if len(wrong) == 0 {
			return nil
		}
		all = append(all, fmt.Sprintf("not %d: %s", i+1, strings.Join(wrong, "; ")))
	}
	return all
}

func (s *stage) send(t *testing.T, r *request, kept map[string]any) *apptest.Answer {
	t.Helper()
	path, body, header := r.Path, string(r.Body), r.Headers
	for name, value := range kept {
		path = strings.ReplaceAll(path, "{"+name+"}", text(value))
		b, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		body = strings.ReplaceAll(body, `"{{`+name+`}}"`, string(b))
	}
	if r.Form != nil {
		var b bytes.Buffer
		w := multipart.NewWriter(&b)
		wave := apptest.Wave(3 * time.Second)
		for _, field := range r.Form {
			if field[0] == "file" {
				part, err := w.CreateFormFile("file", "speech.wav")
				if err != nil {
					t.Fatal(err)
				}
				_, _ = part.Write(wave)
				continue
			}
			_ = w.WriteField(field[0], strings.ReplaceAll(field[1], "WAV_DATA", base64.StdEncoding.EncodeToString(wave)))
		}
		_ = w.Close()
		body, header = b.String(), map[string]string{"Content-Type": w.FormDataContentType()}
	}
	method := r.Method
	if method == "" {
		method = http.MethodPost
	}
	return s.Send(t, method, path, []byte(body), header)
}

// wrong is what does not hold.
func (s *stage) wrong(st *step, e *expect, answer *apptest.Answer, doc any) (out []string) {
	fail := func(format string, a ...any) { out = append(out, fmt.Sprintf(format, a...)) }
	asked := s.provider.asked()
	if !statusIs(e.Status, answer.Status) {
		fail("status %d, want %s: %.600s", answer.Status, e.Status, answer.Body)
	}
	if e.Requests != nil && len(asked) != *e.Requests {
		fail("%d requests, want %d", len(asked), *e.Requests)
	}
	if e.Text != nil || e.Reasoning != nil || e.Calls != nil || e.Finish != nil || e.ErrorFrames != nil {
		is, err := hear(styleOf(st.Request.Path), answer.Header.Get("Content-Type"), string(answer.Body))
		if err != nil {
			fail("%v: %.3000s", err, answer.Body)
		}
		for _, v := range []struct {
			name string
			want *string
			got  string
		}{{"text", e.Text, is.Text}, {"reasoning", e.Reasoning, is.Reasoning}, {"finish", e.Finish, is.Finish}} {
			if v.want != nil && *v.want != v.got {
				fail("%s is %q, want %q: %.3000s", v.name, v.got, *v.want, answer.Body)
			}
		}
		if e.ErrorFrames != nil && is.Errors != *e.ErrorFrames {
			fail("%d frames have an error, want %d: %.2000s", is.Errors, *e.ErrorFrames, answer.Body)
		}
		if e.Calls != nil {
			calls := []wantedCall{}
			for _, c := range is.Calls {
				arguments, err := strictJSON([]byte(c.Arguments))
				if err != nil {
					fail("the arguments of %s: %v: %q", c.Name, err, c.Arguments)
				}
				calls = append(calls, wantedCall{c.Name, arguments})
			}
			if !reflect.DeepEqual(calls, *e.Calls) {
				fail("calls are %v, want %v: %.3000s", calls, *e.Calls, answer.Body)
			}
		}
	}
	for i := range e.Answer {
		out = append(out, e.Answer[i].complaints(doc)...)
	}
	for i := range e.Headers {
		out = append(out, e.Headers[i].complaints(fields(answer.Header))...)
	}
	if e.Asked != "" && (len(asked) == 0 || asked[0].Provider != e.Asked) {
		fail("%s was not asked first", e.Asked)
	}
	for i := range asked {
		if _, err := asked[i].value(); err != nil && len(asked[i].Body) > 0 {
			fail("the provider got invalid JSON: %v: %.2000s", err, asked[i].Body)
		}
	}
	if len(asked) == 0 {
		if len(e.Sent)+len(e.SentHeaders)+len(e.Contains) > 0 {
			fail("the provider was not asked")
		}
		return out
	}
	last := &asked[len(asked)-1]
	sent, _ := last.value()
	for i := range e.Sent {
		for _, w := range e.Sent[i].complaints(sent) {
			fail("sent: %s in %.2000s", w, last.Body)
		}
	}
	for i := range e.SentHeaders {
		out = append(out, e.SentHeaders[i].complaints(fields(last.Header))...)
	}
	whole := text(sent)
	for _, part := range e.Contains {
		if !strings.Contains(whole, part) {
			fail("sent lacks %q: %.2000s", part, whole)
		}
	}
	for _, part := range e.Lacks {
		if strings.Contains(whole, part) {
			fail("sent has %q: %.2000s", part, whole)
		}
	}
	for _, name := range e.NoMember {
		if hasMember(sent, name) {
			fail("sent has the member %q: %.2000s", name, whole)
		}
	}
	return out
}

func statusIs(want json.RawMessage, status int) bool {
	var one int
	if want == nil || json.Unmarshal(want, &one) == nil {
		return want == nil || one == status
	}
	var some []int
	return json.Unmarshal(want, &some) == nil && slices.Contains(some, status)
}
