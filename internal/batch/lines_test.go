package batch

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func fileOf(text string, slow bool) source {
	return func(_ context.Context, offset, length int64) (io.ReadCloser, error) {
		var r io.Reader = strings.NewReader(text[offset : offset+length])
		if slow {
			r = iotest.OneByteReader(r)
		}
		return io.NopCloser(r), nil
	}
}

// A file is read as its lines, wherever the borders of its parts are.
func TestLines(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("y", chunk+5)
	text := "a\n\n  \r\nb\r\n" + long + "\n" + strings.Repeat("z\n", chunk) + "end"
	l := newLines(fileOf(text, false), int64(len(text)), int64(len(long)))
	count := 0
	for {
		one, err := l.after(t.Context())
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := text[one.offset : one.offset+int64(len(one.text))]; got != string(one.text) {
			t.Fatalf("line %d is not at its offset", one.number)
		}
		count++
		switch count {
		case 2:
			if one.number != 4 || string(one.text) != "b\r" {
				t.Errorf("%d %q", one.number, one.text)
			}
		case 3:
			if string(one.text) != long {
				t.Error("the long line is another")
			}
		}
	}
	if count != 4+chunk {
		t.Errorf("%d lines", count)
	}
}

// A line that is too long is refused before it is in memory.
func TestLongLine(t *testing.T) {
	t.Parallel()
	read := int64(0)
	size := int64(1 << 40)
	l := newLines(func(_ context.Context, _, length int64) (io.ReadCloser, error) {
		read += length
		return io.NopCloser(bytes.NewReader(bytes.Repeat([]byte("x"), int(length)))), nil
	}, size, 1000)
	if one, err := l.after(t.Context()); err != errLong || one.number != 1 || read > chunk {
		t.Errorf("line %d, %v, after %d bytes", one.number, err, read)
	}
}

func FuzzLines(f *testing.F) {
	f.Add("a\nb\n\nc", int64(3))
	f.Fuzz(func(t *testing.T, text string, most int64) {
		most = min(max(most, 1), 1<<20)
		var want []string
		for _, one := range strings.Split(text, "\n") {
			if int64(len(one)) > most {
				break
			}
			if strings.TrimSpace(one) != "" {
				want = append(want, one)
			}
		}
		var got []string
		l := newLines(fileOf(text, true), int64(len(text)), most)
		for {
			one, err := l.after(t.Context())
			if err != nil {
				break
			}
			got = append(got, string(one.text))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestProblemsRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		one := rapid.Custom(func(t *rapid.T) Problem {
			return Problem{rapid.String().Draw(t, "code"), rapid.String().Draw(t, "param"), rapid.String().Draw(t, "message"), rapid.Int64Range(0, 1<<40).Draw(t, "line")}
		})
		want := rapid.SliceOfN(one, 1, 4).Draw(t, "problems")
		if diff := cmp.Diff(want, DecodeProblems(EncodeProblems(want))); diff != "" {
			t.Fatal(diff)
		}
	})
}

func FuzzDecodeProblems(f *testing.F) {
	f.Add(EncodeProblems([]Problem{{"a", "b", "c", 7}}))
	f.Fuzz(func(_ *testing.T, b []byte) { DecodeProblems(b) })
}

// Lines and tries have names of their own, and the same ones each time.
func TestGenerations(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	b := &Batch{ID: "batch_1"}
	for line := range int64(1000) {
		for tries := range int64(3) {
			it := &Item{Line: line, Tries: tries}
			name := b.generation(it)
			if seen[name] || name != b.generation(it) {
				t.Fatalf("%s names two calls", name)
			}
			seen[name] = true
		}
	}
}

// The drawing of docs/batches.md has the transitions, and no others.
func TestStates(t *testing.T) {
	t.Parallel()
	for _, s := range States() {
		if !s.Known() || s.Final() != (len(s.Next()) == 0) {
			t.Errorf("%s", s)
		}
		for _, next := range s.Next() {
			if !s.To(next) || !next.Known() {
				t.Errorf("%s to %s", s, next)
			}
		}
	}
	if State("x").Known() || State("x").Final() {
		t.Error("an unknown state is one")
	}
	b := Batch{State: Completed}
	if err := b.to(InProgress); err == nil {
		t.Error("a batch that has ended goes on")
	}
}
