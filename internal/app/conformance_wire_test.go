package app_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// exact is a request in which every byte matters: order and white space, escapes, numbers beyond the precision of floats, cache marks,
// members of schemas.
const exact = "\n{ \"max_tokens\" : 64 ,\t\"tools\":[{\"name\":\"f\",\"input_schema\":{\"type\":\"object\",\"z\":1,\"a\":123456789012345678901234567890,\"\\u00e9\":\"\\/\\u2028\",\"e\":1.50E+2}}],\r\n" +
	` "messages":[{"content":[{"type":"text","text":"K-exact \u0416 \"weir\" \ud83d\ude00", "cache_control": {"ttl":"1h","type":"ephemeral"}},{"text":"and more","type":"text"}],"role":"user"}],  "model" :"anthropic\/%s" ,` +
	`"system":[{"type":"text","text":"model","cache_control":{"type":"ephemeral"}}],"metadata":{"user_id":"model"},"thinking":{"type":"adaptive","display":"summarized"},"stream":%t }` + "\n"

// A request of the messages style reaches an endpoint of the messages wire byte for byte, except for the name of the model. So does the
// answer.
func TestMessagesByteForByte(t *testing.T) {
	t.Parallel()
	c := startConformer(t)
	a := c.newAccount(t)
	for _, stream := range []bool{false, true} {
		body := fmt.Sprintf(exact, "reason", stream)
		got := a.send(t, http.MethodPost, "/v1/messages?beta=true", []byte(body), map[string]string{
			"Authorization": "", "X-Api-Key": a.key, "Anthropic-Version": "2026-10-21", "Anthropic-Beta": "context-1m-2025-08-07,interleaved-thinking-2025-05-14"})
		if got.status != http.StatusOK {
			t.Fatalf("status %d: %s", got.status, got.body)
		}
		all := c.received("K-exact")
		is := all[len(all)-1]
		if want := strings.Replace(body, `"anthropic\/reason"`, `"reason"`, 1); string(is.body) != want {
			t.Errorf("the upstream received\n%q, want\n%q", is.body, want)
		}
		h := is.header
		if is.path != "/v1/messages?beta=true" || h.Get("Anthropic-Version") != "2026-10-21" || h.Get("Anthropic-Beta") != "context-1m-2025-08-07,interleaved-thinking-2025-05-14" {
			t.Errorf("%s %v", is.path, h)
		}
		if h.Get("X-Api-Key") != "sk-upstream-anthropic" || h.Get("Authorization") != "" || slices.Contains(h.Values("X-Api-Key"), a.key) {
			t.Errorf("credentials %v", h)
		}
		// the same request, sent directly to the provider
		r := httptest.NewRequest(http.MethodPost, is.path, bytes.NewReader(is.body))
		r.Header = h.Clone()
		w := httptest.NewRecorder()
		c.upstream.ServeHTTP(w, r)
		if want := strings.Replace(w.Body.String(), `"model":"reason"`, `"model":"anthropic/reason"`, 1); string(got.body) != want {
			t.Errorf("the client received\n%s\nthe provider says\n%s", got.body, want)
		}
	}
}

// From a request with the reasoning of another provider, only that reasoning is removed, and the client gets a notice.
func TestMessagesBytesWithForeignThinking(t *testing.T) {
	t.Parallel()
	c := startConformer(t)
	a := c.newAccount(t)
	q := &ask{model: "gemini/reason", effort: "low", tools: []string{"weather"}, turns: []turn{{role: "user", text: "K-foreign. How is the weather?"}}}
	s := a.mustAsk(t, messagesStyle{}, q, false)
	s.wantCall(t, "weather")
	back, err := json.Marshal(s.back)
	if err != nil {
		t.Fatal(err)
	}
	var use string
	for _, b := range s.back.([]map[string]any) {
		if b["type"] == "tool_use" {
			b, _ := json.Marshal(b)
			use = string(b)
		}
	}
	const form = `{"messages":[ {"role":"user","content":"K-foreign."},{"role":"assistant","content":%s},{"role":"user","content":[{"type":"tool_result","tool_use_id":"%s","content":"Snow"}]} ],` +
		`"tools":[{"name":"weather","input_schema":%s}],"thinking":%s,"max_tokens":4000, "model":"%s"}`
	body := fmt.Sprintf(form, back, s.calls[0].id, toolSchema, `{"type":"enabled","budget_tokens":1024}`, "anthropic/reason")
	got := a.send(t, http.MethodPost, "/v1/messages", []byte(body), map[string]string{"Anthropic-Version": "2023-06-01"})
	if got.status != http.StatusOK {
		t.Fatalf("status %d: %s", got.status, got.body)
	}
	all := c.received("K-foreign.")
	if is, want := string(all[len(all)-1].body), fmt.Sprintf(form, "["+use+"]", s.calls[0].id, toolSchema, `{"type":"disabled"}`, "reason"); is != want {
		t.Errorf("the upstream received\n%s, want\n%s", is, want)
	}
	if after := (messagesStyle{}).whole(t, got.body); !strings.Contains(after.notice, "another provider") || !strings.Contains(after.text, "Snow") {
		t.Errorf("%+v", after)
	}
}

