package responses

import (
	"bytes"
	"encoding/base64"
	"io"
	"slices"
	"strconv"
	"strings"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/rawjson"
	"weir/internal/relay"
)

// A compaction is an ordinary answer to a conversation whose last item is a compaction_trigger. OpenAI's own API makes it by itself; for any
// other provider the model writes a summary, which the client gets encrypted, as an item that it sends back in place of the conversation.
// See docs/decisions/compaction.md.

const (
	triggerType    = "compaction_trigger"
	compactionType = "compaction"

	// sealedPrefix begins the encrypted content of the gateway's own compactions.
	sealedPrefix = "weir.c1."

	// mostRetained bounds the user's messages that a compacted conversation keeps, in bytes: the newest, of about 20,000 tokens.
	mostRetained = 64 << 10

	// summaryWish is what the model is asked after the conversation.
	summaryWish = "Stop here and write a summary of this conversation. Another assistant will continue the work and will see only your summary and the user's own messages. " +
		"State what the user wants, with every requirement, preference and decision; what has been done and found, with the exact names of files, functions, commands, values and errors that still matter; " +
		"what is unfinished, and what the next step is. Include the content of any earlier summary that still holds. Use the language of the conversation. Call no tool, answer no question, and write nothing but the summary."

	// summaryBegins is in front of a summary that comes back.
	summaryBegins = "This is a summary of the earlier conversation, which was compacted:\n\n"
)

// CompactBody is the body of a request for a compaction alone as that of a response: with a compaction_trigger at the end of its input, not
// stored, not streamed. It fails as Decode does.
func CompactBody(body []byte) ([]byte, error) {
	if err := rawjson.Check(body, rawjson.Defaults); err != nil {
		return nil, err
	}
	if rawjson.KindOf(body) != rawjson.Object {
		return nil, fault.New(fault.Invalid, op, "The body must be a JSON object.")
	}
	var w rawjson.Writer
	w.Object()
	var input []byte
	for m := rawjson.MembersOf(body); m.Next(); {
		switch name := string(m.Name); name {
		case "input":
			input = m.Value
		case "stream", "background":
			if on, ok := rawjson.Bool(m.Value); on || !ok && !rawjson.IsNull(m.Value) {
				return nil, fault.Field(op, name, "A compaction comes whole and at once: leave %s out, or send a compaction_trigger as the last item of input to /v1/responses.", name)
			}
		case "store":
		default:
			w.Member(body[m.Start:m.End])
		}
	}
	w.Name("store").Bool(false)
	w.Name("input")
	switch rawjson.KindOf(input) {
	case rawjson.String, rawjson.Array:
		w.Array()
		if rawjson.KindOf(input) == rawjson.String {
			w.Object()
			w.Name("role").Text("user")
			w.Name("content").Raw(input)
			w.EndObject()
		}
		for e := rawjson.ElementsOf(input); e.Next(); {
			w.Raw(e.Value)
		}
		w.Object()
		w.Name("type").Text(triggerType)
		w.EndObject()
		w.EndArray()
	default:
		if !rawjson.IsNull(input) && input != nil {
			w.Raw(input) // refused by Decode
			break
		}
		w.Array()
		w.Object()
		w.Name("type").Text(triggerType)
		w.EndObject()
		w.EndArray()
	}
	w.EndObject()
	return w.B, nil
}

// HasSealed reports whether a body or a list of items may have compactions of the gateway.
func HasSealed(b []byte) bool { return bytes.Contains(b, []byte(`"`+sealedPrefix)) }

// Seal is the encrypted content of a compaction.
func Seal(sealed []byte) string {
	return sealedPrefix + base64.RawURLEncoding.EncodeToString(sealed)
}

// Unseal replaces the gateway's compactions in the input of a checked body by their summaries, as messages, which any provider understands.
// open decrypts one. It fails with fault.Invalid, with the path of the item, for one that open cannot read.
func Unseal(body []byte, open func(sealed []byte) (string, error)) ([]byte, error) {
	if rawjson.KindOf(body) != rawjson.Object {
		return body, nil // refused by Decode
	}
	var w rawjson.Writer
	w.Object()
	for m := rawjson.MembersOf(body); m.Next(); {
		if string(m.Name) != "input" || rawjson.KindOf(m.Value) != rawjson.Array {
			w.Member(body[m.Start:m.End])
			continue
		}
		list, err := UnsealItems(m.Value, open)
		if err != nil {
			return nil, err
		}
		w.Name("input").Raw(list)
	}
	w.EndObject()
	return w.B, nil
}

// UnsealItems is Unseal for a list of items.
func UnsealItems(list []byte, open func(sealed []byte) (string, error)) ([]byte, error) {
	var w rawjson.Writer
	w.Array()
	at := 0
	for e := rawjson.ElementsOf(list); e.Next(); at++ {
		text, ours := strings.CutPrefix(rawjson.TextAt(e.Value, "encrypted_content"), sealedPrefix)
		if !ours || rawjson.TextAt(e.Value, "type") != compactionType {
			w.Raw(e.Value)
			continue
		}
		var summary string
		sealed, err := base64.RawURLEncoding.DecodeString(text)
		if err == nil {
			summary, err = open(sealed)
		}
		if err != nil {
			return nil, fault.Field(op, "input["+strconv.Itoa(at)+"].encrypted_content", "This compaction cannot be read: it was altered, or made for another account or by another gateway. Send the conversation itself.")
		}
		w.Object()
		w.Name("type").Text("message")
		w.Name("role").Text("user")
		w.Name("content").Text(summaryBegins + summary)
		w.EndObject()
	}
	w.EndArray()
	return w.B, nil
}

