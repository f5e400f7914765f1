package apptest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"maps"
	"net/http"
	"testing"
)

// Style is a wire of clients, as the grid needs it: it encodes neutral requests and decodes answers into a neutral form. It reads answers
// as the official SDKs do: by type and index, with fragments joined.
type Style interface {
	// path is the route; name is the style's name in the grid.
	Name() string
	Path(model string, stream bool) string
	Header() map[string]string
	Encode(*Ask) map[string]any
	Whole(t *testing.T, body []byte) *Said
	Stream(t *testing.T, body []byte) *Said
	Failure(body []byte) (kind, message string)
}

// Ask is one request, independent of any wire.
type Ask struct {
	Model     string
	System    string
	Mark      string // the system text is marked for caching: "5m", "1h"
	Turns     []Turn
	Tools     []string
	Must      string // tool to call; "*": any, "-": none
	Serial    bool
	Schema    string
	Effort    string // also "none"; "": the request does not mention reasoning
	MaxTokens int
	Stop      []string
	Images    bool // the answer may contain images
	Search    bool // offers a web search
	JSON      bool // the answer must be JSON, without a schema

	More map[string]any // further members of the body
}

// Turn is one message of a conversation.
type Turn struct {
	Role    string // "user", "assistant"
	Text    string
	Media   []string // "image", "pdf", "audio"
	Back    any      // the assistant's turn as it was received
	Calls   []Called // calls of the assistant, without text
	Results []Result
}

type Result struct {
	ID, Text string
	Image    bool
}

// Said is one answer, independent of any wire.
type Said struct {
	ID, Model       string
	Text, Reasoning string
	Calls           []Called
	Signatures      []string // a provider's values for checking its reasoning
	Images          int
	Finish          string // "stop", "length", "tools", "filter"
	Native          string // the finish reason of the wire, or of the provider behind it
	Prompt, Answer  int64
	Read, Written   int64 // cached tokens of the prompt
	Reasoned        int64 // tokens of the answer; -1: not reported
	Notice          string
	Back            any // the assistant's turn as a client sends it back
}

type Called struct{ ID, Name, Arguments string }

// ToolSchema is the schema of every tool. It allows only one call, so that the arguments are known.
const ToolSchema = `{"type":"object","properties":{"city":{"type":"string","enum":["Perm"]}},"required":["city"],"additionalProperties":false}`

func Raw(s string) json.RawMessage { return json.RawMessage(s) }

// Samples are media that every provider accepts, in base64.
var Samples = map[string]string{
	"image": base64.StdEncoding.EncodeToString(sampleImage()),
	"pdf":   base64.StdEncoding.EncodeToString(samplePDF("Water over stones")),
	"audio": base64.StdEncoding.EncodeToString([]byte("RIFF\x24\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\xc0\x5d\x00\x00\x80\xbb\x00\x00\x02\x00\x10\x00data\x00\x00\x00\x00")),
}

func samplePDF(text string) []byte {
	content := "BT /F 12 Tf 72 700 Td (" + text + ") Tj ET"
	return fmt.Appendf(nil, "%%PDF-1.4\n1 0 obj\n<</Type/Catalog/Pages 2 0 R>>\nendobj\n2 0 obj\n<</Type/Pages/Kids[3 0 R]/Count 1>>\nendobj\n"+
		"3 0 obj\n<</Type/Page/Parent 2 0 R/Contents 4 0 R/Resources<</Font<</F<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>>>\nendobj\n"+
		"4 0 obj\n<</Length %d>>\nstream\n%s\nendstream\nendobj\ntrailer\n<</Root 1 0 R>>\n", len(content), content)
}

func sampleImage() []byte {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 5, 3))); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// Decode reads JSON into a type, as a typed client does.
func Decode[T any](t *testing.T, b []byte) (v T) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v: %s", err, b)
	}
	return v
}

// Ask sends a request. In the messages style both kinds of key header have the same key.
func (a *Account) Ask(t *testing.T, s Style, q *Ask, stream bool) *Answer {
	t.Helper()
	body := s.Encode(q)
	maps.Copy(body, q.More)
	if s.Path(q.Model, stream) == SocketPath {
		return a.Socket(t).AskStyle(body, stream)
	}
	if stream && s.Name() != "gemini" {
		body["stream"] = true
	}
	b, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	return a.Send(t, http.MethodPost, s.Path(q.Model, stream), b, s.Header())
}

// MustAsk sends a request and reads its answer, which must succeed.
func (a *Account) MustAsk(t *testing.T, s Style, q *Ask, stream bool) *Said {
	t.Helper()
	got := a.Ask(t, s, q, stream)
	if got.Status != http.StatusOK {
		t.Fatalf("status %d: %s", got.Status, got.Body)
	}
	if stream {
		return s.Stream(t, got.Body)
	}
	return s.Whole(t, got.Body)
}
