package app_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"weir/internal/app/apptest"
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
	c := apptest.StartConformer(t)
	a := c.NewAccount(t)
	for _, stream := range []bool{false, true} {
		body := fmt.Sprintf(exact, "reason", stream)
		got := a.Send(t, http.MethodPost, "/v1/messages?beta=true", []byte(body), map[string]string{
			"Authorization": "", "X-Api-Key": a.Key, "Anthropic-Version": "2026-10-21", "Anthropic-Beta": "context-1m-2025-08-07,interleaved-thinking-2025-05-14"})
		if got.Status != http.StatusOK {
			t.Fatalf("status %d: %s", got.Status, got.Body)
		}
		all := c.Received("K-exact")
		is := all[len(all)-1]
		if want := strings.Replace(body, `"anthropic\/reason"`, `"reason"`, 1); string(is.Body) != want {
			t.Errorf("the upstream received\n%q, want\n%q", is.Body, want)
		}
		h := is.Header
		if is.Path != "/v1/messages?beta=true" || h.Get("Anthropic-Version") != "2026-10-21" || h.Get("Anthropic-Beta") != "context-1m-2025-08-07,interleaved-thinking-2025-05-14" {
			t.Errorf("%s %v", is.Path, h)
		}
		if h.Get("X-Api-Key") != "sk-upstream-anthropic" || h.Get("Authorization") != "" || slices.Contains(h.Values("X-Api-Key"), a.Key) {
			t.Errorf("credentials %v", h)
		}
		// the same request, sent directly to the provider
		r := httptest.NewRequest(http.MethodPost, is.Path, bytes.NewReader(is.Body))
		r.Header = h.Clone()
		w := httptest.NewRecorder()
		c.Upstream.ServeHTTP(w, r)
		if want := strings.Replace(w.Body.String(), `"model":"reason"`, `"model":"anthropic/reason"`, 1); string(got.Body) != want {
			t.Errorf("the client received\n%s\nthe provider says\n%s", got.Body, want)
		}
	}
}

// From a request with the reasoning of another provider, only that reasoning is removed, and the client gets a notice.
func TestMessagesBytesWithForeignThinking(t *testing.T) {
	t.Parallel()
	c := apptest.StartConformer(t)
	a := c.NewAccount(t)
	q := &apptest.Ask{Model: "gemini/reason", Effort: "low", Tools: []string{"weather"}, Turns: []apptest.Turn{{Role: "user", Text: "K-foreign. How is the weather?"}}}
	s := a.MustAsk(t, messagesStyle{}, q, false)
	s.WantCall(t, "weather")
	back, err := json.Marshal(s.Back)
	if err != nil {
		t.Fatal(err)
	}
	var use string
	for _, b := range s.Back.([]map[string]any) {
		if b["type"] == "tool_use" {
			b, _ := json.Marshal(b)
			use = string(b)
		}
	}
	const form = `{"messages":[ {"role":"user","content":"K-foreign."},{"role":"assistant","content":%s},{"role":"user","content":[{"type":"tool_result","tool_use_id":"%s","content":"Snow"}]} ],` +
		`"tools":[{"name":"weather","input_schema":%s}],"thinking":%s,"max_tokens":4000, "model":"%s"}`
	body := fmt.Sprintf(form, back, s.Calls[0].ID, apptest.ToolSchema, `{"type":"enabled","budget_tokens":1024}`, "anthropic/reason")
	got := a.Send(t, http.MethodPost, "/v1/messages", []byte(body), map[string]string{"Anthropic-Version": "2023-06-01"})
	if got.Status != http.StatusOK {
		t.Fatalf("status %d: %s", got.Status, got.Body)
	}
	all := c.Received("K-foreign.")
	if is, want := string(all[len(all)-1].Body), fmt.Sprintf(form, "["+use+"]", s.Calls[0].ID, apptest.ToolSchema, `{"type":"disabled"}`, "reason"); is != want {
		t.Errorf("the upstream received\n%s, want\n%s", is, want)
	}
	if after := (messagesStyle{}).Whole(t, got.Body); !strings.Contains(after.Notice, "another provider") || !strings.Contains(after.Text, "Snow") {
		t.Errorf("%+v", after)
	}
}

