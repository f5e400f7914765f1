package e2e_test

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/ssestream"
)

func TestWrongKeys(t *testing.T) {
	t.Parallel()
	cases := map[string]string{
		"made up":      "sk-weir-v1-" + strings.Repeat("A", 49),
		"not a key":    "hello",
		"one changed":  theDemo.APIKey[:len(theDemo.APIKey)-1] + map[bool]string{true: "0", false: "1"}[theDemo.APIKey[len(theDemo.APIKey)-1] == '1'],
		"another's":    "sk-ant-api03-abc",
		"half a key":   theDemo.APIKey[:20],
		"with a space": theDemo.APIKey + " x",
	}
	for name, key := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := theDemo.client(t, withKey(key)).Chat.Completions.New(t.Context(), ask("sim/chat", "Hello."))
			_, said := refused(t, err, 401, "authentication")
			if strings.Contains(said.Message, key) {
				t.Errorf("the message repeats the key: %s", said.Message)
			}
		})
	}
}

func TestNoKey(t *testing.T) {
	t.Parallel()
	_, err := theDemo.client(t, option.WithHeaderDel("Authorization")).Chat.Completions.New(t.Context(), ask("sim/chat", "Hello."))
	typed, _ := refused(t, err, 401, "authentication")
	if got := typed.Response.Header.Get("WWW-Authenticate"); got != "Bearer" {
		t.Errorf("WWW-Authenticate is %q", got)
	}
}

func TestManagementKeyCannotCallModels(t *testing.T) {
	t.Parallel()
	_, err := theDemo.client(t, withKey(theDemo.ManagementKey)).Chat.Completions.New(t.Context(), ask("sim/chat", "Hello."))
	refused(t, err, 403, "permission_denied")
}

func TestUnknownModel(t *testing.T) {
	t.Parallel()
	for _, model := range []string{"sim/nobody", "nobody/chat", "chat", "sim/chat:nonsense"} {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			_, err := theDemo.client(t).Chat.Completions.New(t.Context(), ask(model, "Hello."))
			refused(t, err, 404, "model_not_found")
		})
	}
}

func TestUnknownRoute(t *testing.T) {
	t.Parallel()
	client := openai.NewClient(option.WithBaseURL(theDemo.api()), option.WithAPIKey(theDemo.APIKey), option.WithMaxRetries(0)) // unchecked: the document does not have the route
	err := client.Get(t.Context(), "nothing/here", nil, nil)
	refused(t, err, 404, "not_found")
	err = client.Delete(t.Context(), "chat/completions", nil, nil)
	typed, _ := refused(t, err, 405, "method_not_allowed")
	if allow := typed.Response.Header.Get("Allow"); !strings.Contains(allow, http.MethodPost) {
		t.Errorf("Allow is %q", allow)
	}
}

