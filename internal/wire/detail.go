package wire

import (
	"weir/internal/completion"
	"weir/internal/rawjson"
	"weir/internal/wire/pack"
)

// Reasoning reads an array of reasoning_details entries, in their order. Consecutive fragments with the same index and type, which a
// client keeps from a stream, are joined into one entry.
func Reasoning(list []byte) []completion.ReasoningDetail {
	var out []completion.ReasoningDetail
	last := ""
	for e := rawjson.ElementsOf(list); e.Next(); {
		t, kind, ok := reasoning(e.Value)
		if !ok {
			continue
		}
		index := string(rawjson.Find(e.Value, "index"))
		here := kind + " " + index
		if index != "" && here == last {
			join(&out[len(out)-1], &t)
			continue
		}
		out, last = append(out, t), here
	}
	for i := range out {
		if t, ok := pack.Unpack(out[i].Data); ok {
			out[i] = t
		}
	}
	return out
}

// Signature is the last signature, or the last encrypted text, in an array of reasoning_details entries, or "".
func Signature(list []byte) (last string) {
	for e := rawjson.ElementsOf(list); e.Next(); {
		for m := rawjson.MembersOf(e.Value); m.Next(); {
			if name := string(m.Name); (name == "signature" || name == "data") && rawjson.KindOf(m.Value) == rawjson.String && len(m.Value) > 2 {
				last = Known(rawjson.Text(m.Value))
			}
		}
	}
	return last
}

// Known returns the form in which a provider recognizes its reasoning in a signature or an encrypted text that a client sends back: the
// packed value, or else the text itself.
func Known(s string) string {
	if t, ok := pack.Unpack(s); ok {
		return t.Signature + t.Data // at most one of them is set
	}
	return s
}

// join appends a fragment.
func join(to, more *completion.ReasoningDetail) {
	to.Text += more.Text
	to.Data += more.Data
	if more.Signature != "" {
		to.Signature = more.Signature
	}
	if to.ID == "" {
		to.ID = more.ID
	}
	if to.Format == "" {
		to.Format = more.Format
	}
}

// reasoning reads one entry; ok is false for an invalid one.
func reasoning(v []byte) (t completion.ReasoningDetail, kind string, ok bool) {
	for m := rawjson.MembersOf(v); m.Next(); {
		if rawjson.KindOf(m.Value) != rawjson.String {
			continue
		}
		switch string(m.Name) {
		case "type":
			kind = rawjson.Text(m.Value)
		case "format":
			t.Format = rawjson.Text(m.Value)
		case "id":
			t.ID = rawjson.Text(m.Value)
		case "text", "summary":
			t.Text = rawjson.Text(m.Value)
		case "signature":
			t.Signature = rawjson.Text(m.Value)
		case "data":
			t.Data = rawjson.Text(m.Value)
		}
	}
	switch kind {
	case "reasoning.text":
		t.Kind = completion.ReasoningText
	case "reasoning.summary":
		t.Kind = completion.ReasoningSummary
	case "reasoning.encrypted":
		t.Kind = completion.ReasoningEncrypted
	default:
		return t, "", false
	}
	return t, kind, true
}

// Attach moves the signatures of tool calls, which are in the reasoning of the same turn under the calls' ids, into the calls.
func Attach(parts []completion.Part) []completion.Part {
	out := parts[:0]
	for i := range parts {
		if t := parts[i].Reasoning; t != nil && t.Kind == completion.ReasoningEncrypted && t.Format == completion.FormatGoogle && t.ID != "" && sign(parts, t) {
			continue
		}
		out = append(out, parts[i])
	}
	return out
}

func sign(parts []completion.Part, t *completion.ReasoningDetail) bool {
	for i := range parts {
		if call := parts[i].Call; call != nil && call.ID == t.ID {
			if call.Signature == "" {
				call.Signature = t.Data
			}
			return true
		}
	}
	return false
}
