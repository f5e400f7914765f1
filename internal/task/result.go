package task

import (
	"iter"
	"time"

	"weir/internal/vector"
)

// Result is a piece of what a task gives: one of its fields is set. Byte slices and lists belong to the receiver.
type Result struct {
	Vectors    []Vector
	Verdicts   []Verdict
	Transcript *Transcript
	Image      *MadeImage
	Audio      *AudioPiece
	Ranks      []Rank
}

// Vector is the embedding of one input.
type Vector struct {
	Index   int           // of the input, 0, 1, ...
	Numbers vector.Vector // may be a view of the upstream's answer: valid until the call has ended
}

// Categories are the names of what a moderation model judges, in the order of Verdict's fields.
var Categories = [...]string{
	"harassment", "harassment/threatening", "hate", "hate/threatening", "illicit", "illicit/violent", "self-harm", "self-harm/instructions",
	"self-harm/intent", "sexual", "sexual/minors", "violence", "violence/graphic",
}

// Judged is one category of a verdict.
type Judged struct {
	Name        string
	Is          bool
	Score       float64
	Text, Image bool // the category was judged by the input's text, and by its image
}

// MaxOwn bounds the categories of a verdict that have no equal in Categories.
const MaxOwn = 64

// Verdict is the judgement of one input. What the model does not judge stays false, 0 and nothing.
type Verdict struct {
	Flagged bool
	Is      [len(Categories)]bool
	Score   [len(Categories)]float64
	Text    [len(Categories)]bool // the category was judged by the input's text
	Image   [len(Categories)]bool // and by its image
	Own     []Judged              // categories that only this model has, in its order; at most MaxOwn
}

// All yields the categories and then those that only the model has.
func (v *Verdict) All() iter.Seq[Judged] {
	return func(yield func(Judged) bool) {
		for i, name := range Categories {
			if !yield(Judged{name, v.Is[i], v.Score[i], v.Text[i], v.Image[i]}) {
				return
			}
		}
		for _, own := range v.Own {
			if !yield(own) {
				return
			}
		}
	}
}

// Transcript is a piece of a transcript or all of it.
type Transcript struct {
	Delta     string // further text; a whole answer has Text instead
	SegmentID string // segment that Delta belongs to, "" none
	Segment   *Segment

	Final    bool // what follows is said of the whole
	Text     string
	Language string        // as the upstream wrote it, "" missing
	Duration time.Duration // of the recording as the upstream measured it, 0 missing
	Segments []Segment
	Words    []Word
	Logprobs []byte // raw JSON array, nil missing: of Delta, or of the whole
}

// Segment is a stretch of a transcript. Fields that the upstream did not report are zero, and the pointer nil.
type Segment struct {
	ID         string // "seg_001"; "" where they are only counted
	Start, End time.Duration
	Text       string
	Speaker    string // "A", "B", ..., or a name that the client gave; "" missing
	Whisper    *Whisper
}

// Whisper is what models of that family report of a segment in addition.
type Whisper struct {
	Seek             int
	Tokens           []int32
	Temperature      float64
	AvgLogprob       float64
	CompressionRatio float64
	NoSpeechProb     float64
}

// Word is one word of a transcript.
type Word struct {
	Text       string
	Start, End time.Duration
	Speaker    string // "" missing
}

// MadeImage is a finished image, or a preview of one.
type MadeImage struct {
	Index     int    // of the image, 0 to n-1
	Partial   bool   // it is a preview
	Preview   int    // number of the preview, from 0
	Data      []byte // the file itself
	MediaType string // "image/png", "" unknown
	Width     int    // pixels, 0 unknown
	Height    int
	Revised   string // prompt as the upstream changed it, "" missing

	// What the upstream says it made, "" missing. Prices may depend on it.
	Size, Quality, Background, Output string
}

// AudioPiece is a piece of speech, in order.
type AudioPiece struct {
	Data      []byte
	MediaType string // on the first piece: "audio/mpeg"
}

// Rank is a document's place in a ranking, best first.
type Rank struct {
	Index int // of the document
	Score float64
}
