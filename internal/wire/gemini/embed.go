package gemini

import (
	"math"
	"slices"
	"strings"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/mediatype"
	"weir/internal/rawjson"
	"weir/internal/task"
	"weir/internal/wire"
)

const (
	maxRequests = 2048
	maxParts    = 256 // of one content
	maxTaskType = 64  // characters
	maxUnknown  = 32  // names of members that no provider gets, for the notice
)

// DecodeEmbed reads the body of an embedContent request, or with batch of a batchEmbedContents request, to the model that its address names.
func DecodeEmbed(body []byte, model string, batch bool) (*completion.Request, error) {
	body, err := checked(body)
	if err != nil {
		return nil, err
	}
	d := embedDecoder{Reader: wire.NewRequest(body, op, ""), model: strings.TrimPrefix(model, "models/"), task: &task.Embedding{}}
	d.req = &completion.Request{N: 1, Task: d.task, Models: []string{d.model}}
	d.req.Needs.Input |= catalog.Text
	if batch {
		d.Members(d.batchField)
	} else {
		d.Members(func(name string) { d.field(name, true) })
	}
	if d.Err() == nil && len(d.task.Inputs) == 0 {
		d.FailAt(fault.Invalid, map[bool]string{true: "requests", false: "content"}[batch], "A content with parts is required.")
	}
	if err := d.Err(); err != nil {
		return nil, err
	}
	return d.req, nil
}

type embedDecoder struct {
	wire.Reader
	req   *completion.Request
	task  *task.Embedding
	model string
	read  int // requests of the batch that were read before this one
}

func (d *embedDecoder) batchField(name string) {
	if name != "requests" {
		d.gateway(name)
		return
	}
	if !d.Array() {
		return
	}
	for d.Element() {
		if d.read == maxRequests {
			d.TooMany(maxRequests)
			return
		}
		before := *d.task
		if !d.Object() {
			d.Required()
			return
		}
		for name, ok := d.Member(); ok; name, ok = d.Member() {
			d.field(string(name), false)
		}
		d.same(&before)
		d.read++
	}
}

// same refuses a batch whose requests differ in more than their contents: a model gets them as one request.
func (d *embedDecoder) same(before *task.Embedding) {
	if len(d.task.Inputs) != d.read+1 {
		d.FailIn(fault.Invalid, "content", "%s.content is required.", d.Path())
		return
	}
	if d.read > 0 && (d.task.InputType != before.InputType || d.task.Dimensions != before.Dimensions) {
		d.FailIn(fault.Invalid, "taskType", "All requests of a batch must have the same taskType and outputDimensionality. Send others in a batch of their own.")
	}
}

// field reads a member of one request. top is set where it is the whole body.
func (d *embedDecoder) field(name string, top bool) {
	switch name {
	case "model":
		if slug, ok := d.Slug(); ok && strings.TrimPrefix(slug, "models/") != d.model {
			d.Fail(fault.Invalid, "%s is another model than in the address.", d.Path())
		}
	case "content":
		if d.input(); len(d.task.Inputs) > d.read+1 {
			d.Fail(fault.Invalid, "A request has one content.")
		}
	case "taskType":
		word, _ := d.Stored(maxTaskType)
		switch word = strings.ToLower(word); word { // the words that all styles share
		case "retrieval_query":
			word = "search_query"
		case "retrieval_document":
			word = "search_document"
		case "task_type_unspecified":
			word = ""
		}
		d.task.InputType = word
	case "outputDimensionality":
		if n, ok := d.Int(1, math.MaxInt32); ok {
			d.task.Dimensions = int(n)
		}
	case "embedContentConfig":
		if d.Object() {
			for inner, ok := d.Member(); ok; inner, ok = d.Member() {
				d.field(string(inner), false)
			}
		}
	default:
		if top {
			d.gateway(name)
			return
		}
		d.unknown(name)
	}
}

// gateway reads the members that are for the gateway.
func (d *embedDecoder) gateway(name string) {
	if name == "provider" {
		d.req.Preferences = d.Preferences()
		return
	}
	d.unknown(name)
}

func (d *embedDecoder) unknown(name string) {
	if v := d.Skip(); !rawjson.IsNull(v) && !completion.GatewayOnly(name) && len(d.req.Unknown) < maxUnknown && !slices.Contains(d.req.Unknown, name) {
		d.req.Unknown = append(d.req.Unknown, name)
	}
}

// input reads a content: its parts are one input.
func (d *embedDecoder) input() {
	var in task.Input
	tokens := int64(0)
	if !d.Object() {
		return
	}
	for name, ok := d.Member(); ok; name, ok = d.Member() {
		if string(name) != "parts" {
			d.Skip()
			continue
		}
		if !d.Array() {
			continue
		}
		for d.Element() {
			if len(in.Parts) == maxParts {
				d.TooMany(maxParts)
				return
			}
			at := d.Path()
			p, ok := embedPart(d.Skip())
			switch {
			case !ok:
				d.FailAt(fault.Invalid, at, "%s must have a text that is not empty, or an image in inlineData, as base64.", at)
				return
			case p.ImageURL != "":
				d.req.Needs.Input |= catalog.Image
				tokens += wire.ImageTokens
			default:
				tokens += wire.TextTokens(p.Text)
			}
			in.Parts = append(in.Parts, p)
		}
	}
	if len(in.Parts) == 0 {
		d.FailIn(fault.Invalid, "parts", "parts is required: a list of at least one part.")
		return
	}
	least := int64(0)
	for i := range in.Parts {
		least += wire.LeastTokens(in.Parts[i].Text)
	}
	n := &d.req.Needs
	n.PromptTokens += tokens
	n.Dense = wire.BytesPerToken
	n.Longest = max(n.Longest, least)
	d.task.Inputs = append(d.task.Inputs, in)
}

func embedPart(v []byte) (p task.Part, ok bool) {
	if text := rawjson.Find(v, "text"); rawjson.KindOf(text) == rawjson.String {
		p.Text = rawjson.Text(text)
		return p, p.Text != ""
	}
	inline := rawjson.Find(v, "inlineData")
	mime := rawjson.TextAt(inline, "mimeType")
	if kindOf(mime) != mediatype.Image || mime == "" {
		return p, false
	}
	var bad *fault.Error
	p.ImageURL = wire.DataURL(&bad, "", mediatype.Plain(mime), rawjson.Find(inline, "data"))
	return p, p.ImageURL != ""
}
