package bedrock_test

import (
	"context"
	"encoding/binary"
	"hash/crc32"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/dialect/bedrock"
	"weir/internal/sim"
	"weir/internal/upstream"
	"weir/internal/upstream/upstreamtest"
)

func decode(body io.Reader, limits dialect.Limits) string {
	ep := endpoint(nil)
	return upstreamtest.DumpAll(new(bedrock.Dialect).Events(&dialect.Answer{Endpoint: ep, Length: -1, Limits: limits, Body: dialect.NewBody(body)}))
}

var roomy = dialect.Limits{Whole: 1 << 20, Stream: 1 << 20, Line: 64 << 10}

const (
	start = `{"role":"assistant"}`
	stop  = `{"stopReason":"end_turn"}`
)

// What streams say, event by event.
func TestStream(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, body, want string
	}{
		{"thoughts", event("messageStart", start) + event("contentBlockDelta", `{"contentBlockIndex":0,"delta":{"reasoningContent":{"text":"h\"m"}}}`) +
			event("contentBlockDelta", `{"contentBlockIndex":0,"delta":{"reasoningContent":{"signature":"c2ln"}}}`) + event("contentBlockStop", `{"contentBlockIndex":0}`) +
			event("contentBlockDelta", `{"contentBlockIndex":1,"delta":{"reasoningContent":{"redactedContent":"cg=="}}}`) + event("contentBlockDelta", `{"contentBlockIndex":2,"delta":{"text":"a"}}`) +
			event("messageStop", stop) + event("metadata", `{"usage":{"inputTokens":1,"outputTokens":2,"cacheReadInputTokens":3,"cacheWriteInputTokens":9,"cacheDetails":[{"ttl":"5m","inputTokens":4},{"ttl":"1h","inputTokens":5}]},"serviceTier":{"type":"flex"}}`),
			`[0] head{   } reasoning="h\"m" details=[{"type":"reasoning.text","index":0,"format":"anthropic-claude-v1","text":"h\"m"}]
[0] details=[{"type":"reasoning.text","index":0,"format":"anthropic-claude-v1","text":"","signature":"c2ln"}]
[0] details=[{"type":"reasoning.encrypted","index":1,"format":"anthropic-claude-v1","data":"cg=="}]
[0] text="a"
[0] finish=stop/end_turn
[0] usage{prompt=13 cached=3 written=4 completion=2 tier=flex} done
`},
		{"a call without arguments", event("contentBlockStart", `{"contentBlockIndex":0,"start":{"toolUse":{"toolUseId":"t","name":"f"}}}`) + event("contentBlockStop", `{"contentBlockIndex":0}`) + event("messageStop", `{"stopReason":"tool_use"}`),
			`[0] head{   } call0{t f ""}
[0] call0{  "" last}
[0] finish=tool_calls/tool_use
[0] done
`},
		{"events that nobody knows", event("somethingNew", `{"a":1}`) + event("contentBlockDelta", `{"contentBlockIndex":0,"delta":{"text":"a","new":1}}`) + event("messageStop", stop) + event("metadata", `{}`),
			`[0] head{   } text="a"
[0] finish=stop/end_turn
[0] done
`},
		{"broken off", event("contentBlockDelta", `{"contentBlockIndex":0,"delta":{"text":"a"}}`) + messageOf("exception", "throttlingException", `{"message":"slow down"}`),
			"[0] head{   } text=\"a\"\nfault rate_limit_exceeded next=1: The provider's rate limit is reached.\n"},
		{"an invalid request", messageOf("exception", "validationException", `{"message":"Input is too long for requested model."}`), "fault context_length_exceeded next=2: Input is too long for requested model.\n"},
		{"an error without words", message("\x0d:message-type\x07\x00\x05error\x0b:error-code\x07\x00\x01x\x0e:error-message\x07\x00\x02no", ""), "fault provider_unavailable next=1: The provider failed.\n"},
		{"no end", event("contentBlockDelta", `{"contentBlockIndex":0,"delta":{"text":"a"}}`), "[0] head{   } text=\"a\"\nfault provider_unavailable next=1: The provider ended its answer early.\n"},
		{"cost before the end", event("metadata", `{"usage":{"inputTokens":1}}`), "fault provider_unavailable next=1: The provider ended its answer early.\n"},
		{"a block that is none", event("contentBlockDelta", `{"delta":{"text":"a"}}`), "fault provider_unavailable next=1: The provider sent an invalid answer.\n"},
		{"headers of every type", message("\x01a\x00\x01b\x01\x01c\x02\x01\x01d\x03\x01\x02\x01e\x04\x01\x02\x03\x04\x01f\x05\x01\x02\x03\x04\x05\x06\x07\x08\x01g\x06\x00\x01\x01\x01h\x08\x01\x02\x03\x04\x05\x06\x07\x08\x01i\x09"+strings.Repeat("u", 16)+
			"\x0d:message-type\x07\x00\x05event\x0b:event-type\x07\x00\x0bmessageStop", stop), "[0] head{   } finish=stop/end_turn\n[0] done\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := decode(strings.NewReader(tc.body), roomy); got != tc.want {
				t.Errorf("got\n%swant\n%s", got, tc.want)
			}
		})
	}
}