// UnsealHistory is UnsealItems for earlier turns: of those before the newest compaction, which stands for them, only the user's messages stay.
func UnsealHistory(list []byte, open func(sealed []byte) (string, error)) ([]byte, error) {
	newest := 0
	for e := rawjson.ElementsOf(list); e.Next(); {
		if rawjson.TextAt(e.Value, "type") == compactionType && strings.HasPrefix(rawjson.TextAt(e.Value, "encrypted_content"), sealedPrefix) {
			newest = e.At
		}
	}
	var w rawjson.Writer
	w.Array()
	for e := rawjson.ElementsOf(list); e.Next(); {
		if e.At >= newest || ofUser(e.Value) {
			w.Raw(e.Value)
		}
	}
	w.EndArray()
	return UnsealItems(w.B, open)
}

// ofUser reports whether an item is a message of the user.
func ofUser(v []byte) bool {
	kind := rawjson.TextAt(v, "type")
	return (kind == "" || kind == "message") && rawjson.TextAt(v, "role") == "user"
}

// compacting marks a request whose last item of input is a trigger: nothing of it asks for tools or a format any more.
func (d *decoder) compacting() {
	req := d.req
	req.Compact, req.Format = true, nil
	req.Needs.Params &^= catalog.ParamResponseFormat | catalog.ParamStructuredOutputs
	req.Needs.Paid &^= 1<<catalog.HostedTools - 1 // no tool of the provider's is called
	req.Needs.Web, req.Needs.Search = false, false
	clear(req.Needs.Uses[:])
	d.count(len(summaryWish))
}

// compact asks for the summary at the end of a conversation. Its tools stay, because wires want them beside calls, and none may be called.
func (b *builder) compact() {
	p := b.p
	p.Format, p.Search = completion.Format{}, nil
	p.Tools = slices.DeleteFunc(p.Tools, func(t completion.Tool) bool { return t.Hosted != nil })
	p.Choice, p.Serial = completion.Choice{}, false
	if len(p.Tools) > 0 {
		p.Choice.Mode = completion.ChoiceNone
	}
	b.add(completion.User, completion.Part{Text: summaryWish})
}

// retained are the newest messages of the user, in their order, as items of a compacted conversation, separated by commas.
func retained(req *Request, newID func(string) string) (out []byte) {
	var list [][]byte
	for _, from := range [...][]byte{req.History, Join(InputItems(req))} {
		for e := rawjson.ElementsOf(from); e.Next(); {
			if ofUser(e.Value) && !summarized(e.Value) {
				list = append(list, e.Value)
			}
		}
	}
	first, size := len(list), 0
	for first > 0 && size+len(list[first-1]) <= mostRetained {
		first--
		size += len(list[first])
	}
	for _, v := range list[first:] {
		if len(out) > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, `{"id":"`...), newID(prefixes[messageItem])...), `","type":"message","status":"completed","role":"user","content":`...)
		if content := rawjson.Find(v, "content"); rawjson.KindOf(content) == rawjson.String {
			out = append(append(append(out, `[{"type":"input_text","text":`...), content...), "}]"...)
		} else {
			out = rawjson.AppendOneLine(out, content)
		}
		out = append(out, '}')
	}
	return out
}

// summarized reports whether a message is a summary that came back.
func summarized(v []byte) bool { return strings.HasPrefix(rawjson.TextAt(v, "content"), summaryBegins) }

// Compaction writes a compacted conversation as one JSON document: the user's messages, and what stands for all else. It is a relay.Sink.
type Compaction struct {
	Whole
	retained []byte
	failed   bool
}

// NewCompaction writes the compaction of req to w.
func NewCompaction(w io.Writer, req *Request, o Options) *Compaction {
	return &Compaction{Whole: Whole{w: w, o: o}, retained: retained(req, o.NewID)}
}

// Failed reports that the answer has ended and had nothing that stands for the conversation: nothing was written.
func (x *Compaction) Failed() bool { return x.failed }

// End writes the document.
func (x *Compaction) End(receipt relay.Receipt) error {
	var e *ending
	if x.native != nil {
		e = x.c.native(x.native)
	} else {
		e = x.c.end()
	}
	var item []byte
	for el := rawjson.ElementsOf(Join(e.output)); el.Next(); {
		if rawjson.TextAt(el.Value, "type") == compactionType {
			item = el.Value
		}
	}
	if item == nil {
		x.failed = true
		return nil
	}
	o := x.c.o
	b := rawjson.AppendText([]byte(`{"id":`), o.ID)
	b = strconv.AppendInt(append(b, `,"object":"response.compaction","created_at":`...), o.Created, 10)
	b = rawjson.AppendText(append(b, `,"model":`...), x.c.served.Model)
	b = append(append(b, `,"output":[`...), x.retained...)
	if len(x.retained) > 0 {
		b = append(b, ',')
	}
	b = append(append(b, item...), `],"usage":`...)
	_, err := x.w.Write(append(appendUsage(b, &receipt), '}'))
	return err
}

// noSummary is the error of a compaction whose model wrote nothing.
const noSummary = `{"error":{"code":"server_error","message":"The model wrote no summary of the conversation."},"error_type":"provider_unavailable"}`

// summarize takes in an event of an answer that is a summary: only its text counts.
func (c *composer) summarize(ev *completion.Event) {
	if len(ev.Text) > 0 {
		if c.open.kind != compactionItem {
			c.begin(&item{kind: compactionItem})
		}
		c.open.text = append(c.open.text, ev.Text...)
	}
	if ev.Finish != "" && c.finish == "" {
		c.finish = ev.Finish
	}
}

// sealSummary encrypts the text of the open item in its place.
func (c *composer) sealSummary() {
	text := bytes.TrimSpace(c.open.text)
	c.open.text = nil
	if len(text) > 0 {
		c.open.text = []byte(c.o.Seal(text))
	}
}
