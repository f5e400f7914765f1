package openai

import (
	"errors"
	"iter"
	"slices"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/dialect/embed"
	"weir/internal/rawjson"
	"weir/internal/task"
)

// moderate requests verdicts at /moderations.
func (d *Dialect) moderate(ask dialect.Ask, ep *catalog.Endpoint, t *task.Moderation) iter.Seq2[*completion.Event, error] {
	return func(yield func(*completion.Event, error) bool) {
		request, unsent := encodeModeration(ep, t)
		body, err := dialect.Object(ask, dialect.Call{Path: "/moderations", Body: request, Unsent: unsent})
		if err != nil {
			yield(nil, err)
			return
		}
		verdicts, err := readVerdicts(ep, body, t)
		if err != nil {
			yield(nil, err)
			return
		}
		head := &completion.Head{ID: text(rawjson.Find(body, "id")), Model: text(rawjson.Find(body, "model"))}
		used := taskUsage(body, &ep.Provider.Quirks)
		yield(&completion.Event{Head: head, Choice: -1, Result: &task.Result{Verdicts: verdicts}, Usage: &used, Done: true}, nil)
	}
}

func encodeModeration(ep *catalog.Endpoint, t *task.Moderation) (body []byte, unsent []string) {
	w := rawjson.Writer{B: make([]byte, 0, 512)}
	w.Object()
	w.Name("model").Text(ep.UpstreamID)
	w.Name("input")
	if t.Single {
		w.Text(t.Inputs[0].Parts[0].Text)
	} else {
		writeJudged(&w, t)
	}
	unsent = dialect.WriteExtra(&w, t.Extra, &ep.Provider.Quirks, "input")
	w.EndObject()
	return w.B, unsent
}

func writeJudged(w *rawjson.Writer, t *task.Moderation) {
	w.Array()
	for i := range t.Inputs {
		for j := range t.Inputs[i].Parts {
			if part := &t.Inputs[i].Parts[j]; t.Inputs[i].Typed {
				embed.WritePart(w, part)
			} else {
				w.Text(part.Text)
			}
		}
	}
	w.EndArray()
}

// readVerdicts reads {"results":[...]}: one for each input.
func readVerdicts(ep *catalog.Endpoint, body []byte, t *task.Moderation) ([]task.Verdict, error) {
	var out []task.Verdict
	for list := rawjson.ElementsOf(rawjson.Find(body, "results")); list.Next(); {
		v, ok := readVerdict(list.Value, &t.Inputs[min(len(out), len(t.Inputs)-1)])
		if !ok {
			return nil, dialect.Broken(ep, errors.New("a verdict has no categories"))
		}
		out = append(out, v)
	}
	switch {
	case out == nil:
		return nil, dialect.Empty(ep)
	case len(out) != len(t.Inputs):
		return nil, dialect.Broken(ep, errors.New("the verdicts are not those of the inputs"))
	}
	return out, nil
}

func readVerdict(v []byte, in *task.ModerationInput) (out task.Verdict, ok bool) {
	categories, applied := rawjson.Find(v, "categories"), rawjson.Find(v, "category_applied_input_types")
	if rawjson.KindOf(categories) != rawjson.Object {
		return out, false
	}
	byText := applied == nil && hasText(in) // older models judge only the text, without reporting it
	for m := rawjson.MembersOf(categories); m.Next(); {
		is, reported := rawjson.Bool(m.Value)
		if !reported {
			continue
		}
		if i := category(m.Name); i >= 0 {
			out.Is[i] = out.Is[i] || is
			out.Text[i] = byText
			out.Flagged = out.Flagged || is
		} else if c := own(&out, m.Name); c != nil { // a subject such as law is no harm: it does not flag
			c.Is, c.Text = is, byText
		}
	}
	if flagged, reported := rawjson.Bool(rawjson.Find(v, "flagged")); reported {
		out.Flagged = flagged
	}
	for m := rawjson.MembersOf(rawjson.Find(v, "category_scores")); m.Next(); {
		score, reported := rawjson.Float(m.Value)
		if !reported {
			continue
		}
		if i := category(m.Name); i >= 0 {
			out.Score[i] = max(out.Score[i], score)
		} else if c := own(&out, m.Name); c != nil {
			c.Score = score
		}
	}
	readApplied(&out, applied)
	return out, true
}

// readApplied reads {"violence":["text","image"]}: by what each category was judged.
func readApplied(out *task.Verdict, applied []byte) {
	for m := rawjson.MembersOf(applied); m.Next(); {
		var text, image bool
		for e := rawjson.ElementsOf(m.Value); e.Next(); {
			text = text || rawjson.Text(e.Value) == "text"
			image = image || rawjson.Text(e.Value) == "image"
		}
		if i := category(m.Name); i >= 0 {
			out.Text[i], out.Image[i] = out.Text[i] || text, out.Image[i] || image
		} else if c := own(out, m.Name); c != nil {
			c.Text, c.Image = text, image
		}
	}
}

// own finds or adds a category that only this model has. It is nil where there are too many.
func own(v *task.Verdict, name []byte) *task.Judged {
	for i := range v.Own {
		if v.Own[i].Name == string(name) {
			return &v.Own[i]
		}
	}
	if len(v.Own) == task.MaxOwn {
		return nil
	}
	v.Own = append(v.Own, task.Judged{Name: string(name)})
	return &v.Own[len(v.Own)-1]
}

// synonyms are the names that compatible servers use for OpenAI's categories. Their other categories keep their names.
var synonyms = map[string]string{
	"hate_and_discrimination": "hate", "violence_and_threats": "violence", "selfharm": "self-harm",
	"dangerous_and_criminal_content": "illicit", "dangerous": "illicit", "criminal": "illicit",
}

// category is the index of a category, -1 when it has none.
func category(name []byte) int {
	if other, is := synonyms[string(name)]; is {
		return slices.Index(task.Categories[:], other)
	}
	return slices.Index(task.Categories[:], string(name))
}

func hasText(in *task.ModerationInput) bool {
	return slices.ContainsFunc(in.Parts, func(p task.Part) bool { return p.ImageURL == "" })
}
