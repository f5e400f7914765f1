// Package speech is the style of text to speech: the request is a JSON object with a text, the answer is audio, as bytes or as a stream
// of events. It must not know the endpoint, or decode the audio.
package speech

import (
	"iter"
	"strconv"
	"strings"
	"unicode/utf8"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/rawjson"
	"weir/internal/task"
	"weir/internal/wire"
)

const op = "speech.Decode"

// Limits of a request, in characters.
const (
	maxInput        = 100_000 // more than any model accepts at once
	maxInputOpenAI  = 4096    // of models that are OpenAI's
	maxInstructions = 4096
	maxVoice        = 128
	maxUser         = 512
)

const defaultVendor = "openai" // of a model that is named without one

var (
	formats = []string{"mp3", "opus", "aac", "flac", "wav", "pcm"}
	streams = []string{"audio", "sse"}
)

// Decode makes a request from a body. It is always a stream: audio is passed on while it arrives. It fails with fault.Invalid and
// fault.StringTooLong, whose Param is the field's name.
func Decode(body []byte) (*completion.Request, error) {
	if err := rawjson.Check(body, rawjson.Defaults); err != nil {
		return nil, err
	}
	d := decoder{Reader: wire.NewRequest(body, op, ""), t: &task.Speech{Format: formats[0]}}
	d.req = &completion.Request{Task: d.t, Stream: true, N: 1}
	d.run()
	if err := d.Err(); err != nil {
		return nil, err
	}
	d.req.Needs.PromptTokens, d.req.Needs.Longest = d.t.Most().Prompt.N, wire.LeastTokens(d.t.Input)
	d.req.Needs.Input = catalog.Text
	return d.req, nil
}

// PromptText yields the texts of a request.
func PromptText(req *completion.Request) iter.Seq[[]byte] {
	t := req.Task.(*task.Speech)
	return func(yield func([]byte) bool) {
		if yield([]byte(t.Input)) && t.Instructions != "" {
			yield([]byte(t.Instructions))
		}
	}
}

// decoder is the state of one Decode.
type decoder struct {
	wire.Reader
	req *completion.Request
	t   *task.Speech
}

func (d *decoder) run() {
	d.Members(d.field)
	switch {
	case d.Err() != nil:
	case d.req.Models == nil:
		d.FailAt(fault.Invalid, "model", "model is required: a slug such as openai/gpt-4o-mini-tts.")
	case d.t.Input == "":
		d.FailAt(fault.Invalid, "input", "input is required: the text to speak.")
	case d.t.Voice == "":
		d.FailAt(fault.Invalid, "voice", "voice is required: a name, or an object with an id.")
	case isOpenAI(d.req.Models[0]) && utf8.RuneCountInString(d.t.Input) > maxInputOpenAI:
		d.FailAt(fault.StringTooLong, "input", "input must have at most %d characters for the model %s.", maxInputOpenAI, d.req.Models[0])
	}
}

// isOpenAI reports whether a model has OpenAI's limit on the input.
func isOpenAI(slug string) bool {
	_, name, _ := strings.Cut(slug, "/")
	return strings.HasPrefix(name, "tts-1") || strings.HasPrefix(name, "gpt-4o-mini-tts")
}

func (d *decoder) field(name string) {
	switch name {
	case "model":
		d.model()
	case "input":
		d.t.Input, _ = d.Stored(maxInput)
	case "voice":
		d.voice()
	case "instructions":
		d.t.Instructions, _ = d.Stored(maxInstructions)
	case "response_format":
		if format, ok := d.Enum(formats); ok {
			d.t.Format = format
		}
	case "speed":
		if speed, ok := d.Number(0.25, 4); ok {
			d.t.Speed = strconv.FormatFloat(speed, 'f', -1, 64)
		}
	case "stream_format":
		format, _ := d.Enum(streams)
		d.t.SSE = format == "sse"
	case "user":
		d.req.User, _ = d.Stored(maxUser)
	case "provider":
		d.req.Preferences = d.Preferences()
	default:
		d.t.Extra = d.Extra(d.t.Extra, name)
	}
}

func (d *decoder) model() {
	slug, ok := d.Slug()
	if !ok {
		return
	}
	if !strings.Contains(slug, "/") {
		slug = defaultVendor + "/" + slug
	}
	d.req.Models = []string{slug}
}

// voice reads a name or {"id":"..."}.
func (d *decoder) voice() {
	if d.Kind() != rawjson.Object {
		d.t.Voice, _ = d.Stored(maxVoice)
		return
	}
	d.Object()
	for name, ok := d.Member(); ok; name, ok = d.Member() {
		if string(name) != "id" {
			d.Skip()
			continue
		}
		d.t.Voice, d.t.VoiceID = d.Stored(maxVoice)
	}
}
