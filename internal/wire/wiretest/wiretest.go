// Package wiretest has the tests that decoders and encoders of tasks share.
package wiretest

import (
	"bytes"
	"iter"
	"testing"

	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/rawjson"
	"weir/internal/relay"
	"weir/internal/task"
	"weir/internal/usage"
)

// Style is a style of requests for tasks.
type Style struct {
	Seeds  []string // bodies to begin with
	Decode func(body []byte) (*completion.Request, error)
	Texts  func(*completion.Request) iter.Seq[[]byte]
	Whole  func(*bytes.Buffer, *completion.Request) relay.Sink
	Result task.Result // of any request
}

// Fuzz looks for a body that is neither decoded into a valid request nor refused with an error that its client can parse.
func (s Style) Fuzz(f *testing.F) {
	for _, seed := range append(s.Seeds, `{}`, `[`, `{"model":null,"input":null}`) {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		req, err := s.Decode(body)
		if err != nil {
			if e := fault.From(err); e.Public == "" || e.Kind == fault.Internal {
				t.Fatalf("%v", err)
			}
			return
		}
		for range s.Texts(req) {
		}
		if len(req.Models) != 1 || req.Needs.PromptTokens < 0 || req.Needs.Longest > req.Needs.PromptTokens {
			t.Fatalf("%+v", req.Needs)
		}
		if out := s.answer(t, req); !rawjson.Valid(out) {
			t.Fatalf("not JSON: %s", out)
		}
	})
}

// Answer is the answer to a body.
func (s Style) Answer(t *testing.T, body string) []byte {
	t.Helper()
	req, err := s.Decode([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return s.answer(t, req)
}

func (s Style) answer(t *testing.T, req *completion.Request) []byte {
	t.Helper()
	var out bytes.Buffer
	sink := s.Whole(&out, req)
	for _, err := range []error{
		sink.Start(relay.Served{Model: "a/b", Head: completion.Head{Notice: "Something \"else\"."}}),
		sink.Event(&completion.Event{Result: &s.Result}),
		sink.End(relay.Receipt{Usage: usage.Usage{Prompt: usage.Of(3), Completion: usage.Of(0)}, Cost: 5 * money.Ruble}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}
