package relay

import (
	"slices"
	"time"

	"weir/internal/completion"
	"weir/internal/task"
	"weir/internal/usage"
)

// maxKept bounds the answer text that is kept for counting, for each call in flight; what is beyond it counts in proportion.
const maxKept = 16 << 10

// meter watches an answer go by: the usage that the upstream reports, and the text, in case it reports none.
type meter struct {
	usage  usage.Usage // as last reported
	images int64       // produced so far
	bytes  int64       // of text, reasoning, refusal and arguments so far
	kept   []byte      // the first of them
	finish completion.FinishReason
	native string

	picture    struct{ size, quality string } // of the picture made last, as far as the upstream told
	pixels     int64                          // of all pictures
	length     time.Duration                  // of a recording, as whoever transcribed it says
	dimensions string                         // of the last one
}

func (m *meter) reset() {
	*m = meter{kept: m.kept[:0]}
}

func (m *meter) count(ev *completion.Event) {
	if ev.Usage != nil {
		m.usage = *ev.Usage // cumulative: replace, do not add
	}
	if ev.Finish != "" {
		m.finish, m.native = ev.Finish, ev.NativeFinish
	}
	m.images += int64(ev.ImageCount)
	m.keep(ev.Text)
	m.keep(ev.Reasoning)
	m.keep(ev.Refusal)
	for i := range ev.ToolCalls {
		m.keep(ev.ToolCalls[i].Arguments)
	}
	if ev.Result != nil {
		m.result(ev.Result)
	}
}

// result counts a piece of a task's result.
func (m *meter) result(r *task.Result) {
	if p := r.Picture; p != nil && !p.Partial {
		m.images++
		m.pixels += int64(p.Width) * int64(p.Height)
		m.picture.size, m.picture.quality, m.dimensions = p.Size, p.Quality, pixelSize(p.Width, p.Height)
	}
	if t := r.Transcript; t != nil {
		m.keep([]byte(t.Delta))
		m.length = max(m.length, t.Duration)
		if t.Final && m.bytes == 0 {
			m.keep([]byte(t.Text))
		}
	}
}

func (m *meter) keep(b []byte) {
	m.bytes += int64(len(b))
	m.kept = append(m.kept, b[:min(len(b), maxKept-len(m.kept))]...)
}

// produced is a quick upper estimate of the answer's tokens: three bytes each is fewer than any script needs in the long run.
func (m *meter) produced() int64 { return m.bytes / 3 }

// tokens counts the answer.
func (m *meter) tokens(t Tokens) int64 {
	if m.bytes == 0 {
		return 0
	}
	kept := int64(len(m.kept))
	n := t.Count(slices.Values([][]byte{m.kept}))
	return n + (n*(m.bytes-kept)+kept-1)/kept
}
