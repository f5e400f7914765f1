package e2e_test

import (
	"encoding/json"
	"errors"
	"math/big"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// site is the address of the demo, without a slash at its end.
func (d *demo) site() string { return strings.TrimSuffix(strings.TrimSuffix(d.BaseURL, "/"), "/v1") }

// api returns the base URL for SDKs.
func (d *demo) api() string { return d.site() + "/v1/" }

// client returns the unmodified SDK with a checking transport. It does not retry, so that a test gets the first answer.
func (d *demo) client(t *testing.T, more ...option.RequestOption) *openai.Client {
	t.Helper()
	client := openai.NewClient(append([]option.RequestOption{
		option.WithBaseURL(d.api()),
		option.WithAPIKey(d.APIKey),
		option.WithMaxRetries(0),
		option.WithHTTPClient(&http.Client{Transport: &checked{t, d.contract}, Timeout: time.Minute}),
	}, more...)...)
	return &client
}

func withKey(key string) option.RequestOption { return option.WithAPIKey(key) }

// ask returns the shortest request: one user message.
func ask(model, prompt string) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{Model: model, Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(prompt)}}
}

// complete sends a request that must succeed.
func complete(t *testing.T, client *openai.Client, params openai.ChatCompletionNewParams, more ...option.RequestOption) *openai.ChatCompletion {
	t.Helper()
	answer, err := client.Chat.Completions.New(t.Context(), params, more...)
	if err != nil {
		t.Fatalf("chat completion: %v", explain(err))
	}
	return answer
}

// stream sends a request that must succeed. It returns the answer as the SDK assembled it, and its chunks.
func stream(t *testing.T, client *openai.Client, params openai.ChatCompletionNewParams, more ...option.RequestOption) (*openai.ChatCompletionAccumulator, []openai.ChatCompletionChunk) {
	t.Helper()
	reading := client.Chat.Completions.NewStreaming(t.Context(), params, more...)
	defer reading.Close()
	var whole openai.ChatCompletionAccumulator
	var chunks []openai.ChatCompletionChunk
	for reading.Next() {
		chunk := reading.Current()
		chunks = append(chunks, chunk)
		if !whole.AddChunk(chunk) {
			t.Fatalf("the SDK cannot put chunk %d together with the ones before: %s", len(chunks), chunk.RawJSON())
		}
	}
	if err := reading.Err(); err != nil {
		t.Fatalf("stream: %v", explain(err))
	}
	if len(chunks) == 0 {
		t.Fatal("the stream is empty")
	}
	return &whole, chunks
}

// explain adds the body to an SDK error, whose text lacks it.
func explain(err error) error {
	var failure *openai.Error
	if errors.As(err, &failure) {
		return errors.New(failure.Error() + ": " + failure.RawJSON())
	}
	return err
}

// failure is an error body of the gateway.
type failure struct {
	Code     int            `json:"code"`
	Message  string         `json:"message"`
	Metadata map[string]any `json:"metadata"`
}

// refused checks that err is the SDK's error type with that status, and returns the body.
func refused(t *testing.T, err error, status int, errorType string) (*openai.Error, failure) {
	t.Helper()
	var typed *openai.Error
	if !errors.As(err, &typed) {
		t.Fatalf("got %v, want the SDK's error with status %d", err, status)
	}
	var said failure
	if err := json.Unmarshal([]byte(typed.RawJSON()), &said); err != nil {
		t.Fatalf("the error body: %v: %s", err, typed.RawJSON())
	}
	if typed.StatusCode != status || said.Code != status {
		t.Fatalf("status %d, code %d, want %d: %s", typed.StatusCode, said.Code, status, typed.RawJSON())
	}
	if said.Message == "" || said.Metadata == nil {
		t.Errorf("an error needs a message and metadata: %s", typed.RawJSON())
	}
	if got := said.Metadata["error_type"]; got != errorType {
		t.Errorf("error_type is %v, want %s: %s", got, errorType, typed.RawJSON())
	}
	return typed, said
}

// text returns the text of the only answer, which must exist.
func text(t *testing.T, answer *openai.ChatCompletion) string {
	t.Helper()
	if len(answer.Choices) != 1 {
		t.Fatalf("%d choices, want 1: %s", len(answer.Choices), answer.RawJSON())
	}
	if answer.Choices[0].Message.Content == "" {
		t.Fatalf("the answer is empty: %s", answer.RawJSON())
	}
	return answer.Choices[0].Message.Content
}

// nano is an amount in 10^-9 rubles, parsed from decimal text without a float.
type nano int64

func nanos(t *testing.T, decimal string) nano {
	t.Helper()
	amount, ok := new(big.Rat).SetString(strings.Trim(decimal, `"`))
	if !ok || strings.ContainsAny(decimal, "eE") {
		t.Fatalf("%q is not a plain decimal number", decimal)
	}
	amount.Mul(amount, big.NewRat(1_000_000_000, 1))
	if !amount.IsInt() || !amount.Num().IsInt64() {
		t.Fatalf("%s has more than nine decimals or is too large", decimal)
	}
	return nano(amount.Num().Int64())
}

// costOf returns the cost in an answer.
func costOf(t *testing.T, usage openai.CompletionUsage) nano {
	t.Helper()
	field, ok := usage.JSON.ExtraFields["cost"]
	if !ok {
		t.Fatalf("usage has no cost: %s", usage.RawJSON())
	}
	return nanos(t, field.Raw())
}

// get reads one of the gateway's resources through the SDK's transport.
func get[T any](t *testing.T, client *openai.Client, path string, query url.Values) T {
	t.Helper()
	var into T
	var options []option.RequestOption
	for name, values := range query {
		options = append(options, option.WithQuery(name, values[0]))
	}
	if err := client.Get(t.Context(), path, nil, &into, options...); err != nil {
		t.Fatalf("GET %s: %v", path, explain(err))
	}
	return into
}
