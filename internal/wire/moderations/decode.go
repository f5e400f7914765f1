// Package moderations is the moderations style: it decodes POST /v1/moderations and encodes the answer, with all categories in all three maps
// whatever the model judges. It must not know the endpoint of a request or its cost.
package moderations

import (
	"iter"
	"math"
	"strings"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/rawjson"
	"weir/internal/task"
	"weir/internal/wire"
)

const op = "moderations.Decode"

// Limits of a request.
const (
	maxInputs = 2048
	maxUser   = 256 // characters
)

// defaultModel is the model of requests without one (completions of the specification, section 7).
const defaultModel = "omni-moderation-latest"

// Decode reads the body of a moderations request and keeps no view into it. A model's name without a vendor gets the given vendor. It
// fails with fault.Invalid, StringTooLong, DuplicateKey or TooDeep; the error's Param is the path of the offending field. Unknown fields
// go to the provider.
func Decode(body []byte, vendor string) (*completion.Request, error) {
	if err := rawjson.Check(body, rawjson.Defaults); err != nil {
		return nil, err
	}
	d := decoder{Reader: wire.NewRequest(body, op, ""), req: &completion.Request{N: 1}, task: &task.Moderation{}, model: defaultModel}
	d.req.Task = d.task
	d.run()
	if err := d.Err(); err != nil {
		return nil, err
	}
	if !strings.Contains(d.model, "/") {
		d.model = vendor + "/" + d.model
	}
	d.req.Models = []string{d.model}
	d.req.Needs.Input |= catalog.Text
	return d.req, nil
}

// PromptText yields the texts of a request, piece by piece.
func PromptText(req *completion.Request) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		t, _ := req.Task.(*task.Moderation)
		for i := range t.Inputs {
			if !wire.PartTexts(t.Inputs[i].Parts, yield) {
				return
			}
		}
	}
}

// decoder is the state of one Decode.
type decoder struct {
	wire.Reader
	req   *completion.Request
	task  *task.Moderation
	model string
}

func (d *decoder) run() {
	d.Members(d.field)
	if d.task.Inputs == nil {
		d.FailAt(fault.Invalid, "input", "input is required: a text, or an array of texts or of objects with a type.")
	}
}

func (d *decoder) field(name string) {
	switch name {
	case "model":
		if slug, ok := d.Slug(); ok {
			d.model = slug
		}
	case "input":
		d.input()
	case "user":
		d.req.User, _ = d.Stored(maxUser)
	case "provider":
		d.req.Preferences = d.Preferences()
	default:
		d.task.Extra = d.Extra(d.task.Extra, name)
	}
}

func (d *decoder) input() {
	switch d.Kind() {
	case rawjson.Null:
		d.Skip()
	case rawjson.String:
		d.task.Single = true
		d.add(task.ModerationInput{Parts: []task.Part{{Text: d.text()}}})
	case rawjson.Array:
		d.list()
	case rawjson.Invalid:
	default:
		d.Fail(fault.Invalid, "input must be a string or an array.")
	}
}

func (d *decoder) add(in task.ModerationInput) {
	d.task.Inputs = append(d.task.Inputs, in)
	least := int64(0)
	for i := range in.Parts {
		least += wire.LeastTokens(in.Parts[i].Text)
	}
	d.req.Needs.Longest = max(d.req.Needs.Longest, least)
}

// text reads a text, which may be empty.
func (d *decoder) text() string {
	text, ok := d.Text(math.MaxInt)
	if !ok {
		d.Required()
	}
	d.count(wire.TextTokens(string(text)))
	return string(text)
}

func (d *decoder) count(tokens int64) {
	d.req.Needs.PromptTokens += tokens
	d.req.Needs.Dense = wire.BytesPerToken
}

// list reads texts, each of which gets its own verdict, or typed parts, which get one verdict together.
func (d *decoder) list() {
	all := task.ModerationInput{Typed: true}
	d.Array()
	for i := 0; d.Element(); i++ {
		if i == maxInputs {
			d.TooMany(maxInputs)
			return
		}
		switch kind := d.Kind(); {
		case kind == rawjson.String && all.Parts == nil:
			d.add(task.ModerationInput{Parts: []task.Part{{Text: d.text()}}})
		case kind == rawjson.Object && d.task.Inputs == nil:
			all.Parts = append(all.Parts, d.part())
		case kind == rawjson.String || kind == rawjson.Object:
			d.Fail(fault.Invalid, "input mixes strings and objects: all its elements must be of one form.")
		default:
			d.Fail(fault.Invalid, "%s must be a string, or an object with a type.", d.Path())
		}
	}
	switch {
	case all.Parts != nil:
		d.add(all)
	case d.task.Inputs == nil:
		d.FailAt(fault.Invalid, "input", "input must not be an empty array.")
	}
}

// part reads a text or an image.
func (d *decoder) part() task.Part {
	p := d.Part(d.text)
	if p.ImageURL != "" {
		d.req.Needs.Input |= catalog.Image
		d.count(wire.ImageTokens)
	}
	return p
}
