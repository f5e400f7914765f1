package e2e_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
)

// anthropic returns the unmodified SDK, which sends its key as x-api-key. It does not retry, and must not search for other credentials.
func (d *demo) anthropic(t *testing.T, more ...option.RequestOption) *anthropic.Client {
	t.Helper()
	client := anthropic.NewClient(append([]option.RequestOption{
		option.WithoutEnvironmentDefaults(),
		option.WithBaseURL(strings.TrimSuffix(d.api(), "v1/")),
		option.WithAPIKey(d.APIKey),
		option.WithMaxRetries(0),
		option.WithHTTPClient(&http.Client{Timeout: time.Minute}),
	}, more...)...)
	return &client
}

// byWire runs check with one model on each provider wire. Clients of this style must see no difference.
func byWire(t *testing.T, persona string, check func(t *testing.T, model string)) {
	t.Helper()
	for _, model := range []string{"sim/" + persona + "-anthropic", "sim/" + persona + "-gemini", "sim/" + persona + "-bedrock", "sim/" + persona} {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			check(t, model)
		})
	}
}

func say(model, prompt string) anthropic.MessageNewParams {
	return anthropic.MessageNewParams{Model: model, MaxTokens: 4000, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(prompt))}}
}

func create(t *testing.T, client *anthropic.Client, params anthropic.MessageNewParams) *anthropic.Message {
	t.Helper()
	m, err := client.Messages.New(t.Context(), params)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// accumulate streams an answer, which the SDK assembles.
func accumulate(t *testing.T, client *anthropic.Client, params anthropic.MessageNewParams) *anthropic.Message {
	t.Helper()
	s := client.Messages.NewStreaming(t.Context(), params)
	defer s.Close()
	var m anthropic.Message
	n := 0
	for ; s.Next(); n++ {
		if err := m.Accumulate(s.Current()); err != nil {
			t.Fatalf("event %d: %v", n, err)
		}
	}
	if err := s.Err(); err != nil || n < 5 {
		t.Fatalf("%d events, %v", n, err)
	}
	return &m
}

func textOf(m *anthropic.Message) (text string) {
	for _, b := range m.Content {
		if b.Type == "text" {
			text += b.Text
		}
	}
	return text
}

func TestMessages(t *testing.T) {
	t.Parallel()
	byWire(t, "chat", func(t *testing.T, model string) {
		client := theDemo.anthropic(t)
		params := say(model, "What is a weir?")
		whole, streamed := create(t, client, params), accumulate(t, client, params)
		if textOf(whole) == "" || textOf(whole) != textOf(streamed) || whole.StopReason != "end_turn" || streamed.StopReason != "end_turn" || whole.Model != model {
			t.Errorf("whole %s\nstreamed %q", whole.RawJSON(), textOf(streamed))
		}
		if whole.Usage.InputTokens == 0 || whole.Usage.OutputTokens == 0 || whole.Usage.OutputTokens != streamed.Usage.OutputTokens {
			t.Errorf("usage %+v, streamed %+v", whole.Usage, streamed.Usage)
		}
		params.MaxTokens = 3
		if short := create(t, client, params); short.StopReason != "max_tokens" || short.Usage.OutputTokens > 3 {
			t.Errorf("%s", short.RawJSON())
		}
	})
}

// Thinking, a tool call, its result, and the thinking sent back with its signature: the simulator refuses thinking that it has not signed.
func TestMessagesToolsAndThinking(t *testing.T) {
	t.Parallel()
	for _, streamed := range []bool{false, true} {
		send := create
		if streamed {
			send = accumulate
		}
		byWire(t, "reason", func(t *testing.T, model string) {
			client := theDemo.anthropic(t)
			params := say(model, "How high is the water? [[sim calls=2]]")
			params.Thinking = anthropic.ThinkingConfigParamOfEnabled(1024)
			params.Tools = []anthropic.ToolUnionParam{
				anthropic.ToolUnionParamOfTool(anthropic.ToolInputSchemaParam{Properties: map[string]any{"river": map[string]any{"type": "string"}}, Required: []string{"river"}}, "water_level"),
				anthropic.ToolUnionParamOfTool(anthropic.ToolInputSchemaParam{Properties: map[string]any{}}, "time"),
			}
			for step := range 2 {
				m := send(t, client, params)
				var results []anthropic.ContentBlockParamUnion
				reasoning := false
				for _, b := range m.Content {
					reasoning = reasoning || b.Type == "thinking" && b.Thinking != "" && b.Signature != ""
					if b.Type == "tool_use" {
						results = append(results, anthropic.NewToolResultBlock(b.ID, "result of "+b.Name, false))
					}
				}
				if !reasoning || len(results) != 2 || m.StopReason != "tool_use" {
					t.Fatalf("step %d: %s, %+v", step, m.StopReason, m.Content)
				}
				params.Messages = append(params.Messages, m.ToParam(), anthropic.NewUserMessage(results...))
				after := send(t, client, params)
				if text := textOf(after); !strings.Contains(text, "result of water_level") || !strings.Contains(text, "result of time") || after.StopReason != "end_turn" {
					t.Fatalf("step %d: %+v", step, after.Content)
				}
				params.Messages = append(params.Messages, after.ToParam(), anthropic.NewUserMessage(anthropic.NewTextBlock("And now? [[sim calls=2]]")))
			}
		})
	}
}

func TestMessagesCountTokens(t *testing.T) {
	t.Parallel()
	byWire(t, "chat", func(t *testing.T, model string) {
		n, err := theDemo.anthropic(t).Messages.CountTokens(t.Context(), anthropic.MessageCountTokensParams{Model: model, Messages: say(model, "How long is this?").Messages})
		if err != nil || n.InputTokens < 3 || n.InputTokens > 50 {
			t.Errorf("%v %v", n, err)
		}
	})
}

// The SDK's beta methods call the same routes with ?beta=true, and list features in a header.
func TestMessagesBeta(t *testing.T) {
	t.Parallel()
	byWire(t, "chat", func(t *testing.T, model string) {
		m, err := theDemo.anthropic(t).Beta.Messages.New(t.Context(), anthropic.BetaMessageNewParams{
			Model: model, MaxTokens: 100, Betas: []anthropic.AnthropicBeta{"context-1m-2025-08-07"},
			Messages: []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("Hello."))},
		})
		if err != nil || len(m.Content) != 1 || m.Content[0].Text == "" {
			t.Errorf("%+v %v", m, err)
		}
	})
}

