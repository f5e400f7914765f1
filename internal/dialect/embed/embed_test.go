package embed_test

import (
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"weir/internal/dialect/embed"
	"weir/internal/task"
)

func text(s string) task.Input { return task.Input{Parts: []task.Part{{Text: s}}} }

// Whatever the limits, every input is in exactly one batch, in order, and no batch has more than it may.
func TestShare(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := embed.Limits{Inputs: rapid.IntRange(1, 9).Draw(t, "inputs"), Tokens: rapid.Int64Range(0, 40).Draw(t, "tokens")}
		var inputs []task.Input
		for i := range rapid.IntRange(1, 40).Draw(t, "n") {
			if rapid.Bool().Draw(t, "tokenized") {
				inputs = append(inputs, task.Input{Tokens: make([]int32, rapid.IntRange(1, 60).Draw(t, "length"))})
			} else {
				inputs = append(inputs, text(strconv.Itoa(i)+strings.Repeat("x", rapid.IntRange(0, 180).Draw(t, "length"))))
			}
		}
		at := 0
		for _, batch := range embed.Share(inputs, l) {
			tokens := int64(0)
			for i := range batch {
				if &batch[i] != &inputs[at] {
					t.Fatalf("input %d is out of order", at)
				}
				tokens += embed.Tokens(&batch[i])
				at++
			}
			if len(batch) == 0 || len(batch) > l.Inputs || l.Tokens > 0 && tokens > l.Tokens && len(batch) > 1 {
				t.Fatalf("a batch of %d inputs and %d tokens within %+v", len(batch), tokens, l)
			}
		}
		if at != len(inputs) {
			t.Fatalf("%d of %d inputs are in batches", at, len(inputs))
		}
	})
}

func TestNormalize(t *testing.T) {
	t.Parallel()
	v := []float32{3, 4}
	if embed.Normalize(v); v[0] != 0.6 || v[1] != 0.8 {
		t.Errorf("%v", v)
	}
	zero := []float32{0, 0}
	if embed.Normalize(zero); zero[0] != 0 {
		t.Errorf("%v", zero)
	}
}
