package responses_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"weir/internal/fault"
	"weir/internal/wire/responses"
)

// What belongs to the socket goes, wherever it stands, and the rest is the request as it was.
func TestUnframe(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		message, body string
		frame         responses.Frame
	}{
		"first":                    {`{"type":"response.create","model":"a/b","input":"hi"}`, `{"stream":true,"model":"a/b","input":"hi"}`, responses.Frame{}},
		"last":                     {`{"model":"a/b","input":"hi","type":"response.create"}`, `{"stream":true,"model":"a/b","input":"hi"}`, responses.Frame{}},
		"in the middle":            {`{"model":"a/b" , "type" : "response.create" , "input":"hi"}`, `{"stream":true,"model":"a/b","input":"hi"}`, responses.Frame{}},
		"alone":                    {`{"type":"response.create"}`, `{"stream":true}`, responses.Frame{}},
		"all of them, and nothing": {` { "generate" : false , "stream_id" : "main.1_a-b" , "type" : "response.create" } `, `{"stream":true}`, responses.Frame{Stream: "main.1_a-b", Warm: true}},
		"the last two":             {`{"model":"a/b","type":"response.create","generate":true}`, `{"stream":true,"model":"a/b"}`, responses.Frame{}},
		"null is nothing":          {`{"stream_id":null,"type":"response.create","generate":null,"model":"a/b"}`, `{"stream":true,"model":"a/b"}`, responses.Frame{}},
		"members of the request":   {`{"type":"response.create","input":[{"type":"message","stream_id":"x","generate":false}],"background":false}`, `{"stream":true,"input":[{"type":"message","stream_id":"x","generate":false}],"background":false}`, responses.Frame{}},
		"a stream of its own":      {`{"stream":false,"type":"response.create","model":"a/b"}`, `{"stream":true,"model":"a/b"}`, responses.Frame{}},
		"an escape in the type":    {`{"type":"response.cre\u0061te","model":"a/b"}`, `{"stream":true,"model":"a/b"}`, responses.Frame{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := []byte(c.message)
			frame, err := responses.Unframe(b)
			if err != nil || frame != c.frame {
				t.Fatalf("%+v %v", frame, err)
			}
			var got, want any
			if err := json.Unmarshal(b, &got); err != nil {
				t.Fatalf("%s: %v", b, err)
			}
			if err := json.Unmarshal([]byte(c.body), &want); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s", b)
			}
		})
	}
}

func TestUnframeRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		message, param string
		kind           fault.Kind
	}{
		"no JSON":          {`{"type":"response.create"`, "", fault.Invalid},
		"nothing":          {``, "", fault.Invalid},
		"no object":        {`["response.create"]`, "", fault.Invalid},
		"a name twice":     {`{"type":"response.create","type":"response.create"}`, "type", fault.DuplicateKey},
		"no type":          {`{"model":"a/b"}`, "type", fault.Invalid},
		"an unknown type":  {`{"type":"response.cancel"}`, "type", fault.Invalid},
		"a type of before": {`{"type":"response.append","input":[]}`, "type", fault.Invalid},
		"a number as type": {`{"type":1}`, "type", fault.Invalid},
		"an empty stream":  {`{"type":"response.create","stream_id":""}`, "stream_id", fault.Invalid},
		"a long stream":    {`{"type":"response.create","stream_id":"` + strings.Repeat("a", 257) + `"}`, "stream_id", fault.Invalid},
		"a strange stream": {`{"type":"response.create","stream_id":"a b"}`, "stream_id", fault.Invalid},
		"a stream's kind":  {`{"type":"response.create","stream_id":7}`, "stream_id", fault.Invalid},
		"generate is text": {`{"type":"response.create","generate":"false"}`, "generate", fault.Invalid},
		"background":       {`{"type":"response.create","background":true}`, "background", fault.Invalid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := responses.Unframe([]byte(c.message))
			if e := fault.From(err); err == nil || e.Kind != c.kind || e.Param != c.param {
				t.Errorf("%#v", err)
			}
		})
	}
}

// FuzzUnframe: whatever a client sends, what is left of a message is JSON and has nothing of the socket, and all else of it is there.
func FuzzUnframe(f *testing.F) {
	for _, s := range []string{
		`{"type":"response.create","model":"a/b","input":"hi"}`, `{"generate":false,"type":"response.create"}`, ` { "a" : 1 , "type" : "response.create" , "stream_id":"x" } `,
		`{"type":"response.processed","response_id":"resp_1"}`, `{"typ\u0065":"response.create"}`, `{"type":"response.create","background":true}`, `[]`, ``, "{\"a\":\"\xff\"}",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		responses.Acknowledges(message)
		var before map[string]json.RawMessage
		sound := json.Unmarshal(message, &before) == nil
		b := []byte(string(message))
		frame, err := responses.Unframe(b)
		if err != nil {
			return
		}
		var after map[string]json.RawMessage
		if err := json.Unmarshal(b, &after); err != nil || !sound {
			t.Fatalf("%q became %q: %v", message, b, err)
		}
		if string(after["stream"]) != "true" {
			t.Fatalf("%q has no stream", b)
		}
		delete(after, "stream")
		delete(before, "stream")
		for _, name := range []string{"type", "stream_id", "generate"} {
			if _, there := after[name]; there {
				t.Fatalf("%s is left in %q", name, b)
			}
			delete(before, name)
		}
		if !reflect.DeepEqual(before, after) {
			t.Fatalf("%q became %q", message, b)
		}
		if strings.ContainsAny(frame.Stream, "\"\\\n ") {
			t.Fatalf("stream %q", frame.Stream)
		}
	})
}
