package task

import (
	"cmp"
	"fmt"
	"time"

	"weir/internal/catalog"
	"weir/internal/usage"
)

// Made is what an upstream has made of a task so far, as far as its money depends on it. The zero Made is nothing.
type Made struct {
	Images     int64         // finished
	Pixels     int64         // of all of them
	Previews   int64         // of images, finished or not
	Previewed  bool          // there were some after the last finished image
	Size       string        // of the image made last, as far as the upstream reported
	Quality    string        // likewise
	Dimensions string        // of the image made last, as price lists write them
	Length     time.Duration // of a recording, as the provider reports it

	Done bool // the upstream said that nothing follows
	Left bool // the client has given up
}

// Add takes in a piece of the result.
func (m *Made) Add(r *Result) {
	if p := r.Image; p != nil && p.Partial {
		m.Previews++
		m.Previewed = true
	} else if p != nil {
		m.Images++
		m.Previewed = false
		m.Pixels += int64(p.Width) * int64(p.Height)
		m.Size, m.Quality, m.Dimensions = p.Size, p.Quality, dimensions(p.Width, p.Height)
	}
	if t := r.Transcript; t != nil {
		m.Length = max(m.Length, t.Duration)
	}
}

// Text is the text of a piece of the result: further text, or all of it where nothing came before.
func (r *Result) Text(before bool) string {
	t := r.Transcript
	switch {
	case t == nil:
		return ""
	case t.Delta == "" && t.Final && !before:
		return t.Text
	}
	return t.Delta
}

// dimensions are an image's size as price lists write it.
func dimensions(width, height int) string {
	if width <= 0 || height <= 0 {
		return ""
	}
	return fmt.Sprintf("%dx%d", width, height)
}

// counted is what was delivered of so many images, whatever the upstream says of it.
func (m *Made) counted(images int64) (u usage.Usage) {
	if m.Images > 0 {
		u.Images = usage.Of(images)
	}
	if m.Pixels > 0 {
		u.Kilopixels = usage.Of((m.Pixels*images/m.Images + 999) / 1000)
	}
	return u
}

// Consumed is what embedding usually consumes.
func (t *Embedding) Consumed(m *Made) (usual, counted usage.Usage) {
	return t.Usual(), m.counted(m.Images)
}

// Consumed is what moderation usually consumes.
func (t *Moderation) Consumed(m *Made) (usual, counted usage.Usage) {
	return t.Usual(), m.counted(m.Images)
}

// Consumed is what speech usually consumes.
func (t *Speech) Consumed(m *Made) (usual, counted usage.Usage) {
	return t.Usual(), m.counted(m.Images)
}

// Consumed is what reranking usually consumes.
func (t *Rerank) Consumed(m *Made) (usual, counted usage.Usage) {
	return t.Usual(), m.counted(m.Images)
}

// Consumed is what the recording usually comes to. A length that was measured while decoding is better than the one in the file's header.
func (t *Transcription) Consumed(m *Made) (usual, counted usage.Usage) {
	usual = t.Usual()
	if !t.Measured && m.Length > 0 {
		usual.Millis = usage.Of(m.Length.Milliseconds())
	}
	return usual, m.counted(m.Images)
}

// Consumed is what as many images of that kind usually take in tokens, and how many there are: of a broken stream those that were finished or
// begun.
func (t *Image) Consumed(m *Made) (usual, counted usage.Usage) {
	n := t.begun(m)
	if m.Done {
		n = m.Images // not all that were asked for may have been made
	}
	if m.Done && n == 0 {
		return t.Usual(), m.counted(0)
	}
	part := *t
	part.N = int(min(max(n, 1), int64(max(t.N, 1))))
	return part.Usual(), m.counted(n)
}

// begun is how many images of a broken stream are paid for: those that were finished and, where the client gave up, those of which it has seen
// previews, for the provider makes them to their end. An image has as many previews as were asked for.
func (t *Image) begun(m *Made) int64 {
	if !m.Left || m.Previews == 0 {
		return m.Images
	}
	each, n := int64(t.Partial), m.Images
	if each <= 0 { // they were not asked for: the provider may make any number
		each = m.Previews
	}
	if m.Previewed {
		n++
	}
	return max(m.Images, min(max(n, (m.Previews+each-1)/each), int64(max(t.N, 1))))
}

// Tariff has one price for all.
func (*Embedding) Tariff(p *catalog.Pricing, promptTokens int64, _ *Made) catalog.Tariff {
	return p.Tariff(promptTokens)
}

// Tariff has one price for all.
func (*Moderation) Tariff(p *catalog.Pricing, promptTokens int64, _ *Made) catalog.Tariff {
	return p.Tariff(promptTokens)
}

// Tariff has one price for all.
func (*Transcription) Tariff(p *catalog.Pricing, promptTokens int64, _ *Made) catalog.Tariff {
	return p.Tariff(promptTokens)
}

// Tariff has one price for all.
func (*Speech) Tariff(p *catalog.Pricing, promptTokens int64, _ *Made) catalog.Tariff {
	return p.Tariff(promptTokens)
}

// Tariff has one price for all.
func (*Rerank) Tariff(p *catalog.Pricing, promptTokens int64, _ *Made) catalog.Tariff {
	return p.Tariff(promptTokens)
}

// Tariff goes by what the upstream said it made, then by what was asked for, then by how many pixels the images turned out to have. Where the
// model chooses itself, the dearest that it may choose is held for.
func (t *Image) Tariff(p *catalog.Pricing, promptTokens int64, m *Made) catalog.Tariff {
	if m == nil {
		if vague(t.Quality) || vague(t.Size) {
			return p.DearestImageTariff(promptTokens)
		}
		return p.ImageTariff(promptTokens, t.Quality, t.Size)
	}
	size := cmp.Or(m.Size, t.Size)
	if vague(size) {
		size = cmp.Or(m.Dimensions, t.Resolution)
	}
	return p.ImageTariff(promptTokens, cmp.Or(m.Quality, t.Quality), size)
}

// vague reports a setting of an image that the model chooses itself.
func vague(s string) bool { return s == "" || s == "auto" }

// Charged is what the client gave up itself.
func (*Embedding) Charged(m *Made) bool { return m.Left }

// Charged is what the client gave up itself.
func (*Moderation) Charged(m *Made) bool { return m.Left }

// Charged is what the client gave up itself.
func (*Transcription) Charged(m *Made) bool { return m.Left }

// Charged is what the client gave up itself.
func (*Speech) Charged(m *Made) bool { return m.Left }

// Charged is what the client gave up itself.
func (*Rerank) Charged(m *Made) bool { return m.Left }

// Charged are the images that were finished. One of which its client has seen a preview is made to its end, and paid for, whether or not
// somebody waits.
func (*Image) Charged(m *Made) bool { return m.Images > 0 || m.Left && m.Previewed }

var _ = [...]Task{(*Embedding)(nil), (*Moderation)(nil), (*Transcription)(nil), (*Image)(nil), (*Speech)(nil), (*Rerank)(nil)}
