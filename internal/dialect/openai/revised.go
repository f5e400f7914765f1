package openai

import (
	"weir/internal/completion"
	"weir/internal/rawjson"
)

// revise returns a chat request whose body has the revised prompt: revised parts are written from the canonical form, and everything else
// is kept byte for byte.
func revise(req *completion.Request) (*completion.Request, error) {
	p, err := req.Prompt()
	if err != nil {
		return nil, err
	}
	w := writer{req: req, p: p, has: req.HasRoles, Writer: rawjson.Writer{B: make([]byte, 0, len(req.Body)+512)}}
	w.Object()
	for i := range req.Members {
		m := &req.Members[i]
		switch revisedIn(m.Name) & req.Revised {
		case 0:
			w.Member(req.Body[m.Start:m.End])
		case completion.RevisedTurns:
			if err := w.turns(); err != nil {
				return nil, err
			}
		}
	}
	if req.Revised&completion.RevisedTools != 0 {
		if err := w.tools(); err != nil {
			return nil, err
		}
	}
	if req.Revised&completion.RevisedFormat != 0 {
		w.format()
	}
	w.EndObject()
	out := *req
	out.Body, out.HasRoles, out.Members, out.Revised = w.B, w.has, nil, 0
	for m := rawjson.MembersOf(out.Body); m.Next(); {
		out.Members = append(out.Members, completion.Member{Name: string(m.Name), Start: m.Start, Value: m.At, End: m.End})
	}
	return &out, nil
}

// revisedIn returns which part of the prompt a member contains.
func revisedIn(name string) completion.Revision {
	switch name {
	case "messages":
		return completion.RevisedTurns
	case "tools", "tool_choice", "functions", "function_call", "parallel_tool_calls":
		return completion.RevisedTools
	case "response_format":
		return completion.RevisedFormat
	}
	return 0
}

// turns writes the messages: the instructions before the conversation, and the turns; a turn of the client's own is copied from its body.
func (w *writer) turns() error {
	w.Name("messages").Array()
	w.front()
	for i := range w.p.Turns {
		t := &w.p.Turns[i]
		if t.At.End > 0 {
			w.Raw(w.req.Body[t.At.Start:t.At.End])
			continue
		}
		switch t.Role {
		case completion.System:
			w.message("system", t.Parts)
		case completion.Assistant:
			w.assistant(t.Parts)
		case completion.User:
			if err := w.user(t); err != nil {
				return err
			}
		}
	}
	w.EndArray()
	return nil
}

// front copies the instructions before the conversation. They are not turns.
func (w *writer) front() {
	list := w.req.Body[w.req.MessagesAt.Start:w.req.MessagesAt.End]
	for e := rawjson.ElementsOf(list); e.Next(); {
		switch rawjson.TextAt(e.Value, "role") {
		case "system", "developer":
			w.Raw(e.Value)
		default:
			return
		}
	}
}

// search adds a web search that the client's body does not have.
func (e *encoder) search(s *completion.Search) {
	e.sent.Domains(e.req, s, false, false)
	w := e.name("web_search_options")
	w.Object()
	if s.ContextSize != "" {
		w.Name("search_context_size").Text(s.ContextSize)
	}
	if s.Location != nil {
		w.Name("user_location").Raw(s.Location)
	}
	w.EndObject()
}
