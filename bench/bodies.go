package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
)

// The bodies are the same in every run, because a seeded generator writes them.

type message struct {
	Role    string `json:"role"`
	Content any    `json:"content"`
}

type part struct {
	Type  string `json:"type"`
	Text  string `json:"text,omitempty"`
	Image *image `json:"image_url,omitempty"`
}

type image struct {
	URL string `json:"url"`
}

type chatBody struct {
	Model       string         `json:"model"` // first, where the mock expects it
	Messages    []message      `json:"messages"`
	Temperature float64        `json:"temperature"`
	MaxTokens   int            `json:"max_tokens"`
	Stream      bool           `json:"stream,omitempty"`
	Options     map[string]any `json:"stream_options,omitempty"`
}

// bodies generates the request bodies of one run.
type bodies struct{ random *rand.Rand }

func newBodies() *bodies { return &bodies{rand.New(rand.NewPCG(1, 2))} }

var vocabulary = strings.Fields("water stone bridge mill river level gate flow spring autumn measure meadow \"quoted\" path\\name été мост")

func (b *bodies) prose(size int) string {
	var text strings.Builder
	for text.Len() < size {
		text.WriteString(vocabulary[b.random.IntN(len(vocabulary))])
		text.WriteByte(' ')
	}
	return text.String()
}

// chat returns a body of about size bytes; a long one is a conversation, as agents send it.
func (b *bodies) chat(model string, size int) []byte {
	messages := []message{{"system", "Answer in one sentence."}}
	turns := max(1, size/10_000) | 1 // odd, so that the last turn is the user's
	for i := range turns {
		role := "user"
		if i%2 == 1 {
			role = "assistant"
		}
		messages = append(messages, message{role, b.prose((size - 200) / turns)})
	}
	return encode(chatBody{Model: model, Messages: messages, Temperature: 0.5, MaxTokens: 256})
}

func (b *bodies) stream(model string, size int) []byte {
	return encode(chatBody{Model: model, Messages: []message{{"user", b.prose(size - 200)}}, Temperature: 0.5, MaxTokens: 256,
		Stream: true, Options: map[string]any{"include_usage": true}})
}

func (b *bodies) imageRequest(model string, size int) []byte {
	pixels := make([]byte, size/4*3)
	for i := range pixels {
		pixels[i] = byte(b.random.Uint32())
	}
	parts := []part{
		{Type: "text", Text: "What does this show?"},
		{Type: "image_url", Image: &image{"data:image/png;base64," + base64.StdEncoding.EncodeToString(pixels)}},
	}
	return encode(chatBody{Model: model, Messages: []message{{"user", parts}}, Temperature: 0.5, MaxTokens: 256})
}

func encode(v any) []byte {
	body, err := json.Marshal(v)
	if err != nil {
		panic(err) // cannot happen: the value has only strings, numbers and lists
	}
	return body
}

// request returns the bytes of one POST of a chat.
func request(address, key string, body []byte) []byte {
	return post("/v1/chat/completions", address, key, body)
}

func post(path, address, key string, body []byte) []byte {
	var r bytes.Buffer
	fmt.Fprintf(&r, "POST "+path+" HTTP/1.1\r\nHost: %s\r\nUser-Agent: weir-bench\r\nAccept: application/json\r\n"+
		"Authorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", address, key, len(body))
	r.Write(body)
	return r.Bytes()
}