// Messages that are not what they say are refused, and none of them makes us take memory for what does not come.
func TestFrames(t *testing.T) {
	t.Parallel()
	good := event("contentBlockDelta", `{"contentBlockIndex":0,"delta":{"text":"a"}}`)
	changed := func(at int, by byte) string {
		b := []byte(good)
		b[at] ^= by
		return string(b)
	}
	lengths := func(total, headers uint32) string {
		b := binary.BigEndian.AppendUint32(nil, total)
		b = binary.BigEndian.AppendUint32(b, headers)
		return string(binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))) + strings.Repeat("\x00", 16)
	}
	const unreadable, large, early = "invalid answer", "too large", "ended its answer early"
	for _, tc := range []struct{ name, body, want string }{
		{"the length", changed(3, 1), unreadable}, {"its checksum", changed(9, 1), unreadable}, {"a header", changed(15, 1), unreadable}, {"the payload", changed(len(good)-9, 1), unreadable},
		{"the checksum", changed(len(good)-1, 1), unreadable},
		{"shorter than anything", lengths(15, 0), unreadable}, {"headers longer than the message", lengths(20, 5), unreadable}, {"longer than allowed", lengths(64<<10+1, 0), large},
		{"longer than what comes", lengths(60<<10, 0), early}, {"half a length", good[:7], early}, {"half a message", good[:40], early},
		{"a header without a name", message("\x00\x07\x00\x00", "{}"), unreadable}, {"of no type", message("\x01a\x0a", "{}"), unreadable}, {"cut", message("\x01a\x07\x00\x05ab", "{}"), unreadable},
		{"cut in its length", message("\x01a\x07\x00", "{}"), unreadable}, {"cut in its name", message("\x09a", "{}"), unreadable},
		{"a stream that does not end", strings.Repeat(event("x", `{"p":`+q(strings.Repeat("x", 60<<10))+`}`), 20), large},
		{"no JSON", event("messageStop", "{"), unreadable}, {"a list", event("messageStop", "[]"), unreadable}, {"nothing", "", early},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := decode(strings.NewReader(tc.body), roomy); !strings.HasPrefix(got, "fault provider_unavailable next=1: ") || !strings.Contains(got, tc.want) {
				t.Errorf("%s, want %q", got, tc.want)
			}
		})
	}
}

// FuzzStream reads what a provider may send, whole and in pieces.
func FuzzStream(f *testing.F) {
	a := upstreamtest.Answer{Text: []string{"Hel", "lo"}, Reasoning: []string{"hm"}, Calls: []completion.ToolCall{{ID: "c", Name: "f", Arguments: []byte(`{"ö":1}`)}}, Finish: "tool_use"}
	f.Add([]byte(strings.Join(renderStream(a), "")))
	f.Add([]byte(renderWhole(a)))
	f.Add([]byte(messageOf("exception", "throttlingException", `{"message":"x"}`)))
	f.Add([]byte(message("\x01a\x09"+strings.Repeat("u", 16), "")))
	f.Fuzz(func(t *testing.T, body []byte) {
		want := decode(strings.NewReader(string(body)), roomy)
		if got := decode(oneByte{strings.NewReader(string(body))}, roomy); got != want {
			t.Errorf("in pieces\n%swhole\n%s", got, want)
		}
		if ended := strings.Contains(want, " done\n") || strings.Contains(want, "fault "); !ended {
			t.Errorf("neither an end nor a fault: %q", want)
		}
		// the same payload under right checksums reaches further
		if got := decode(strings.NewReader(event("contentBlockDelta", string(body))+event("messageStop", stop)), roomy); !strings.Contains(got, " done\n") && !strings.Contains(got, "fault ") {
			t.Errorf("neither an end nor a fault: %q", got)
		}
	})
}

