package dialect

import (
	"iter"
	"math"
	"time"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/rawjson"
	"weir/internal/task"
)

// LeftOut lists the fields of a transcription that a wire does not have. takes lists the optional fields that it has, by the names that
// clients use.
func LeftOut(t *task.Transcription, takes map[string]bool) (left []string) {
	for _, x := range [...]struct{ name, value string }{{"prompt", t.Prompt}, {"temperature", t.Temperature}, {"chunking_strategy", t.Chunking}} {
		if x.value != "" && !takes[x.name] {
			left = append(left, x.name)
		}
	}
	for i := range t.Extra {
		if name := t.Extra[i].Name; !takes[name] {
			left = append(left, name)
		}
	}
	return left
}

// NoTranslation is the answer of a wire that writes down what is said only in its own language.
func NoTranslation(ep *catalog.Endpoint) iter.Seq2[*completion.Event, error] {
	return Fails(Unsupported(ep, "The provider of this model does not translate recordings. Whisper models do."))
}

// RecordedSeconds reads a JSON number of seconds of audio; some servers write it as text. An implausible length is 0.
func RecordedSeconds(v []byte) time.Duration {
	if rawjson.KindOf(v) == rawjson.String {
		v = []byte(rawjson.Text(v))
	}
	x, ok := rawjson.Float(v)
	if !ok || !(x > 0) || x > 1e6 {
		return 0
	}
	return time.Duration(math.Round(x * float64(time.Second)))
}
