package relay

import (
	"bytes"

	"weir/internal/completion"
	"weir/internal/task"
	"weir/internal/usage"
	"weir/internal/usage/tokenizer"
	"weir/internal/usertext"
)

// maxKept bounds the answer text that is kept for counting, per running call; the rest counts in proportion.
const maxKept = 4 << 10

// firstKept is the room for a short text. Where it does not suffice there is room for maxKept: what grew step by step would leave as much behind.
const firstKept = 1536

// meter watches an answer: the usage that the upstream reports, and what was delivered, in case it reports none.
type meter struct {
	usage    usage.Usage // all that was reported so far: counts never fall
	fresh    bool        // nothing was delivered since the last report of answer tokens
	finished int         // choices that have ended
	done     bool        // the upstream said that nothing follows
	finish   completion.FinishReason
	native   string
	kept     []byte // the first text
	delivered

	made   task.Made   // of a task
	called usage.Calls // of tools that the provider runs, as far as they went by
	cited  bool        // pages of the web were cited

	watch bool     // the key is an agent's: the tools that it is to call are kept
	tools []string // their names, in the order of the calls
}

// delivered is the delivered part of an answer.
type delivered struct {
	images int64           // produced so far
	audio  int64           // characters of audio, as written in the answer
	bytes  int64           // of text, reasoning, refusal and arguments
	sample tokenizer.Gauge // of the text that is kept
	rest   tokenizer.Gauge // of the text after it
}

func (d *delivered) nothing() bool { return d.images == 0 && d.audio == 0 && d.bytes == 0 }

func (m *meter) reset() {
	*m = meter{kept: m.kept[:0], watch: m.watch}
}

var urlCitation = []byte(`"url_citation"`)

// count counts an event.
func (m *meter) count(ev *completion.Event) {
	had := m.delivered
	m.images += int64(ev.ImageCount)
	m.audio += int64(len(ev.Audio))
	m.keep(ev.Text)
	m.keep(ev.Reasoning)
	if !ev.Sentence {
		m.keep(ev.Refusal)
	}
	for i := range ev.ToolCalls {
		m.keep(ev.ToolCalls[i].Arguments)
		if m.watch {
			m.tool(&ev.ToolCalls[i])
		}
	}
	if ev.Result != nil {
		m.result(ev.Result)
	}
	if ev.Called != nil {
		m.called = ev.Called.Hosted()
	}
	m.cited = m.cited || len(ev.Annotations) > 0 && bytes.Contains(ev.Annotations, urlCitation)
	if m.fresh && m.delivered != had {
		m.fresh = false
	}
	if ev.Usage != nil {
		m.usage.Follow(ev.Usage, ev.Replaces)
		reported := ev.Usage.Completion
		m.fresh = m.fresh || reported.Valid() && !ev.Opening && (reported.N > 0 || m.delivered.nothing())
	}
	if ev.Finish != "" {
		m.finish, m.native = ev.Finish, ev.NativeFinish
		m.finished++
	}
	m.done = m.done || ev.Done
}

// Bounds of the tools that are kept of an answer.
const (
	mostWatched = 16
	longestTool = 64 // bytes of a name
)

// tool keeps a name, which may come in pieces.
func (m *meter) tool(c *completion.ToolCall) {
	if c.Name == "" || c.Index < 0 || c.Index >= mostWatched {
		return
	}
	for len(m.tools) <= c.Index {
		m.tools = append(m.tools, "")
	}
	if name := &m.tools[c.Index]; len(*name) < longestTool {
		*name = usertext.Cut(*name+c.Name, longestTool)
	}
}

// final reports whether the reported usage is that of the whole answer, and not that of a moment before its end.
func (m *meter) final(answers int) bool {
	return m.fresh && (m.done || m.finished >= max(answers, 1))
}

// undo forgets that an event was delivered.
func (m *meter) undo(had delivered, kept int) { m.delivered, m.kept = had, m.kept[:kept] }

// result counts a piece of a task's result.
func (m *meter) result(r *task.Result) {
	had := m.made.Images
	m.made.Add(r)
	m.images += m.made.Images - had
	m.keep([]byte(r.Text(m.bytes > 0)))
}

func (m *meter) keep(b []byte) {
	if len(b) == 0 {
		return
	}
	m.bytes += int64(len(b))
	n := min(len(b), maxKept-len(m.kept))
	if n > 0 {
		if size := len(m.kept) + n; size > cap(m.kept) {
			next := firstKept
			if size > next {
				next = maxKept
			}
			m.kept = append(make([]byte, 0, next), m.kept...)
		}
		m.kept = append(m.kept, b[:n]...)
		m.sample.Add(b[:n])
	}
	m.rest.Add(b[n:])
}

// most is more tokens than the text has by nearly any vocabulary.
func (m *meter) most() int64 { return m.sample.Most() + m.rest.Most() }

// likely is about how many tokens the text has.
func (m *meter) likely() int64 { return m.sample.Likely() + m.rest.Likely() }

// tokens counts those of the text.
func (m *meter) tokens(t Tokens) int64 {
	if m.bytes == 0 {
		return 0
	}
	n := t.Count(func(yield func([]byte) bool) { yield(m.kept) })
	return n + tokenizer.Beyond(n, &m.sample, &m.rest)
}

// What audio and images usually take in tokens.
const (
	charsPerAudioToken = 3200 // base64 of 24,000 samples a second of two bytes, at twenty tokens a second
	charsPerCompressed = 1067 // base64 of 16 KB a second
	tokensPerImage     = 1290
)

// other is the delivered content other than text. Images with a price per image have no tokens.
func (m *meter) other(streamed, eachPriced bool) usage.Delivered {
	d := usage.Delivered{Images: m.images}
	if per := int64(charsPerCompressed); m.audio > 0 {
		if streamed {
			per = charsPerAudioToken // only plain audio is streamed
		}
		d.Audio = (m.audio + per - 1) / per
	}
	if !eachPriced {
		d.Image = m.images * tokensPerImage
	}
	return d
}
