package kit

import (
	"bytes"
	"net/http"
	"strconv"
)

// Wire is what transport and faults need of one provider's protocol. Requests and answers are in other files.
type Wire struct {
	Name    string // also what signatures are bound to
	Phrases *Phrases

	ErrorBody   func(*Refusal) []byte                     // the body of an error
	ErrorHeader func(http.Header, *Refusal)               // headers of an error; nil: none
	ErrorFrame  func(f *Refusal, how string, n int) Frame // an error inside a stream whose next event has number n

	Stream       []string    // content type of a stream
	StreamHeader http.Header // more of a stream's head; nil: no more
	Binary       bool        // a stream is not made of lines
	Raw          bool        // nor of events: its bytes are the answer
	Frame        func(dst []byte, f Frame) []byte

	Admit      func(s *Host, r *http.Request) *Refusal // refuses a wrong key
	TooLong    string                                  // what is said of too long a prompt
	LastData   []byte                                  // data that ends every stream, also a failed one; nil: none
	TextFrame  func(s string) Frame                    // an event of content, with s as written
	IdleFrame  Frame                                   // an event that says nothing, as a JSON object
	Incomplete []byte                                  // a whole answer that lacks what answers are made of
}

// SSE writes a server-sent event; one with a name has it on a separate line.
func SSE(dst []byte, f Frame) []byte {
	if f.Event != "" {
		dst = append(append(append(dst, "event: "...), f.Event...), '\n')
	}
	return append(append(append(dst, "data: "...), f.Data...), "\n\n"...)
}

// flood is what is written before and after so many bytes of filler inside one event.
func (w *Wire) flood(filler int64) (before, after []byte) {
	if w.Raw {
		return nil, nil
	}
	if w.Binary {
		return eventHead(w.IdleFrame.Event, filler), nil // its checksum never comes
	}
	marked := w.Frame(nil, Frame{Event: w.IdleFrame.Event, Data: []byte("{\"filler\":\"\x00\"," + string(w.IdleFrame.Data[1:]))})
	before, after, _ = bytes.Cut(marked, []byte{0})
	return before, after
}

// Refuse answers with an error in the wire's envelope.
func (w *Wire) Refuse(rw http.ResponseWriter, f *Refusal) {
	if w.ErrorHeader != nil {
		w.ErrorHeader(rw.Header(), f)
	}
	SendJSON(rw, f.Status, w.ErrorBody(f))
}

// Phrases are the words in which a wire complains about a request.
type Phrases struct {
	Item       func(param string, i int) string // the path of an element
	Missing    func(param string) string
	Unknown    func(param string) string
	WrongType  func(param, got, want string) string // kinds as in kindNames
	WrongValue func(param, want string) string
	OutOfRange func(param, low, high string) string
	Readable   func(err error) string   // the body is no JSON
	Rename     func(name string) string // the usual spelling of a member's name; nil: there is only one
}

// The words of OpenAI, which most others use too.
var OpenAIPhrases = Phrases{
	Item:    func(param string, i int) string { return param + "[" + strconv.Itoa(i) + "]" },
	Missing: func(param string) string { return "Missing required parameter: '" + param + "'." },
	Unknown: func(param string) string { return "Unknown parameter: '" + param + "'." },
	WrongType: func(param, got, want string) string {
		return "Invalid type for '" + param + "': expected " + want + ", but got " + got + " instead."
	},
	WrongValue: func(param, want string) string { return "Invalid value for '" + param + "': expected " + want + "." },
	OutOfRange: func(param, low, high string) string {
		return "Invalid value for '" + param + "': expected a number from " + low + " to " + high + "."
	},
	Readable: func(err error) string {
		return "We could not parse the JSON body of your request: " + err.Error() + "."
	},
}

// ChatWire is POST /v1/chat/completions of OpenAI and of all who do as OpenAI does.
var ChatWire = &Wire{
	Name: "chat", Phrases: &OpenAIPhrases,
	ErrorBody:  (*Refusal).JSON,
	ErrorFrame: func(f *Refusal, _ string, _ int) Frame { return Frame{Data: f.JSON()} },
	Stream:     StreamType,
	Frame:      SSE,
	Admit: func(s *Host, r *http.Request) *Refusal {
		if s.HasKey(Bearer(r)) {
			return nil
		}
		return WrongKey(401, "Incorrect API key provided.")
	},
	LastData: []byte("[DONE]"),
	TooLong:  "This model's maximum context length is 8 tokens. Please reduce the length of the messages.",
	TextFrame: func(s string) Frame {
		return Frame{Data: []byte(`{"id":"x","choices":[{"index":0,"delta":{"content":"` + s + `"},"finish_reason":null}]}`)}
	},
	IdleFrame:  Frame{Data: []byte(`{"choices":[]}`)},
	Incomplete: []byte(`{"id":"x","object":"chat.completion","created":1,"model":"m"}`),
}
