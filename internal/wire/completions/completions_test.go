package completions_test

import (
	"bytes"
	"testing"

	"weir/internal/rawjson"
	"weir/internal/wire/chat"
	"weir/internal/wire/completions"
)

// FuzzDecode demands that what Decode takes is a body in which the chat style finds the prompt, and nothing else in the messages.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"model":"a/b","prompt":"x"}`, `{"model":"a/b","prompt":["x"],"echo":true,"n":2,"best_of":2,"stream":true}`, `{"model":"a/b","prompt":"x","logprobs":3,"max_tokens":5}`,
		`{"model":"a/b","prompt":"é\ud83d\ude00","suffix":null,"stop":["a"]}`, `[]`, `{"prompt":[[1]]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		out, _, err := completions.Decode(body)
		if err != nil {
			return
		}
		if err := rawjson.Check(out, rawjson.Defaults); err != nil && rawjson.Check(body, rawjson.Defaults) == nil && !bytes.Contains(body, []byte("messages")) {
			t.Fatalf("%s became %s: %v", body, out, err)
		}
		req, err := chat.Decode(out)
		if err != nil {
			return
		}
		prompt := rawjson.Find(body, "prompt")
		if e := rawjson.ElementsOf(prompt); rawjson.KindOf(prompt) == rawjson.Array && e.Next() {
			prompt = e.Value
		}
		message := rawjson.ElementsOf(req.Body[req.MessagesAt.Start:req.MessagesAt.End])
		if !message.Next() || rawjson.TextAt(message.Value, "content") != rawjson.Text(prompt) || rawjson.TextAt(message.Value, "role") != "user" || message.Next() {
			t.Fatalf("%s became %s", body, out)
		}
	})
}

// The texts of a stream are those of the chat style, in one frame each; the prompt comes once for each choice, and frames without a text are left out.
func TestWriter(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, echo, want string }{
		{"a role alone", `data: {"id":"g","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}` + "\n\n", "", ""},
		{"a text", `data: {"id":"g","object":"chat.completion.chunk","choices":[{"index":1,"delta":{"content":"a\nb"},"finish_reason":null,"logprobs":null}]}` + "\n\n", "P",
			`data: {"id":"g","object":"text_completion","choices":[{"text":"Pa\nb","index":1,"logprobs":null,"finish_reason":null}]}` + "\n\n"},
		{"an end without a text, and the mark", `data: {"id":"g","object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"stop","native_finish_reason":"end"}],"usage":{"cost":1}}` + "\n\ndata: [DONE]\n\n", "P",
			`data: {"id":"g","object":"text_completion","choices":[{"text":"P","index":0,"logprobs":null,"finish_reason":"stop","native_finish_reason":"end"}],"usage":{"cost":1}}` + "\n\ndata: [DONE]\n\n"},
		{"a comment", ": keep-alive\n\n", "", ": keep-alive\n\n"},
		{"an error alone", `data: {"error":{"code":502,"message":"x"}}` + "\n\n", "", `data: {"error":{"code":502,"message":"x"}}` + "\n\n"},
		{"the usage alone", `data: {"id":"g","object":"chat.completion.chunk","choices":[],"usage":{"cost":1}}` + "\n\n", "", `data: {"id":"g","object":"text_completion","choices":[],"usage":{"cost":1}}` + "\n\n"},
		{"reasoning", `data: {"id":"g","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"reasoning":"r"},"finish_reason":null}]}` + "\n\n", "P",
			`data: {"id":"g","object":"text_completion","choices":[{"text":"","index":0,"logprobs":null,"finish_reason":null,"reasoning":"r"}]}` + "\n\n"},
		{"a whole answer", `{"id":"g","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":null,"refusal":"no"},"finish_reason":"content_filter"}]}`, "",
			`{"id":"g","object":"text_completion","choices":[{"text":"no","index":0,"logprobs":null,"finish_reason":"content_filter"}]}`},
	} {
		var out bytes.Buffer
		w := completions.NewWriter(&out, completions.Asked{Echo: c.echo})
		if n, err := w.Write([]byte(c.in)); n != len(c.in) || err != nil {
			t.Errorf("%s: %d %v", c.name, n, err)
		}
		if out.String() != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, out.String(), c.want)
		}
	}
}
