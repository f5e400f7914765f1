package upstreamtest

import (
	"context"
	"fmt"
	"testing"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/fault"
	"weir/internal/task"
	"weir/internal/upstream"
	"weir/internal/usage"
)

// Done is what a task came to.
type Done struct {
	Head  completion.Head
	All   []task.Result
	Usage *usage.Usage
	Done  bool
	Err   error
}

// Perform does a task at a provider that is scripted. declare completes its declaration; nil: nothing is needed.
func Perform(t testing.TB, d dialect.Dialect, p *Provider, declare func(*catalog.Endpoint), want task.Task) (out Done) {
	t.Helper()
	const name = "tested"
	ep := Endpoint(Wire{Name: name}, p.URL)
	ep.UpstreamID = "acme-large"
	if declare != nil {
		declare(ep)
	}
	c := clientOf(t, name, d, upstream.Config{})
	for ev, err := range c.Complete(context.Background(), ep, &completion.Request{Task: want, Models: []string{"acme/large"}, N: 1}, nil) {
		if err != nil {
			out.Err = err
			return out
		}
		if ev.Head != nil {
			out.Head = *ev.Head
		}
		if ev.Result != nil {
			out.All = append(out.All, *ev.Result)
		}
		if ev.Usage != nil {
			out.Usage = ev.Usage
		}
		out.Done = ev.Done
	}
	return out
}

// Texts are inputs that are one text each.
func Texts(list ...string) (out []task.Input) {
	for _, s := range list {
		out = append(out, task.Input{Parts: []task.Part{{Text: s}}})
	}
	return out
}

// Vector is an embedding in numbers.
type Vector struct {
	Index  int
	Values []float32
}

// Numbers are the numbers of vectors.
func Numbers(vectors []task.Vector) []Vector {
	out := make([]Vector, len(vectors))
	for i := range vectors {
		out[i] = Vector{vectors[i].Index, vectors[i].Numbers.Values()}
	}
	return out
}

// Exchange is a task with the one request that it becomes, the answer to that, and what is read of it: vectors, ranks, tokens and searches as
// Go prints them.
type Exchange struct {
	Name                        string
	Task                        task.Task
	Path, Request, Answer, Want string
}

// Exchanges checks what a dialect sends and reads. declare is Perform's.
func Exchanges(t *testing.T, d dialect.Dialect, declare func(*catalog.Endpoint), list []Exchange) {
	for _, x := range list {
		t.Run(x.Name, func(t *testing.T) {
			t.Parallel()
			p := NewProvider(t, Send(JSON(x.Answer)))
			got := Perform(t, d, p, declare, x.Task)
			if got.Err != nil || !got.Done || len(got.All) != 1 {
				t.Fatalf("%+v", got)
			}
			if seen := p.Seen(); len(seen) != 1 || seen[0].Path != x.Path || seen[0].Body != x.Request {
				t.Errorf("sent %+v", seen)
			}
			if s := fmt.Sprint(Numbers(got.All[0].Vectors), got.All[0].Ranks, got.Usage.Prompt, got.Usage.Requests); s != x.Want {
				t.Errorf("%s, want %s", s, x.Want)
			}
		})
	}
}

// Refused is a task that a wire cannot do, or an answer that cannot be read, and the fault that comes of it. Another endpoint may be tried then.
type Refused struct {
	Task   task.Task
	Answer string
	Kind   fault.Kind
}

// Refusals checks tasks, by name, that come to nothing. declare is Perform's.
func Refusals(t *testing.T, d dialect.Dialect, declare func(*catalog.Endpoint), list map[string]Refused) {
	for name, x := range list {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Perform(t, d, NewProvider(t, Send(JSON(x.Answer))), declare, x.Task)
			if f := fault.From(got.Err); got.Err == nil || f.Kind != x.Kind || f.Next != fault.NextEndpoint {
				t.Errorf("%+v", got)
			}
		})
	}
}
