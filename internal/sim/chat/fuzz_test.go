package chat // the readers of foreign bytes are not for others to call

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"weir/internal/sim/kit"
)

// readers are those of all wires: what is taken gives a reply.
var readers = []func(body []byte) (*kit.Request, *kit.Refusal, func(*kit.Answer) *kit.Reply){
	func(body []byte) (*kit.Request, *kit.Refusal, func(*kit.Answer) *kit.Reply) {
		h := http.Header{"Anthropic-Version": {"2023-06-01"}, "Anthropic-Beta": {"all"}}
		m, refused := messagesRequest(h, body, false)
		if refused != nil {
			return nil, refused, nil
		}
		return m.Request, nil, func(a *kit.Answer) *kit.Reply { return (&messagesReply{ask: m.Request, answer: a}).reply() }
	},
	func(body []byte) (*kit.Request, *kit.Refusal, func(*kit.Answer) *kit.Reply) {
		q, refused := responsesRequest(&responseStore{}, body, false)
		if refused != nil {
			return nil, refused, nil
		}
		return q.Request, nil, func(a *kit.Answer) *kit.Reply {
			out := &responsesReply{q: q, answer: a}
			out.record()
			return out.reply()
		}
	},
	func(body []byte) (*kit.Request, *kit.Refusal, func(*kit.Answer) *kit.Reply) {
		g, refused := geminiRequest("reason", true, false, body)
		if refused != nil {
			return nil, refused, nil
		}
		return g.Request, nil, func(a *kit.Answer) *kit.Reply {
			return (&geminiReply{ask: g.Request, answer: a, show: true, created: time.Time{}}).reply(true)
		}
	},
	func(body []byte) (*kit.Request, *kit.Refusal, func(*kit.Answer) *kit.Reply) {
		b, refused := bedrockRequest("chat", body)
		if refused != nil {
			return nil, refused, nil
		}
		return b.Request, nil, func(a *kit.Answer) *kit.Reply { return (&bedrockReply{ask: b.Request, answer: a}).reply() }
	},
	func(body []byte) (*kit.Request, *kit.Refusal, func(*kit.Answer) *kit.Reply) {
		g, refused := gigachatRequest(&files{}, body)
		if refused != nil {
			return nil, refused, nil
		}
		return g.Request, nil, func(a *kit.Answer) *kit.Reply { return (&gigachatReply{ask: g.Request, answer: a}).reply() }
	},
	func(body []byte) (*kit.Request, *kit.Refusal, func(*kit.Answer) *kit.Reply) {
		a, refused := chatRequestFor(body, YandexModel)
		return a, refused, func(said *kit.Answer) *kit.Reply { return (&chatReply{on: yandexWire, ask: a, answer: said}).reply() }
	},
}

// Whatever comes, a reader takes it or refuses it in its wire's envelope; what it takes has an answer of valid JSON, whole and in pieces.
func FuzzRequests(f *testing.F) {
	for i, body := range []string{
		`{"model":"chat","max_tokens":9,"system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"image","source":{"type":"url","url":"https://x"}}]},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"n","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"r"}]}],"tools":[{"name":"n","input_schema":{"type":"object"}}],"tool_choice":{"type":"any"},"thinking":{"type":"adaptive"}}`,
		`{"model":"chat","input":[{"role":"user","content":[{"type":"input_text","text":"a"}]},{"type":"function_call","call_id":"c","name":"n","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"r"}],"tools":[{"type":"function","name":"n"},{"type":"namespace","name":"s","tools":[]}],"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"name":"n"}]},"reasoning":{"effort":"low","summary":"auto"},"text":{"format":{"type":"text"}},"include":["reasoning.encrypted_content"]}`,
		`{"contents":[{"role":"user","parts":[{"text":"a"},{"inlineData":{"mimeType":"text/plain","data":"YQ=="}}]},{"role":"model","parts":[{"functionCall":{"name":"n","args":{}},"thoughtSignature":"skip_thought_signature_validator"}]},{"role":"user","parts":[{"functionResponse":{"name":"n","response":{}}}]}],"tools":[{"function_declarations":[{"name":"n","parameters":{"type":"OBJECT","properties":{"a":{"type":"ARRAY","items":{"type":"STRING"}}}}}]}],"generationConfig":{"candidateCount":2,"thinkingConfig":{"includeThoughts":true}}}`,
		`{"messages":[{"role":"user","content":[{"text":"a"},{"cachePoint":{"type":"default"}}]},{"role":"assistant","content":[{"toolUse":{"toolUseId":"t","name":"n","input":{}}}]},{"role":"user","content":[{"toolResult":{"toolUseId":"t","content":[{"json":{}}]}}]}],"toolConfig":{"tools":[{"toolSpec":{"name":"n","inputSchema":{"json":{"type":"object"}}}}],"toolChoice":{"any":{}}},"system":[{"text":"s"}],"inferenceConfig":{"maxTokens":9}}`,
		`{"model":"chat","messages":[{"role":"user","content":"a"},{"role":"assistant","content":"","function_call":{"name":"n","arguments":{}}},{"role":"function","name":"n","content":"{}"}],"functions":[{"name":"n","parameters":{}}],"function_call":{"name":"n"}}`,
		`{"model":"gpt://f/chat","messages":[{"role":"user","content":"[[sim finish=refusal]] a"}]}`,
	} {
		f.Add(uint8(i), []byte(body))
	}
	host := kit.NewHost(context.Background(), context.Background(), kit.Config{})
	f.Fuzz(func(t *testing.T, which uint8, body []byte) {
		on := int(which) % len(readers)
		a, refused, write := readers[on](body)
		if refused != nil {
			if refused.Status < 400 || refused.Message == "" || !json.Valid((&kit.Wire{ErrorBody: geminiError}).ErrorBody(refused)) || !json.Valid(messagesError(refused)) {
				t.Fatalf("refused with %d %q", refused.Status, refused.Message)
			}
			return
		}
		if a.Knobs.Tokens+a.Knobs.Frames+a.N > 300 {
			return // long texts take long and show nothing more
		}
		answer := host.Reply(a)
		a.Stream = false
		if r := write(&answer); !json.Valid(r.Body()) || !json.Valid(r.EmptyBody()) {
			t.Fatalf("%q gave %q", body, r.Body())
		}
		a.Stream = true
		for f := range write(&answer).Frames {
			if (!json.Valid(f.Data) || bytes.ContainsAny(f.Data, "\r\n")) && f.Kind != kit.Done {
				t.Fatalf("%q gave the event %q", body, f.Data)
			}
		}
	})
}
