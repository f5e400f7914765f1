package world_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// differences are members of what clients of a wire wrote that do not reach a provider of the same wire, or not so, and why.
var differences = []struct{ wire, path, why string }{
	{"", `\.model`, "the upstream's own name"},
	{"", `\.service_tier|\.background|\.usage|\.transforms`, "the gateway's own: endpoints have tiers, jobs and counts are kept here"},
	{"openai", `\.max_tokens|\.max_completion_tokens`, "sent under the name that the server knows: see capOf"},
	{"openai", `\.messages\[\]\.tool_calls\[\]\.index|\.messages\[\]\.tool_calls`, "numbers of deltas and an empty list say nothing"},
	{"openai", `\.reasoning|\.messages\[\]\.reasoning`, "servers of no known kind get reasoning in OpenAI's words"},
	{"openai", `\.tool_choice`, "any is required, and a choice says its type"},
	{"responses", `\.input`, "encrypted reasoning goes only to whom Weir had it from, and what OpenAI keeps by an id is not kept here"},
	{"gemini", `\.systemInstruction\.role|\.generationConfig`, "an empty role and text as the only modality say nothing"},
}

// TestRecordedRequests sends each recorded request in its own style: nothing that the client said may be missing in what the provider gets, and
// above all no signature of an earlier answer.
func TestRecordedRequests(t *testing.T) {
	t.Parallel()
	var all []*recording
	for i, is := range recordings() {
		if is.Request != nil && styleOfWire(is.Wire) != noStyle && (!testing.Short() || i%16 == 0) {
			all = append(all, is)
		}
	}
	r := startReplay(t, all)
	explained := make([]*regexp.Regexp, len(differences))
	for i, x := range differences {
		explained[i] = regexp.MustCompile("^(" + x.path + ")$")
	}
	for _, is := range all {
		t.Run(is.ID, func(t *testing.T) {
			t.Parallel()
			path, body := is.ask(styleOfWire(is.Wire), is.Stream)
			got := r.key.Send(t, http.MethodPost, path, body, nil)
			sent := r.sent(is.ID)
			if sent.Body == nil {
				if got.Status < 400 || is.Status == http.StatusOK && !r.refuses(got) {
					t.Errorf("%d %.300s", got.Status, got.Body)
				}
				return
			}
			var want, have any
			if json.Unmarshal(body, &want) != nil || json.Unmarshal(sent.Body, &have) != nil {
				t.Fatalf("%s\n%s", body, sent.Body)
			}
			if w, h := capOf(want), capOf(have); is.Wire == "openai" && w != nil && !reflect.DeepEqual(w, h) {
				t.Errorf("%s: the answer is limited to %v, the client wrote %v", is.ID, h, w)
			}
			if is.Vendor == "openai" && is.Wire == "responses" {
				for _, item := range list(obj(want)["input"]) {
					if data := str(obj(item)["encrypted_content"]); !bytes.Contains(sent.Body, []byte(data)) {
						t.Errorf("%s: encrypted content of %v is missing", is.ID, obj(item)["type"])
					}
				}
			}
			if is.Wire == "gemini" { // Google takes both spellings of a member
				want, have = camel(want), camel(have)
				if tools := obj(obj(want)["tools"]); tools != nil {
					obj(want)["tools"] = []any{tools}
				}
			}
			withoutAdvisors(obj(want))
			missing("", want, have, func(path, how string) {
				for i, x := range differences {
					if (x.wire == "" || x.wire == is.Wire) && explained[i].MatchString(path) {
						return
					}
				}
				t.Errorf("%s %s (%s, %s): %s: %s", is.ID, is.Wire, is.Vendor, is.Model, path, how)
			})
		})
	}
}

// withoutAdvisors takes from a request what is left out with a notice: see completion.IsAdvisor.
func withoutAdvisors(request object) {
	tools := list(request["tools"])
	kept := slices.DeleteFunc(slices.Clone(tools), func(tool any) bool { return strings.Contains(str(obj(tool)["type"]), "advisor") })
	switch {
	case len(kept) == 0 && len(tools) > 0:
		delete(request, "tools")
		delete(request, "tool_choice")
	case len(kept) < len(tools):
		request["tools"] = kept
	}
}

// capOf is the limit of an answer in a chat request, under either of its names.
func capOf(request any) any {
	if n := obj(request)["max_completion_tokens"]; n != nil {
		return n
	}
	return obj(request)["max_tokens"]
}

func styleOfWire(wire string) style {
	if i := slices.Index(wireOfStyle[:], wire); i >= 0 {
		return style(i)
	}
	return noStyle
}

// camel spells the members of a request as Google documents them.
func camel(v any) any {
	switch v := v.(type) {
	case object:
		out := object{}
		for name, x := range v {
			words := strings.Split(name, "_")
			for i := range words[1:] {
				if w := words[i+1]; w != "" {
					words[i+1] = strings.ToUpper(w[:1]) + w[1:]
				}
			}
			out[strings.Join(words, "")] = camel(x)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = camel(x)
		}
		return out
	}
	return v
}

// missing reports what want has and have lacks.
func missing(path string, want, have any, tell func(path, how string)) {
	switch want := want.(type) {
	case object:
		is, ok := have.(object)
		if !ok {
			tell(path, fmt.Sprintf("%.200v instead of an object", have))
			return
		}
		for name, v := range want {
			if at, ok := is[name]; ok {
				missing(path+"."+name, v, at, tell)
			} else if v != nil {
				tell(path+"."+name, fmt.Sprintf("%.200v is missing", v))
			}
		}
	case []any:
		is, ok := have.([]any)
		if !ok || len(is) != len(want) {
			tell(path, fmt.Sprintf("%.300v instead of %.300v", have, want))
			return
		}
		for i, v := range want {
			missing(path+"[]", v, is[i], tell)
		}
	default:
		if !reflect.DeepEqual(want, have) {
			tell(path, fmt.Sprintf("%.200v instead of %.200v", have, want))
		}
	}
}