func TestBadRequests(t *testing.T) {
	t.Parallel()
	user := func(content any) map[string]any { return map[string]any{"role": "user", "content": content} }
	cases := []struct {
		name, param, errorType string
		change                 func(body map[string]any)
	}{
		{"no messages", "messages", "invalid_prompt", func(b map[string]any) { delete(b, "messages") }},
		{"empty messages", "messages", "invalid_prompt", func(b map[string]any) { b["messages"] = []any{} }},
		{"messages is text", "messages", "invalid_request", func(b map[string]any) { b["messages"] = "hello" }},
		{"unknown role", "messages[0].role", "invalid_prompt", func(b map[string]any) { b["messages"] = []any{map[string]any{"role": "queen", "content": "x"}} }},
		{"content is a number", "messages[1].content", "invalid_request", func(b map[string]any) { b["messages"] = []any{user("a"), user(5)} }},
		{"no model", "model", "invalid_request", func(b map[string]any) { delete(b, "model") }},
		{"model is a list", "model", "invalid_request", func(b map[string]any) { b["model"] = []string{"sim/chat"} }},
		{"temperature too high", "temperature", "invalid_request", func(b map[string]any) { b["temperature"] = 2.5 }},
		{"temperature is text", "temperature", "invalid_request", func(b map[string]any) { b["temperature"] = "warm" }},
		{"n is zero", "n", "invalid_request", func(b map[string]any) { b["n"] = 0 }},
		{"max_tokens below one", "max_tokens", "invalid_request", func(b map[string]any) { b["max_tokens"] = -1 }},
		{"max_tokens is no integer", "max_tokens", "invalid_request", func(b map[string]any) { b["max_tokens"] = 1.5 }},
		{"top_logprobs alone", "top_logprobs", "invalid_request", func(b map[string]any) { b["top_logprobs"] = 3 }},
		{"stream is text", "stream", "invalid_request", func(b map[string]any) { b["stream"] = "yes" }},
		{"two efforts", "reasoning_effort", "invalid_request", func(b map[string]any) {
			b["reasoning"], b["reasoning_effort"] = map[string]any{"effort": "low"}, "high"
		}},
		{"provider sort", "provider.sort", "invalid_request", func(b map[string]any) { b["provider"] = map[string]any{"sort": "colour"} }},
		{"too many models", "models", "invalid_request", func(b map[string]any) {
			b["models"] = strings.Split("a/1 a/2 a/3 a/4 a/5 a/6 a/7 a/8 a/9 a/10 a/11", " ")
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			body := map[string]any{"model": "sim/chat", "messages": []any{user("Hello.")}}
			c.change(body)
			err := theDemo.client(t).Post(sendingWrong(t.Context()), "chat/completions", body, nil)
			_, said := refused(t, err, 400, c.errorType)
			if said.Metadata["param"] != c.param {
				t.Errorf("param is %v, want %s; the message is %q", said.Metadata["param"], c.param, said.Message)
			}
		})
	}
}

func TestBrokenJSON(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"cut":            `{"model":"sim/chat","messages":[`,
		"two values":     `{"model":"sim/chat","messages":[{"role":"user","content":"x"}]} {}`,
		"duplicate name": `{"model":"sim/chat","model":"sim/echo","messages":[{"role":"user","content":"x"}]}`,
		"not UTF-8":      "{\"model\":\"sim/chat\",\"messages\":[{\"role\":\"user\",\"content\":\"\xff\"}]}",
		"a list":         `[]`,
		"nothing":        ``,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := theDemo.client(t).Post(sendingWrong(t.Context()), "chat/completions", nil, nil,
				option.WithRequestBody("application/json", []byte(body)))
			var typed *openai.Error
			if !errors.As(err, &typed) || typed.StatusCode != 400 {
				t.Fatalf("got %v, want 400", err)
			}
		})
	}
}

// TestUpstreamFailures tests failures of a provider before the first content: the SDK raises a typed error in both modes.
func TestUpstreamFailures(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, marker, errorType string
		status                  int
	}{
		{"closes at once", "fault=u2", "provider_unavailable", 502},
		{"rate limited", "fault=u9 retry-after=7", "rate_limit_exceeded", 429},
		{"account refused", "fault=u13", "provider_unavailable", 502},
		{"broken", "fault=u15", "provider_unavailable", 502},
		{"overloaded", "fault=u16", "provider_overloaded", 503},
		{"redirects", "fault=u17", "provider_unavailable", 502},
		{"rubbish", "fault=u18", "provider_unavailable", 502},
	}
	own := ownDemo(t) // these failures eject the provider's endpoints, which must not affect other tests
	for _, c := range cases {
		for _, streamed := range []bool{false, true} {
			params := ask("sim/chat", "Hello. [[sim "+c.marker+"]]")
			client := own.client(t)
			var err error
			if streamed {
				reading := client.Chat.Completions.NewStreaming(t.Context(), params)
				for reading.Next() {
					t.Errorf("%s: a chunk from a provider that failed: %s", c.name, reading.Current().RawJSON())
				}
				err = reading.Err()
			} else {
				_, err = client.Chat.Completions.New(t.Context(), params)
			}
			t.Logf("%s, streamed %v: %v", c.name, streamed, err)
			var typed *openai.Error
			// After several failures in a row the endpoint is ejected for a while, and the response is 503 with Retry-After.
			if errors.As(err, &typed) && typed.StatusCode == 503 && typed.Response.Header.Get("Retry-After") != "" {
				continue
			}
			typed, _ = refused(t, err, c.status, c.errorType)
			if wait, err := strconv.Atoi(typed.Response.Header.Get("Retry-After")); c.status == 429 && (err != nil || wait != 7) {
				t.Errorf("%s: Retry-After is %q, want the provider's 7", c.name, typed.Response.Header.Get("Retry-After"))
			}
		}
	}
}