// A conversation with tools and reasoning goes to another provider with each request. No provider refuses one. Each gets all of its own
// signatures and no others, and the client gets notices of what was removed.
func TestConversationAcrossProviders(t *testing.T) {
	t.Parallel()
	for _, s := range styles {
		t.Run(s.Name(), func(t *testing.T) {
			t.Parallel()
			c := apptest.StartConformer(t)
			a := c.NewAccount(t)
			owned := map[string]int{} // number of signatures that each dialect has made
			q := &apptest.Ask{Effort: "low", Tools: []string{"weather"}}
			var calls []apptest.Called
			names := []string{"openai", "anthropic", "gemini", "responses", "gigachat", "yandex"} // without Bedrock: it accepts signatures of Anthropic's wire, but the simulator does not
			for n := range 20 {
				on := apptest.TestDialect{Name: names[(n*5+n/3)%len(names)]} // in varying order
				q.Model = on.Name + "/reason"
				if calls == nil {
					q.Turns = append(q.Turns, apptest.Turn{Role: "user", Text: fmt.Sprintf("How is the weather on day %d?", n)})
				} else {
					q.Turns = append(q.Turns, apptest.Turn{Role: "user", Results: []apptest.Result{{ID: calls[0].ID, Text: fmt.Sprintf("Snow of day %d", n)}}})
				}
				answered := a.MustAsk(t, s, q, n%4 < 2)
				c.WantSignatures(t, on.Name, owned)
				foreign := others(owned, on.Name)
				began := on.Name == "anthropic" && calls != nil // another dialect began the turn; on the messages wire, reasoning cannot start in the middle of a turn
				if (answered.Notice != "") != (foreign > 0 || began) {
					t.Errorf("request %d to %s, with %d signatures of others: notice %q", n, on.Name, foreign, answered.Notice)
				}
				a.WantNotice(t, s, answered)
				if calls != nil && !strings.Contains(answered.Text, fmt.Sprintf("Snow of day %d", n)) || calls == nil && len(answered.Calls) != 1 {
					t.Fatalf("request %d: %+v", n, answered)
				}
				owned[on.Name] += answered.Signed(t)
				calls = answered.Calls
				q.Turns = append(q.Turns, apptest.Turn{Role: "assistant", Back: answered.Back})
			}
			total := c.Upstream.Stats().Total
			if total.Refused != 0 || total.Requests != 20 || owned["anthropic"] == 0 || owned["gemini"] == 0 {
				t.Errorf("%d requests, %d refused, signatures %v", total.Requests, total.Refused, owned)
			}
		})
	}
}

func others(owned map[string]int, name string) (n int) {
	for other, k := range owned {
		if other != name {
			n += k
		}
	}
	return n
}

// A provider may refuse reasoning that looks like its own but was altered, or is another model's. It is then called once more without that
// reasoning.
func TestReasoningRefused(t *testing.T) {
	t.Parallel()
	c := apptest.StartConformer(t)
	for _, s := range styles {
		for _, on := range []string{"anthropic", "gemini"} {
			for _, stream := range []bool{false, true} {
				t.Run(s.Name()+"/"+on+map[bool]string{true: "/stream", false: "/whole"}[stream], func(t *testing.T) {
					t.Parallel()
					a := c.NewAccount(t)
					q := &apptest.Ask{Model: on + "/reason", Effort: "low", Tools: []string{"weather"}, Turns: []apptest.Turn{{Role: "user", Text: "How is it?"}}}
					first := a.MustAsk(t, s, q, stream)
					first.WantCall(t, "weather")
					q.Model = on + "/chat" // whose signatures differ
					q.Turns = append(q.Turns, apptest.Turn{Role: "assistant", Back: first.Back}, apptest.Turn{Role: "user", Results: []apptest.Result{{ID: first.Calls[0].ID, Text: "Snow"}}})
					got := a.Ask(t, s, q, stream)
					if got.Status != http.StatusOK {
						t.Fatalf("status %d: %s", got.Status, got.Body)
					}
					read := s.Whole
					if stream {
						read = s.Stream
					}
					if after := read(t, got.Body); !strings.Contains(after.Text, "Snow") || !strings.Contains(after.Notice, "another provider") {
						t.Errorf("%+v", after)
					}
					a.WantAttempts(t, got, 2)
					a.WantNothingHeld(t)
				})
			}
		}
	}
}

// If the provider uses the client's wire, it counts the tokens of a prompt, and gets the request byte for byte. For another wire, or if the
// provider refuses, the gateway counts them itself.
func TestCountTokensByWire(t *testing.T) {
	t.Parallel()
	c := apptest.StartConformer(t)
	a := c.NewAccount(t)
	const body = `{ "messages":[{"content":"%s Over the weir","role":"user"}], "model":"%s/chat"%s}`
	count := func(model, word, more string) (n int64, asked []apptest.Sent) {
		got := a.Send(t, http.MethodPost, "/v1/messages/count_tokens?beta=true", fmt.Appendf(nil, body, word, model, more), map[string]string{"Anthropic-Beta": "token-counting-2024-11-01"})
		if got.Status != http.StatusOK {
			t.Fatalf("status %d: %s", got.Status, got.Body)
		}
		return apptest.Decode[struct {
			N int64 `json:"input_tokens"`
		}](t, got.Body).N, c.Received(word)
	}
	n, asked := count("anthropic", "K-count", "")
	want := strings.Replace(fmt.Sprintf(body, "K-count", "anthropic", ""), `"anthropic/chat"`, `"chat"`, 1)
	if len(asked) != 1 || string(asked[0].Body) != want || asked[0].Path != "/v1/messages/count_tokens?beta=true" || asked[0].Header.Get("Anthropic-Beta") != "token-counting-2024-11-01" {
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
	if spent := apptest.Parse(t, a.Credits(t).TotalUsage); spent != 0 {
		t.Errorf("%s was charged", spent)
	}
}
