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
	b = each(b, "categories", func(b []byte, i int) []byte { return strconv.AppendBool(b, v.Is[i]) })
	b = each(b, "category_scores", func(b []byte, i int) []byte { return strconv.AppendFloat(b, v.Score[i], 'g', -1, 64) })
	b = each(b, "category_applied_input_types", func(b []byte, i int) []byte {
		switch {
		case v.Text[i] && v.Image[i]:
			return append(b, `["text","image"]`...)
		case v.Text[i]:
			return append(b, `["text"]`...)
		case v.Image[i]:
			return append(b, `["image"]`...)
		}
		return append(b, "[]"...)
	})
	return append(b, '}')
}

// each writes an object with a member for each category.
func each(b []byte, name string, value func(b []byte, i int) []byte) []byte {
	b = append(append(append(b, `,"`...), name...), `":{`...)
	for i, category := range task.Categories {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, '"'), category...), `":`...)
		b = value(b, i)
	}
	return append(b, '}')
}
