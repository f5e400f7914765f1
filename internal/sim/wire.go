package sim

import (
	"bytes"
	"net/http"
	"strconv"
)

// wire is one provider's protocol as far as transport and faults need to know it. Requests and answers have files of their own.
type wire struct {
	name string // also what signatures are bound to
	say  *phrases

	fail   func(*refusal) []byte                     // the body of an error
	beside func(http.Header, *refusal)               // headers of an error; nil: none
	inside func(f *refusal, how string, n int) frame // an error inside a stream whose next event has number n

	stream []string    // content type of a stream
	head   http.Header // more of a stream's head; nil: no more
	binary bool        // a stream is not made of lines
	raw    bool        // nor of events: its bytes are the answer
	frame  func(dst []byte, f frame) []byte

	admit     func(s *Host, r *http.Request) *refusal // refuses a wrong key
	tooLong   string                                  // what is said of too long a prompt
	last      []byte                                  // data that ends every stream, also a failed one; nil: none
	text      func(s string) frame                    // an event of content, with s as written
	idle      frame                                   // an event that says nothing, as a JSON object
	shapeless []byte                                  // a whole answer that lacks what answers are made of
}

// sse writes a server-sent event; one with a name has it on a line of its own.
func sse(dst []byte, f frame) []byte {
	if f.event != "" {
		dst = append(append(append(dst, "event: "...), f.event...), '\n')
	}
	return append(append(append(dst, "data: "...), f.data...), "\n\n"...)
}

// flood is what stands before and behind so many bytes of filler inside one event.
func (w *wire) flood(filler int64) (before, after []byte) {
	if w.raw {
		return nil, nil
	}
	if w.binary {
		return eventHead(w.idle.event, filler), nil // its checksum never comes
	}
	marked := w.frame(nil, frame{event: w.idle.event, data: []byte("{\"filler\":\"\x00\"," + string(w.idle.data[1:]))})
	before, after, _ = bytes.Cut(marked, []byte{0})
	return before, after
}

// refuse answers with an error in the wire's envelope.
func (w *wire) refuse(rw http.ResponseWriter, f *refusal) {
	if w.beside != nil {
		w.beside(rw.Header(), f)
	}
	sendJSON(rw, f.status, w.fail(f))
}

// phrases are the words in which a wire complains about a request.
type phrases struct {
	item       func(param string, i int) string // the path of an element
	missing    func(param string) string
	unknown    func(param string) string
	wrongType  func(param, got, want string) string // kinds as in kindNames
	wrongValue func(param, want string) string
	outOfRange func(param, low, high string) string
	readable   func(err error) string   // the body is no JSON
	rename     func(name string) string // the usual spelling of a member's name; nil: there is only one
}

// The words of OpenAI, which most others speak too.
var openAIPhrases = phrases{
	item:    func(param string, i int) string { return param + "[" + strconv.Itoa(i) + "]" },
	missing: func(param string) string { return "Missing required parameter: '" + param + "'." },
	unknown: func(param string) string { return "Unknown parameter: '" + param + "'." },
	wrongType: func(param, got, want string) string {
		return "Invalid type for '" + param + "': expected " + want + ", but got " + got + " instead."
	},
	wrongValue: func(param, want string) string { return "Invalid value for '" + param + "': expected " + want + "." },
	outOfRange: func(param, low, high string) string {
		return "Invalid value for '" + param + "': expected a number from " + low + " to " + high + "."
	},
	readable: func(err error) string {
		return "We could not parse the JSON body of your request: " + err.Error() + "."
	},
}

// chatWire is POST /v1/chat/completions of OpenAI and of all who do as OpenAI does.
var chatWire = &wire{
	name: "chat", say: &openAIPhrases,
	fail:   (*refusal).json,
	inside: func(f *refusal, _ string, _ int) frame { return frame{data: f.json()} },
	stream: streamType,
	frame:  sse,
	admit: func(s *Host, r *http.Request) *refusal {
		if s.hasKey(bearer(r)) {
			return nil
		}
		return wrongKey(401, "Incorrect API key provided.")
	},
	last:    []byte("[DONE]"),
	tooLong: "This model's maximum context length is 8 tokens. Please reduce the length of the messages.",
	text: func(s string) frame {
		return frame{data: []byte(`{"id":"x","choices":[{"index":0,"delta":{"content":"` + s + `"},"finish_reason":null}]}`)}
	},
	idle:      frame{data: []byte(`{"choices":[]}`)},
	shapeless: []byte(`{"id":"x","object":"chat.completion","created":1,"model":"m"}`),
}