// TestBrokenStream tests a provider that dies after the first content: the received part is delivered, then the SDK raises an error. It
// never returns a part as a complete answer.
func TestBrokenStream(t *testing.T) {
	t.Parallel()
	for name, marker := range map[string]string{
		"ends early":  "fault=u7 after=3 frames=10",
		"resets":      "fault=u6 after=3 frames=10",
		"broken JSON": "fault=u27 after=3 frames=10",
		"error in it": "fault=u19 after=3 frames=10",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			own := ownDemo(t)
			reading := own.client(t).Chat.Completions.NewStreaming(t.Context(), ask("sim/chat", "A long story. [["+"sim "+marker+"]]"))
			content := ""
			for reading.Next() {
				for _, choice := range reading.Current().Choices {
					content += choice.Delta.Content
					if choice.FinishReason == "stop" {
						t.Error("the broken stream claims to have finished")
					}
				}
			}
			var broken *ssestream.StreamError
			if !errors.As(reading.Err(), &broken) {
				t.Fatalf("the SDK raised %v, want an error in the stream", reading.Err())
			}
			if content == "" {
				t.Error("what came before the break was lost")
			}
			if !strings.Contains(string(broken.Event.Data), `"error_type"`) {
				t.Errorf("the error frame has no error_type: %s", broken.Event.Data)
			}
		})
	}
}

func TestFallbackModel(t *testing.T) {
	t.Parallel()
	client := ownDemo(t).client(t)
	// The provider breaks off on the first call with an id and serves later ones.
	failing := func(id string) openai.ChatCompletionNewParams {
		return ask("sim/chat", "Hello. [[sim fault=u15 times=1 id="+id+"]]")
	}
	next := option.WithJSONSet("models", []string{"sim/echo"})
	if answer := complete(t, client, failing("plain"), next); answer.Model != "sim/echo" {
		t.Errorf("served by %q, want the fallback", answer.Model)
	}
	if whole, _ := stream(t, client, failing("streamed"), next); whole.Model != "sim/echo" {
		t.Errorf("streamed by %q, want the fallback", whole.Model)
	}
}

func TestHangingUp(t *testing.T) {
	t.Parallel()
	own := ownDemo(t)
	client := openai.NewClient(option.WithBaseURL(own.api()), option.WithAPIKey(own.APIKey), option.WithMaxRetries(0)) // unchecked: the stream is not read to its end
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	reading := client.Chat.Completions.NewStreaming(ctx, ask("sim/chat", "On and on. [[sim frames=1000 gap=20ms]]"))
	if !reading.Next() {
		t.Fatal(explain(reading.Err()))
	}
	id := reading.Current().ID
	reading.Close()
	// The delivered part is charged, and the record says that the client disconnected.
	checkedClient := own.client(t)
	for {
		var found generation
		err := checkedClient.Get(ctx, "generation", nil, &found, option.WithQuery("id", id))
		if err == nil {
			if !found.Data.Cancelled {
				t.Errorf("the generation is not marked as cancelled: %+v", found.Data)
			}
			return
		}
		var typed *openai.Error
		if !errors.As(err, &typed) || typed.StatusCode != 404 {
			t.Fatalf("GET generation: %v", explain(err))
		}
	}
}
