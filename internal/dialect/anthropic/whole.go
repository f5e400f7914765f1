package anthropic

import (
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/rawjson"
)

// Whole decodes an answer that is one JSON object: each block is an event, and the last event has the end.
func (dec *decoder) Whole(body []byte) error {
	dec.pass = dec.native && !dec.streaming
	if rawjson.TextAt(body, "type") == "error" {
		r := readRefusal(body)
		r.Status = 200
		return r.Fault(dec.ep)
	}
	content := rawjson.Find(body, "content")
	if rawjson.KindOf(content) != rawjson.Array {
		return errShape
	}
	if err := dec.start(body); err != nil {
		return err
	}
	dec.finish = []byte(rawjson.TextAt(body, "stop_reason"))
	if len(dec.finish) == 0 {
		return dialect.Ended(dec.ep)
	}
	for e := rawjson.ElementsOf(content); e.Next(); {
		dec.reset()
		dec.open(e.Value)
		for i := range dec.ev.ToolCalls {
			dec.ev.ToolCalls[i].Last = true
		}
		if dec.ev.HasContent() {
			if err := dec.tell(nil); err != nil {
				return err
			}
		}
	}
	dec.reset()
	dec.ev.Finish, dec.ev.NativeFinish = finishReason(string(dec.finish))
	dec.ev.Usage = dec.usage.usage()
	dec.ev.Done = true
	return dec.tell(body)
}

// tell yields an event of a whole answer; the last one has the body if the answer passes through unchanged.
func (dec *decoder) tell(body []byte) error {
	if !dec.begun {
		dec.begun = true
		dec.ev.Head = &dec.head
	}
	if dec.pass && body != nil {
		dec.ev.Frames = []completion.Frame{{Data: body}}
	}
	dec.ev.Called = &dec.called
	return dec.yield.Send(&dec.ev)
}
