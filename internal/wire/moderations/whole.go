package moderations

import (
	"io"
	"strconv"

	"weir/internal/completion"
	"weir/internal/rawjson"
	"weir/internal/relay"
	"weir/internal/task"
	"weir/internal/wire"
)

// Whole collects verdicts and writes them as one JSON document, in one Write. It is a relay.Sink.
type Whole struct {
	w        io.Writer
	id       string
	served   relay.Served
	verdicts []task.Verdict
}

var _ relay.Sink = (*Whole)(nil)

// NewWhole writes to w. id is the answer's, such as "modr-" and 24 characters.
func NewWhole(w io.Writer, id string) *Whole { return &Whole{w: w, id: id} }

// Start begins an answer; data of an earlier attempt is dropped.
func (x *Whole) Start(served relay.Served) error {
	x.served, x.verdicts = served, nil
	return nil
}

// Event takes in verdicts.
func (x *Whole) Event(ev *completion.Event) error {
	if ev.Result != nil {
		x.verdicts = append(x.verdicts, ev.Result.Verdicts...)
	}
	return nil
}

// End writes the document.
func (x *Whole) End(relay.Receipt) error {
	b := rawjson.AppendText(append(make([]byte, 0, 256+1200*len(x.verdicts)), `{"id":`...), x.id)
	b = rawjson.AppendText(append(b, `,"model":`...), x.served.Model)
	b = append(b, `,"results":[`...)
	for i := range x.verdicts {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendVerdict(b, &x.verdicts[i])
	}
	b = append(wire.AppendNotice(append(b, ']'), x.served.Head.Notice), '}')
	_, err := x.w.Write(b)
	return err
}

func appendVerdict(b []byte, v *task.Verdict) []byte {
	b = strconv.AppendBool(append(b, `{"flagged":`...), v.Flagged)
	b = each(b, v, "categories", func(b []byte, c task.Judged) []byte { return strconv.AppendBool(b, c.Is) })
	b = each(b, v, "category_scores", func(b []byte, c task.Judged) []byte { return strconv.AppendFloat(b, c.Score, 'g', -1, 64) })
	b = each(b, v, "category_applied_input_types", func(b []byte, c task.Judged) []byte {
		switch {
		case c.Text && c.Image:
			return append(b, `["text","image"]`...)
		case c.Text:
			return append(b, `["text"]`...)
		case c.Image:
			return append(b, `["image"]`...)
		}
		return append(b, "[]"...)
	})
	return append(b, '}')
}

// each writes an object with a member for each category.
func each(b []byte, v *task.Verdict, name string, value func(b []byte, c task.Judged) []byte) []byte {
	b = append(append(append(b, `,"`...), name...), `":{`...)
	first := true
	for c := range v.All() {
		if !first {
			b = append(b, ',')
		}
		first = false
		b = value(append(rawjson.AppendText(b, c.Name), ':'), c)
	}
	return append(b, '}')
}