// refusedAs checks an error of the API as the SDK reports it.
func refusedAs(t *testing.T, err error, status int, kind string) *anthropic.Error {
	t.Helper()
	var failure *anthropic.Error
	if !errors.As(err, &failure) {
		t.Fatalf("%v is no error of the API", err)
	}
	if failure.StatusCode != status || string(failure.Type()) != kind || !strings.HasPrefix(failure.RequestID, "req_") {
		t.Errorf("status %d %s, request %q: %s", failure.StatusCode, failure.Type(), failure.RequestID, failure.RawJSON())
	}
	return failure
}

func TestMessagesErrors(t *testing.T) {
	t.Parallel()
	_, err := theDemo.anthropic(t, option.WithAPIKey("sk-ant-wrong")).Messages.New(t.Context(), say("sim/chat", "Hello."))
	refusedAs(t, err, 401, "authentication_error")
	_, err = theDemo.anthropic(t).Messages.New(t.Context(), say("claude-of-nobody", "Hello."))
	refusedAs(t, err, 404, "not_found_error")
}

// Failures of providers, as the SDK reports them. Each has a separate gateway, which would eject a provider after several failures.
func TestMessagesFaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fault  string
		status int
		kind   string
	}{{"u12", 400, "invalid_request_error"}, {"u9", 429, "rate_limit_error"}, {"u16", 529, "overloaded_error"}, {"u15", 502, "api_error"}} {
		t.Run(c.fault, func(t *testing.T) {
			t.Parallel()
			d := ownDemo(t)
			byWire(t, "chat", func(t *testing.T, model string) {
				params := say(model, "[[sim fault="+c.fault+"]] Hello.")
				_, err := d.anthropic(t).Messages.New(t.Context(), params)
				failure := refusedAs(t, err, c.status, c.kind)
				if wait := failure.Response.Header.Get("Retry-After"); (c.status == 429 || c.status == 529) && wait == "" {
					t.Error("no Retry-After")
				}
				s := d.anthropic(t).Messages.NewStreaming(t.Context(), params)
				if s.Next() {
					t.Error("an event of a stream that failed")
				}
				refusedAs(t, s.Err(), c.status, c.kind)
			})
		})
	}
	t.Run("retries", func(t *testing.T) { // by the SDK
		t.Parallel()
		d := ownDemo(t)
		byWire(t, "chat", func(t *testing.T, model string) {
			m, err := d.anthropic(t, option.WithMaxRetries(2)).Messages.New(t.Context(), say(model, "[[sim fault=u9 retry-after=1 times=1 id="+model+"]] Hello."))
			if err != nil || textOf(m) == "" {
				t.Error(err)
			}
		})
	})
	t.Run("broken streams", func(t *testing.T) {
		t.Parallel()
		d := ownDemo(t)
		byWire(t, "chat", func(t *testing.T, model string) {
			s := d.anthropic(t).Messages.NewStreaming(t.Context(), say(model, "[[sim fault=u6 after=3]] Hello."))
			n := 0
			for s.Next() {
				n++
			}
			if s.Err() == nil || n == 0 {
				t.Errorf("%d events and %v", n, s.Err())
			}
		})
	})
}