// oneByte gives a byte a read.
type oneByte struct{ r io.Reader }

func (o oneByte) Read(p []byte) (int, error) { return o.r.Read(p[:min(1, len(p))]) }

// The simulator checks signatures as Amazon does, and what is sent as strictly.
func TestSimulator(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	srv := httptest.NewServer(sim.New(sim.Config{Key: "bearer-key", AWSKeyID: "AKIDEXAMPLE", AWSSecretKey: "secret/secret+secret", Now: func() time.Time { return now }}))
	t.Cleanup(srv.Close)
	for _, tc := range []struct {
		name, key string
		ok        bool
	}{
		{"signed", "AKIDEXAMPLE:secret/secret+secret", true}, {"signed with a session", "AKIDEXAMPLE:secret/secret+secret:session==", true}, {"a key", "bearer-key", true},
		{"wrongly signed", "AKIDEXAMPLE:secret", false}, {"a wrong key", "another-key", false},
	} {
		for _, stream := range []string{"false", "true"} {
			t.Run(tc.name+" stream "+stream, func(t *testing.T) {
				t.Parallel()
				c := upstreamtest.New(upstream.Config{Dialects: map[string]dialect.Dialect{"bedrock": new(bedrock.Dialect)}, Now: func() time.Time { return now }})
				defer c.Close()
				ep := endpoint(func(ep *catalog.Endpoint) {
					ep.UpstreamID, ep.Provider.BaseURL, ep.Provider.Key = "chat", srv.URL, tc.key
					ep.Provider.Quirks = catalog.Quirks{Region: "eu-west-1", ReasoningRequest: "thinking"}
				})
				req := fromChat(t, `"stream":`+stream+`,"max_tokens":8000,"reasoning":{"effort":"low"},"tools":[{"type":"function","function":{"name":"weather","parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}}],"messages":[{"role":"system","content":[{"type":"text","text":"be kind","cache_control":{"type":"ephemeral"}}]},{"role":"user","content":"weather"}]`)
				var details []string
				got := upstreamtest.Collect(func(yield func(*completion.Event, error) bool) {
					for ev, err := range c.Complete(context.Background(), ep, req, nil) {
						if ev != nil && ev.ReasoningDetails != nil {
							details = append(details, strings.Trim(string(ev.ReasoningDetails), "[]"))
						}
						if !yield(ev, err) {
							return
						}
					}
				})
				if !tc.ok {
					if got.Err == nil || got.Err.Details["reason"] != "upstream_auth" {
						t.Fatalf("%+v", got)
					}
					return
				}
				if got.Err != nil || len(got.Calls) != 1 || got.Calls[0].Name != "weather" || got.Reasoning == "" || got.Usage == nil || got.Finish != completion.ToolCalls {
					t.Fatalf("%+v", got)
				}
				// its reasoning goes back with the signature, and is known again
				call := got.Calls[0]
				req = fromChat(t, `"stream":`+stream+`,"max_tokens":8000,"reasoning":{"effort":"low"},"tools":[{"type":"function","function":{"name":"weather","parameters":{"type":"object"}}}],"messages":[{"role":"user","content":"weather"},
					{"role":"assistant","reasoning_details":[`+strings.Join(details, ",")+`],"tool_calls":[{"id":`+q(call.ID)+`,"type":"function","function":{"name":"weather","arguments":`+q(string(call.Arguments))+`}}]},
					{"role":"tool","tool_call_id":`+q(call.ID)+`,"content":"clear"}]`)
				if sent, err := new(bedrock.Dialect).Request(ep, req); err != nil || !strings.Contains(string(sent.Body), `"signature":`) {
					t.Fatalf("%s %v", sent.Body, err)
				}
				if got := upstreamtest.Collect(c.Complete(context.Background(), ep, req, nil)); got.Err != nil || !strings.Contains(got.Text, "clear") {
					t.Errorf("%+v", got)
				}
			})
		}
	}
}
