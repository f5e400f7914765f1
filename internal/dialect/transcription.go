package dialect

import (
	"math"
	"strings"
	"time"

	"weir/internal/rawjson"
	"weir/internal/task"
)

// LeftOut is the notice about those fields of a transcription that a wire does not have, "" when it has all. takes lists the optional
// fields that it has, by the names that clients use.
func LeftOut(t *task.Transcription, takes map[string]bool) string {
	var left []string
	if t.Prompt != "" && !takes["prompt"] {
		left = append(left, "prompt")
	}
	if t.Temperature != "" && !takes["temperature"] {
		left = append(left, "temperature")
	}
	for i := range t.Extra {
		if name := t.Extra[i].Name; !takes[name] {
			left = append(left, name)
		}
	}
	if left == nil {
		return ""
	}
	return "The provider of this model does not support: " + strings.Join(left, ", ") + "."
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
