package responses

import (
	"strings"

	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/rawjson"
)

// Frame is what a message of a WebSocket has beside the request for a response that it is.
type Frame struct {
	Stream string // stream_id, which its events repeat; "" none
	Warm   bool   // generate: false: nothing is made, and the next request continues from it
}

const (
	opFrame   = "responses.Unframe"
	maxStream = 256

	created   = "response.create"
	processed = "response.processed"
)

// Acknowledges reports whether a message only says that the client has read a response, as Codex does.
func Acknowledges(message []byte) bool {
	return rawjson.Valid(message) && rawjson.TextAt(message, "type") == processed
}

// Unframe reads a message that asks for a response, and turns it, in place, into the body of a request over HTTP: its type becomes the wish for a
// stream, and what else belongs to the socket becomes white space. It fails as Decode does.
func Unframe(message []byte) (f Frame, err error) {
	if err := rawjson.Check(message, rawjson.Defaults); err != nil {
		return f, err
	}
	if rawjson.KindOf(message) != rawjson.Object {
		return f, fault.New(fault.Invalid, opFrame, "A message must be a JSON object.")
	}
	var typed completion.Span
	var ours []completion.Span
	for m := rawjson.MembersOf(message); m.Next(); {
		switch string(m.Name) {
		case "type":
			if rawjson.Text(m.Value) != created {
				return f, fault.Field(opFrame, "type", `type must be "response.create".`)
			}
			typed = completion.Span{Start: m.Start, End: m.End}
			continue
		case "stream": // it is the socket's
		case "stream_id":
			if f.Stream = rawjson.Text(m.Value); !rawjson.IsNull(m.Value) && !isStream(f.Stream) {
				return f, fault.Field(opFrame, "stream_id", "stream_id must be 1 to 256 letters, digits, underscores, hyphens and periods. Leave it out for the stream without a name.")
			}
		case "generate":
			generate, ok := rawjson.Bool(m.Value)
			if !ok && !rawjson.IsNull(m.Value) {
				return f, fault.Field(opFrame, "generate", "generate must be true or false.")
			}
			f.Warm = ok && !generate
		case "background":
			if background, _ := rawjson.Bool(m.Value); background {
				return f, fault.Field(opFrame, "background", "A WebSocket has no responses in the background. Send background over HTTP.")
			}
			continue
		default:
			continue
		}
		ours = append(ours, completion.Span{Start: m.Start, End: m.End})
	}
	if typed.End == 0 {
		return f, fault.Field(opFrame, "type", `type is required: "response.create".`)
	}
	for _, at := range ours {
		blank(message, at)
	}
	n := copy(message[typed.Start:typed.End], `"stream":true`) // it is the shorter one
	fill(message[typed.Start+n : typed.End])
	return f, nil
}

func isStream(name string) bool {
	return name != "" && len(name) <= maxStream && strings.Trim(name, base62+"_-.") == ""
}

// blank overwrites a member, and the comma after or else before it.
func blank(message []byte, at completion.Span) {
	fill(message[at.Start:at.End])
	next := at.End
	for isSpace(message[next]) {
		next++
	}
	if message[next] == ',' {
		message[next] = ' '
		return
	}
	before := at.Start - 1
	for isSpace(message[before]) {
		before--
	}
	if message[before] == ',' {
		message[before] = ' '
	}
}

func fill(b []byte) {
	for i := range b {
		b[i] = ' '
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }
