// Package embed is the common part of dialects that make embeddings: it distributes the inputs of a task among calls that stay within a
// wire's limits, and joins the answers in order. It must not know a wire's field names or models.
package embed

import (
	"errors"
	"iter"
	"math"
	"strings"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/fault"
	"weir/internal/rawjson"
	"weir/internal/task"
	"weir/internal/usage"
	"weir/internal/vector"
)

// Limits are the limits of one call of a wire.
type Limits struct {
	Inputs int   // inputs in one call, at least 1
	Tokens int64 // tokens of all inputs of one call, as Tokens estimates them; 0: any number
}

// parallel is how many calls of one task run at the same time.
const parallel = 4

// Answer has the results for the inputs of one call.
type Answer struct {
	ID, Model string          // as the upstream reports them, "" missing
	Vectors   []vector.Vector // one for each input, in their order; an empty one is missing
	Usage     usage.Usage     // counts that are not Reported are missing
}

// Perform distributes the inputs of t among as few calls as the limits allow and yields all vectors together. A batch that the provider
// refuses as too large is halved, and a task of several calls waits for short rate limits. Any other call that fails fails the task.
func Perform(ask dialect.Ask, ep *catalog.Endpoint, t *task.Embedding, l Limits, call func(batch []task.Input) (Answer, error)) iter.Seq2[*completion.Event, error] {
	return func(yield func(*completion.Event, error) bool) {
		batches := Share(t.Inputs, l)
		answers := make([]Answer, len(batches))
		c := &caller{ask: ask, ep: ep, do: call, several: len(batches) > 1}
		err := dialect.Each(len(batches), parallel, func(i int) (err error) {
			answers[i], err = c.call(batches[i])
			return err
		})
		if err != nil {
			yield(nil, err)
			return
		}
		ev, err := join(ep, t, answers)
		if err != nil {
			yield(nil, err)
			return
		}
		yield(ev, nil)
	}
}

// Share splits inputs into batches that stay within the limits, in order. An input that exceeds the limits alone has its own batch.
func Share(inputs []task.Input, l Limits) [][]task.Input {
	var out [][]task.Input
	from, tokens := 0, int64(0)
	for i := range inputs {
		n := Tokens(&inputs[i])
		if i > from && (i-from >= l.Inputs || l.Tokens > 0 && tokens+n > l.Tokens) {
			out = append(out, inputs[from:i:i])
			from, tokens = i, 0
		}
		tokens += n
	}
	return append(out, inputs[from:])
}

const (
	bytesPerToken = 3    // prose has 3.5 to 5 bytes to a token
	imageTokens   = 1000 // of an image, approximately
)

// Tokens estimates how many tokens an input has, rather too many than too few.
func Tokens(in *task.Input) int64 {
	n := int64(len(in.Tokens))
	for i := range in.Parts {
		if in.Parts[i].ImageURL != "" {
			n += imageTokens
		} else {
			n += int64(len(in.Parts[i].Text))/bytesPerToken + 1
		}
	}
	return n
}

// Text is the whole text of an input; false when the input has parts other than text.
func Text(in *task.Input) (string, bool) {
	if text, plain := in.Text(); plain {
		return text, true
	}
	if in.Tokens != nil {
		return "", false
	}
	var all strings.Builder
	for i := range in.Parts {
		if in.Parts[i].ImageURL != "" {
			return "", false
		}
		if i > 0 {
			all.WriteByte('\n')
		}
		all.WriteString(in.Parts[i].Text)
	}
	return all.String(), true
}

// WritePart writes an image as a part of a chat message, or the text where there is no image.
func WritePart(w *rawjson.Writer, part *task.Part) {
	w.Object()
	if part.ImageURL != "" {
		w.Name("type").Text("image_url")
		w.Name("image_url").Object()
		w.Name("url").Text(part.ImageURL)
		w.EndObject()
	} else {
		w.Name("type").Text("text")
		w.Name("text").Text(part.Text)
	}
	w.EndObject()
}

// Texts returns the texts of a batch. It fails with dialect.Unsupported where an input has parts other than text.
func Texts(ep *catalog.Endpoint, batch []task.Input) ([]string, error) {
	out := make([]string, len(batch))
	for i := range batch {
		var plain bool
		if out[i], plain = Text(&batch[i]); !plain {
			return nil, unsupported(ep, "input", "The provider of this model embeds text only.")
		}
	}
	return out, nil
}

// NoTokens is the fault of an endpoint that takes only texts, for a request with tokens.
func NoTokens(ep *catalog.Endpoint) error {
	return unsupported(ep, "input", "This model does not take tokens. Send the texts.")
}

// NoDimensions is the fault of an endpoint whose vectors have one size.
func NoDimensions(ep *catalog.Endpoint) error {
	return unsupported(ep, "dimensions", "This model does not support dimensions.")
}

func unsupported(ep *catalog.Endpoint, param, public string) *fault.Error {
	f := dialect.Unsupported(ep, public)
	f.Param = param
	return f
}

// join combines the answers. All vectors must be present, and have the same size: the one that the client asked for.
func join(ep *catalog.Endpoint, t *task.Embedding, answers []Answer) (*completion.Event, error) {
	head := &completion.Head{ID: answers[0].ID, Model: answers[0].Model}
	vectors := make([]task.Vector, 0, len(t.Inputs))
	used := usage.Usage{Prompt: usage.Of(0), PromptImage: usage.Of(0), Completion: usage.Of(0)}
	for i := range answers {
		for _, v := range answers[i].Vectors {
			vectors = append(vectors, task.Vector{Index: len(vectors), Numbers: v})
		}
		Add(&used.Prompt, answers[i].Usage.Prompt)
		Add(&used.PromptImage, answers[i].Usage.PromptImage)
	}
	size := vectors[0].Numbers.Len()
	for i := range vectors {
		if n := vectors[i].Numbers.Len(); n == 0 || n != size {
			return nil, dialect.Broken(ep, errors.New("a vector is missing, or of another size than the others"))
		}
	}
	if t.Dimensions > 0 && t.Dimensions != size && t.Dimensions != bits(t)*size {
		return nil, NoDimensions(ep) // some servers ignore the requested size
	}
	return &completion.Event{Head: head, Choice: -1, Result: &task.Result{Vectors: vectors}, Usage: &used, Done: true}, nil
}

// Others lists the client's members that a wire with none but the canonical ones leaves out.
func Others(t *task.Embedding) (names []string) {
	if t.Numbers != "" {
		names = append(names, t.Asked.Name)
	}
	for i := range t.Extra {
		names = append(names, t.Extra[i].Name)
	}
	return names
}

// bits is how many dimensions a number of the answer holds.
func bits(t *task.Embedding) int {
	if t.Numbers == "binary" || t.Numbers == "ubinary" {
		return 8
	}
	return 1
}

// most is a bound above any task's tokens; sums of such counts do not overflow.
const most = 1 << 40

// Add adds a count to a sum. A count that is missing or implausible makes the sum unreported.
func Add(to *usage.Count, n usage.Count) {
	if !n.Reported || n.N < 0 {
		*to = usage.Count{}
	}
	if to.Reported {
		to.N = min(to.N+min(n.N, most), most)
	}
}

// Normalize scales a vector to length 1: with fewer dimensions than its own a model may return shorter ones.
func Normalize(v []float32) {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if sum == 0 || math.IsInf(sum, 0) {
		return
	}
	by := 1 / math.Sqrt(sum)
	for i := range v {
		v[i] = float32(float64(v[i]) * by)
	}
}

// Purpose lists the client's purpose of the vectors if it is not one of those that a wire knows.
func Purpose(t *task.Embedding, known map[string]string) []string {
	if _, ok := known[strings.ToLower(t.InputType)]; ok || t.InputType == "" {
		return nil
	}
	return []string{"input_type"}
}
