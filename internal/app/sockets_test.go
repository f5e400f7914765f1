package app_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"weir/internal/app/apptest"
)

// What the compliance suite of Open Responses asks of WebSockets holds over each wire: a response; several on one connection; one that continues
// another without being stored, here and not after a reconnect; one that continues what does not exist; and a failed one, which evicts what it
// continued. A stored response goes on over HTTP.
func TestSocketsOverEachWire(t *testing.T) {
	t.Parallel()
	tk := startTalker(t)
	for _, on := range wiresOfTalkers {
		t.Run(on.provider, func(t *testing.T) {
			t.Parallel()
			account := tk.NewAccount(t)
			said := func(input any, more apptest.Object) apptest.Object {
				body := apptest.Object{"model": on.provider + "/echo", "store": false, "input": input}
				for name, v := range more {
					body[name] = v
				}
				return body
			}
			text := func(o apptest.Object) string { s, _ := o["output_text"].(string); return s }
			s := account.Socket(t)
			for _, word := range []string{"first", "second"} {
				if o := s.Respond(said(word, nil)); !strings.Contains(text(o), word) {
					t.Errorf("%v", o)
				}
			}
			first := s.Respond(said("The code word is cobalt.", nil))
			if o := s.Respond(said("What is the code word?", apptest.Object{"previous_response_id": apptest.ID(first)})); o["previous_response_id"] != apptest.ID(first) {
				t.Errorf("%v", o)
			}
			again := account.Socket(t)
			again.Refused(said("Go on.", apptest.Object{"previous_response_id": apptest.ID(first)}), "previous_response_not_found")
			again.Respond(said([]any{apptest.Object{"type": "message", "role": "user", "content": "Begin anew."}}, nil))
			again.Refused(said("Go on.", apptest.Object{"previous_response_id": "resp_openresponses_missing"}), "previous_response_not_found")
			orphan := []any{apptest.Object{"type": "function_call_output", "call_id": "call_missing", "output": "No call asked for it."}}
			again.Refused(said("x", apptest.Object{"model": on.provider + "/none"}), "model_not_found")

			ember := again.Respond(said("The code word is ember.", nil))
			again.Refused(said(orphan, apptest.Object{"previous_response_id": apptest.ID(ember)}), "")
			again.Refused(said("Go on.", apptest.Object{"previous_response_id": apptest.ID(ember)}), "previous_response_not_found")

			// A tool is called and answered, and what was not stored becomes a part of what is.
			call := s.Respond(said("What weather is it?", apptest.Object{"model": on.provider + "/tools", "tools": weather, "tool_choice": "required"}))
			result := []any{apptest.Object{"type": "function_call_output", "call_id": callOf(t, call), "output": "sunny and 21 degrees"}}
			stored := s.Respond(said(result, apptest.Object{"model": on.provider + "/tools", "tools": weather, "store": true, "previous_response_id": apptest.ID(call)}))
			next := account.Respond(t, apptest.Object{"model": on.provider + "/echo", "input": "And tomorrow?", "previous_response_id": apptest.ID(stored)})
			s.Respond(said("And the day after?", apptest.Object{"previous_response_id": apptest.ID(next)}))
		})
	}
}

// A call that came through a socket is recorded as such, and charged as over HTTP; a client that is gone after the last event has paid for all.
func TestSocketsAreCharged(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t)
	over, through := gw.NewAccount(t), gw.NewAccount(t)
	over.Do(t, http.MethodPost, "/v1/responses", apptest.Object{"model": "test/next", "store": false, "stream": true, "input": "Tell me about weirs."})
	s := through.Socket(t)
	warm := s.Respond(apptest.Object{"model": "test/next", "input": "Tell me about weirs.", "generate": false})
	if c := through.Credits(t); c.TotalUsage != "0" {
		t.Errorf("the warm-up cost %s", c.TotalUsage)
	}
	s.Create(apptest.Object{"model": "test/next", "store": false, "input": []any{}, "previous_response_id": apptest.ID(warm)})
	list := s.Until("")
	s.Cut()
	head, _ := list[0]["headers"].(apptest.Object)
	g := through.Do(t, http.MethodGet, "/v1/generation?id="+fmt.Sprint(head["x-generation-id"]), nil)
	data, _ := apptest.ParseObject(t, g)["data"].(apptest.Object)
	if data["api_type"] != "responses" || data["cancelled"] != false {
		t.Errorf("%s", g.Body)
	}
	if a, b := over.Credits(t), through.Credits(t); a.TotalUsage != b.TotalUsage || a.TotalUsage == "0" || b.Reserved != "0" {
		t.Errorf("over HTTP %+v, through a socket %+v", a, b)
	}
	gw.WantBalanced(t)
}