// A conversation with tools and reasoning goes to another provider with each request. No provider refuses one. Each gets all of its own
// signatures and no others, and the client gets notices of what was removed.
func TestConversationAcrossProviders(t *testing.T) {
	t.Parallel()
	for _, s := range styles {
		t.Run(s.name(), func(t *testing.T) {
			t.Parallel()
			c := startConformer(t)
			a := c.newAccount(t)
			owned := map[string]int{} // number of signatures that each dialect has made
			q := &ask{effort: "low", tools: []string{"weather"}}
			var calls []called
			names := []string{"openai", "anthropic", "gemini", "responses", "gigachat", "yandex"} // without Bedrock: it accepts signatures of Anthropic's wire, but the simulator does not
			for n := range 20 {
				on := testDialect{name: names[(n*5+n/3)%len(names)]} // in varying order
				q.model = on.name + "/reason"
				if calls == nil {
					q.turns = append(q.turns, turn{role: "user", text: fmt.Sprintf("How is the weather on day %d?", n)})
				} else {
					q.turns = append(q.turns, turn{role: "user", results: []result{{id: calls[0].id, text: fmt.Sprintf("Snow of day %d", n)}}})
				}
				answered := a.mustAsk(t, s, q, n%4 < 2)
				c.wantSignatures(t, on.name, owned)
				foreign := others(owned, on.name)
				began := on.name == "anthropic" && calls != nil // another dialect began the turn; on the messages wire, reasoning cannot start in the middle of a turn
				if (answered.notice != "") != (foreign > 0 || began) {
					t.Errorf("request %d to %s, with %d signatures of others: notice %q", n, on.name, foreign, answered.notice)
				}
				a.wantNotice(t, s, answered)
				if calls != nil && !strings.Contains(answered.text, fmt.Sprintf("Snow of day %d", n)) || calls == nil && len(answered.calls) != 1 {
					t.Fatalf("request %d: %+v", n, answered)
				}
				owned[on.name] += answered.signed(t)
				calls = answered.calls
				q.turns = append(q.turns, turn{role: "assistant", back: answered.back})
			}
			total := c.upstream.Stats().Total
			if total.Refused != 0 || total.Requests != 20 || owned["anthropic"] == 0 || owned["gemini"] == 0 {
				t.Errorf("%d requests, %d refused, signatures %v", total.Requests, total.Refused, owned)
			}
		})
	}
}

// signed counts the signatures of providers. A style without a field for signatures packs them into an existing field, and marks unsigned
// reasoning in the same way.
func (s *said) signed(t *testing.T) (n int) {
	t.Helper()
	for _, signature := range s.signatures {
		if packed, ours := strings.CutPrefix(signature, "weir.1."); ours {
			b, err := base64.RawURLEncoding.DecodeString(packed)
			if err != nil {
				t.Error(err)
			}
			if m := decode[map[string]string](t, b); m["signature"]+m["data"] == "" {
				continue
			}
		}
		n++
	}
	return n
}

func others(owned map[string]int, name string) (n int) {
	for other, k := range owned {
		if other != name {
			n += k
		}
	}
	return n
}

// wantSignatures checks the request that the upstream received last.
func (c *conformer) wantSignatures(t *testing.T, dialect string, owned map[string]int) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	body := string(c.sent[len(c.sent)-1].body)
	n := strings.Count(body, `"functions_state_id":"`) + strings.Count(body, `"encrypted_content":"`) + strings.Count(body, `"signature":"`) + strings.Count(body, `"thoughtSignature":"`) + strings.Count(body, `"redacted_thinking"`) - strings.Count(body, "skip_thought_signature_validator")
	if n != owned[dialect] || strings.Contains(body, "weir.1.") {
		t.Errorf("%s received %d signatures, %d are its own: %s", dialect, n, owned[dialect], body)
	}
}

