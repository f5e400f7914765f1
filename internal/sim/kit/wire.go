package kit

import (
	"bytes"
	"net/http"
	"strconv"
)

// Wire is one provider's protocol as far as transport and faults need it. Each wire reads requests and writes answers in its own files.
type Wire struct {
	Name    string // also part of signatures
	IDs     string // what the ids of answers begin with
	Phrases *Phrases

	ErrorBody   func(*Refusal) []byte                     // the body of an error
	ErrorHeader func(http.Header, *Refusal)               // headers of an error; nil: none
	ErrorFrame  func(f *Refusal, how string, n int) Frame // an error inside a stream; n is the number of the next event

	Stream       []string    // content type of a stream
	StreamHeader http.Header // further headers of a stream; nil: none
	Binary       bool        // a stream does not consist of lines
	Raw          bool        // a stream has no events: its bytes are the answer
	Frame        func(dst []byte, f Frame) []byte

	Admit      func(s *Host, r *http.Request) *Refusal // refuses a wrong key
	TooLong    string                                  // the message for a prompt that is too long
	LastData   []byte                                  // data that ends every stream, even a failed one; nil: none
	TextFrame  func(s string) Frame                    // an event with content; s is inserted without escaping
	IdleFrame  Frame                                   // an event without content, as a JSON object
	Incomplete []byte                                  // a whole answer without its main member
}

// SSE appends a server-sent event, with an event line if the frame has a name.
func SSE(dst []byte, f Frame) []byte {
	if f.Event != "" {
		dst = append(append(append(dst, "event: "...), f.Event...), '\n')
	}
	return append(append(append(dst, "data: "...), f.Data...), "\n\n"...)
}

// append appends a frame, which may be a comment.
func (w *Wire) append(dst []byte, f Frame) []byte {
	if f.Comment != "" {
		return append(append(append(dst, ':'), f.Comment...), "\n\n"...)
	}
	return w.Frame(dst, f)
}

// flood returns what precedes and follows that many bytes of filler in one event.
func (w *Wire) flood(filler int64) (before, after []byte) {
	if w.Raw {
		return nil, nil
	}
	if w.Binary {
		return eventHead(w.IdleFrame.Event, filler), nil // the checksum is never sent
	}
	marked := w.Frame(nil, Frame{Event: w.IdleFrame.Event, Data: []byte("{\"filler\":\"\x00\"," + string(w.IdleFrame.Data[1:]))})
	before, after, _ = bytes.Cut(marked, []byte{0})
	return before, after
}

// Refuse sends an error in the wire's form.
func (w *Wire) Refuse(rw http.ResponseWriter, f *Refusal) {
	if w.ErrorHeader != nil {
		w.ErrorHeader(rw.Header(), f)
	}
	SendJSON(rw, f.Status, w.ErrorBody(f))
}

// Phrases are the messages of a wire about invalid requests.
type Phrases struct {
	Item       func(param string, i int) string // the path of an element
	Missing    func(param string) string
	Unknown    func(param string) string
	WrongType  func(param, got, want string) string // kinds as in kindNames
	WrongValue func(param, want string) string
	OutOfRange func(param, low, high string) string
	Readable   func(err error) string   // the body is not valid JSON
	Rename     func(name string) string // the standard spelling of a member's name; nil: there is only one
}

// OpenAIPhrases are OpenAI's messages, which most other providers use too.
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

// ChatWire is POST /v1/chat/completions of OpenAI and of compatible providers.
var ChatWire = &Wire{
	Name: "chat", IDs: "chatcmpl-", Phrases: &OpenAIPhrases,
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