// wantNotice checks that the record of a call has the notice that the client got.
func (a *account) wantNotice(t *testing.T, s style, is *said) {
	t.Helper()
	id := is.id
	if rest, ok := strings.CutPrefix(id, "msg_"); ok {
		id = "gen-" + rest
	}
	if s.name() == "messages" && strings.HasPrefix(is.model, "anthropic/") || s.name() == "gemini" && strings.HasPrefix(is.model, "gemini/") || s.name() == "responses" {
		return // the id is the provider's, or that of a stored response
	}
	var c struct{ Data struct{ Notice *string } }
	got := a.do(t, http.MethodGet, "/api/calls/"+id, nil)
	if err := json.Unmarshal(got.body, &c); err != nil || got.status != http.StatusOK {
		t.Fatalf("status %d, %v: %s", got.status, err, got.body)
	}
	if recorded := c.Data.Notice; (recorded != nil) != (is.notice != "") || recorded != nil && *recorded != is.notice {
		t.Errorf("recorded is %v, the client got %q", recorded, is.notice)
	}
}

// A provider may refuse reasoning that looks like its own but was altered, or is another model's. It is then called once more without that
// reasoning.
func TestReasoningRefused(t *testing.T) {
	t.Parallel()
	c := startConformer(t)
	for _, s := range styles {
		for _, on := range []string{"anthropic", "gemini"} {
			for _, stream := range []bool{false, true} {
				t.Run(s.name()+"/"+on+map[bool]string{true: "/stream", false: "/whole"}[stream], func(t *testing.T) {
					t.Parallel()
					a := c.newAccount(t)
					q := &ask{model: on + "/reason", effort: "low", tools: []string{"weather"}, turns: []turn{{role: "user", text: "How is it?"}}}
					first := a.mustAsk(t, s, q, stream)
					first.wantCall(t, "weather")
					q.model = on + "/chat" // whose signatures differ
					q.turns = append(q.turns, turn{role: "assistant", back: first.back}, turn{role: "user", results: []result{{id: first.calls[0].id, text: "Snow"}}})
					got := a.ask(t, s, q, stream)
					if got.status != http.StatusOK {
						t.Fatalf("status %d: %s", got.status, got.body)
					}
					read := s.whole
					if stream {
						read = s.stream
					}
					if after := read(t, got.body); !strings.Contains(after.text, "Snow") || !strings.Contains(after.notice, "another provider") {
						t.Errorf("%+v", after)
					}
					a.wantAttempts(t, got, 2)
					a.wantNothingHeld(t)
				})
			}
		}
	}
}

// If the provider uses the client's wire, it counts the tokens of a prompt, and gets the request byte for byte. For another wire, or if the
// provider refuses, the gateway counts them itself.
func TestCountTokensByWire(t *testing.T) {
	t.Parallel()
	c := startConformer(t)
	a := c.newAccount(t)
	const body = `{ "messages":[{"content":"%s Over the weir","role":"user"}], "model":"%s/chat"%s}`
	count := func(model, word, more string) (n int64, asked []sent) {
		got := a.send(t, http.MethodPost, "/v1/messages/count_tokens?beta=true", fmt.Appendf(nil, body, word, model, more), map[string]string{"Anthropic-Beta": "token-counting-2024-11-01"})
		if got.status != http.StatusOK {
			t.Fatalf("status %d: %s", got.status, got.body)
		}
		return decode[struct {
			N int64 `json:"input_tokens"`
		}](t, got.body).N, c.received(word)
	}
	n, asked := count("anthropic", "K-count", "")
	want := strings.Replace(fmt.Sprintf(body, "K-count", "anthropic", ""), `"anthropic/chat"`, `"chat"`, 1)
	if len(asked) != 1 || string(asked[0].body) != want || asked[0].path != "/v1/messages/count_tokens?beta=true" || asked[0].header.Get("Anthropic-Beta") != "token-counting-2024-11-01" {
		t.Errorf("the upstream was asked %+v, want %s", asked, want)
	}
	own, asked := count("openai", "K-ours", "")
	if len(asked) != 0 || own == n || own == 0 {
		t.Errorf("%d tokens by our own count, %d by the provider's, %d questions", own, n, len(asked))
	}
	refused, asked := count("anthropic", "K-ours", `,"max_tokens":5`) // the provider refuses this
	if len(asked) != 1 || refused != own {
		t.Errorf("%d tokens where the provider refuses, %d questions", refused, len(asked))
	}
	if spent := parse(t, a.credits(t).TotalUsage); spent != 0 {
		t.Errorf("%s was charged", spent)
	}
}
