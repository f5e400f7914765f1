package sse_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"weir/internal/wire/sse"
)

// read lists all frames as event|data, and the error that ended the stream.
func read(r io.Reader, lim sse.Limits) (frames []string, err error) {
	s := sse.NewReader(r, lim)
	for {
		f, err := s.Next()
		if err != nil {
			return frames, err
		}
		frames = append(frames, string(f.Event)+"|"+string(f.Data))
	}
}

func TestReader(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("я", 50_000)
	for _, tc := range []struct {
		name, stream string
		want         []string
	}{
		{"plain", "data: {\"a\":1}\n\ndata: [DONE]\n\n", []string{`|{"a":1}`, "|[DONE]"}},
		{"CRLF", "data: 1\r\n\r\ndata: 2\r\n\r\n", []string{"|1", "|2"}},
		{"lone CR", "data: 1\r\rdata: 2\r\r", []string{"|1", "|2"}},
		{"mixed ends", "data: 1\r\n\ndata: 2\n\rdata: 3\r\r\n", []string{"|1", "|2", "|3"}},
		{"byte order mark", "\ufeffdata: 1\n\n", []string{"|1"}},
		{"byte order mark inside", "data: \ufeff1\n\n\ufeffdata: 2\n\n", []string{"|\ufeff1"}},
		{"comments", ": hi\n\n:\ndata: 1\n: in between\n\n: bye\n", []string{"|1"}},
		{"comment with one line feed", ": keep-alive\ndata: 1\n\n", []string{"|1"}},
		{"no space", "data:1\n\ndata:  2\n\n", []string{"|1", "| 2"}},
		{"several lines", "data: {\ndata: \"a\":1\ndata:}\n\n", []string{"|{\n\"a\":1\n}"}},
		{"several lines with fields between", "data: a\nid: 7\n: c\ndata: b\nretry: 3\n\n", []string{"|a\nb"}},
		{"event", "event: ping\ndata: {}\n\nevent: stop\nid: 1\nretry: 2\ndata: x\n\ndata: y\n\n", []string{"ping|{}", "stop|x", "|y"}},
		{"event after data", "data: x\nevent: late\n\n", []string{"late|x"}},
		{"last event field counts", "event: a\nevent: b\ndata: x\n\n", []string{"b|x"}},
		{"event without data", "event: a\n\ndata: x\n\n", []string{"|x"}},
		{"no blank line at the end", "data: 1\n\ndata: 2\n", []string{"|1", "|2"}},
		{"no line end at the end", "data: 1\n\ndata: 2", []string{"|1", "|2"}},
		{"CR at the end", "data: 1\r", []string{"|1"}},
		{"empty data", "data\n\ndata:\n\ndata\ndata\n\n", []string{"|", "|", "|\n"}},
		{"unknown field", "foo: bar\ndatax: 1\n data: 2\ndata: 3\n\n", []string{"|3"}},
		{"nothing", "", nil},
		{"blank lines", "\n\n\r\r\n\n", nil},
		{"colon in data", "data: a: b\n\n", []string{"|a: b"}},
		{"long line", "data: " + long + "\n\ndata: 2\n\n", []string{"|" + long, "|2"}},
		{"long lines", "data: " + long + "\ndata: " + long + "\n\n", []string{"|" + long + "\n" + long}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			for how, src := range map[string]io.Reader{
				"whole":        strings.NewReader(tc.stream),
				"byte by byte": iotest.OneByteReader(strings.NewReader(tc.stream)),
				"halves":       iotest.HalfReader(strings.NewReader(tc.stream)),
				"data and EOF": iotest.DataErrReader(strings.NewReader(tc.stream)),
			} {
				got, err := read(src, sse.Limits{})
				if err != io.EOF {
					t.Errorf("%s: ended with %v", how, err)
				}
				if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", tc.want) {
					t.Errorf("%s: got %.200q, want %.200q", how, got, tc.want)
				}
			}
		})
	}
}

func TestReaderLimits(t *testing.T) {
	t.Parallel()
	lim := sse.Limits{Line: 100, Total: 100_000}
	for _, tc := range []struct {
		name   string
		stream io.Reader
		what   string
		frames int
	}{
		{"line at the limit", strings.NewReader("data: " + strings.Repeat("x", 94) + "\n\n"), "", 1},
		{"line above it", strings.NewReader("data: 1\n\ndata: " + strings.Repeat("x", 95) + "\n\n"), "line", 1},
		{"endless line", iotest.OneByteReader(endless("data: x", "x")), "line", 0},
		{"endless data of one frame", endless("data: x\n", "data: x\n"), "line", 0},
		{"endless comments inside a frame", endless("data: x\n", ": x\n"), "stream", 0},
		{"endless frames", endless("", "data: x\n\n"), "stream", -1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			frames, err := read(tc.stream, lim)
			var le *sse.LimitError
			if tc.what == "" && err != io.EOF || tc.what != "" && (!errors.As(err, &le) || le.What != tc.what) {
				t.Errorf("ended with %v, want limit %q", err, tc.what)
			}
			if tc.frames >= 0 && len(frames) != tc.frames {
				t.Errorf("got %d frames, want %d", len(frames), tc.frames)
			}
		})
	}
}

// endless is a stream that never ends.
func endless(first, then string) io.Reader {
	return io.MultiReader(strings.NewReader(first), &repeater{text: then})
}

type repeater struct {
	text string
	at   int
}

func (r *repeater) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = r.text[r.at%len(r.text)]
		r.at++
	}
	return len(b), nil
}

func TestReaderReturnsTheSourcesError(t *testing.T) {
	t.Parallel()
	broken := errors.New("reset")
	frames, err := read(io.MultiReader(strings.NewReader("data: 1\n\ndata: 2\n"), iotest.ErrReader(broken)), sse.Limits{})
	if !errors.Is(err, broken) || len(frames) != 1 {
		t.Errorf("got %q, %v: want the first frame and the error, not the frame it cut", frames, err)
	}
	if _, err := read(stuck{}, sse.Limits{}); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("a source that gives nothing ends with %v", err)
	}
}

type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

func TestReaderReset(t *testing.T) {
	t.Parallel()
	r := sse.NewReader(strings.NewReader("event: a\ndata: 1\ndata: 2\r"), sse.Limits{})
	if f, err := r.Next(); err != nil || string(f.Data) != "1\n2" {
		t.Fatalf("got %q %v", f.Data, err)
	}
	r.Reset(strings.NewReader("\n\ufeffdata: 3\n\n"), sse.Limits{})
	r.Reset(strings.NewReader("\ufeffdata: 3\n\n"), sse.Limits{})
	if f, err := r.Next(); err != nil || string(f.Data) != "3" || len(f.Event) != 0 {
		t.Errorf("got %q %q %v", f.Event, f.Data, err)
	}
}

func TestReaderAllocatesNothingPerFrame(t *testing.T) {
	// not parallel: it counts allocations
	stream := strings.Repeat("event: x\ndata: {\"choices\":[]}\n\n", 1000)
	r := sse.NewReader(strings.NewReader(""), sse.Limits{})
	src := strings.NewReader("")
	n := testing.AllocsPerRun(10, func() {
		src.Reset(stream)
		r.Reset(src, sse.Limits{})
		for range 1000 {
			if _, err := r.Next(); err != nil {
				t.Fatal(err)
			}
		}
	})
	if n > 0 {
		t.Errorf("%v allocations for 1000 frames", n)
	}
}

// portions returns what it has in portions of given sizes, the last one again and again.
type portions struct {
	stream string
	sizes  []int
}

func (p *portions) Read(b []byte) (int, error) {
	if p.stream == "" {
		return 0, io.EOF
	}
	n := copy(b, p.stream[:min(p.sizes[0], len(p.stream))])
	p.stream = p.stream[n:]
	if len(p.sizes) > 1 {
		p.sizes = p.sizes[1:]
	}
	return n, nil
}

// Frames of any length that arrive in bursts and one by one, in any order, are read as they were sent, also by a reader that another stream had.
func TestReaderFollowsTheStream(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		length := rapid.SampledFrom([]int{0, 1, 100, 400, 1000, 1100, 4000, 5000, 17_000, 70_000})
		size := rapid.SampledFrom([]int{1, 90, 300, 512, 1024, 1025, 3000, 16 << 10, 1 << 20})
		var r sse.Reader
		for range rapid.IntRange(1, 2).Draw(t, "streams") {
			var b strings.Builder
			for i := range rapid.IntRange(1, 150).Draw(t, "frames") {
				n := 50
				if rapid.IntRange(0, 9).Draw(t, "other") == 0 {
					n = length.Draw(t, "length")
				}
				fmt.Fprintf(&b, "event: e%d\ndata: %d\ndata: %s\n\n", i, i, strings.Repeat("x", n))
			}
			src := &portions{b.String(), rapid.SliceOfN(size, 1, 200).Draw(t, "sizes")}
			r.Reset(src, sse.Limits{})
			for i, want := range reference(b.String()) {
				f, err := r.Next()
				if got := fmt.Sprintf("%s|%s", f.Event, f.Data); err != nil || got != want {
					t.Fatalf("frame %d is %.80q of %d bytes, want %.80q of %d: %v", i, got, len(got), want, len(want), err)
				}
			}
			if _, err := r.Next(); err != io.EOF {
				t.Fatal(err)
			}
		}
	})
}

// What styles write is read back: a comment that gives no frame, and the one that ends a stream.
func TestConstants(t *testing.T) {
	t.Parallel()
	if got, err := read(strings.NewReader(sse.KeepAlive+"data: {}\n\n"+sse.KeepAlive+sse.Done), sse.Limits{}); err != io.EOF || fmt.Sprint(got) != "[|{} |[DONE]]" {
		t.Errorf("read as %q %v", got, err)
	}
}

// FuzzReader: how the bytes arrive changes nothing, and frames agree with a plain reading of the format.
func FuzzReader(f *testing.F) {
	f.Add("data: 1\r\n\r\nevent: a\ndata: {\ndata: }\n\n: c\n\rdata")
	f.Add("\ufeffdata:\n\ndata\r\rid\n\n")
	f.Fuzz(func(t *testing.T, stream string) {
		want := reference(stream)
		whole, err := read(strings.NewReader(stream), sse.Limits{})
		if err != io.EOF {
			t.Fatal(err)
		}
		bytewise, _ := read(iotest.OneByteReader(strings.NewReader(stream)), sse.Limits{})
		if fmt.Sprintf("%q", whole) != fmt.Sprintf("%q", want) || fmt.Sprintf("%q", bytewise) != fmt.Sprintf("%q", want) {
			t.Fatalf("%q reads as\n%q whole,\n%q byte by byte, want\n%q", stream, whole, bytewise, want)
		}
	})
}

// reference reads a stream the slow way, by the words of the HTML standard, section 9.2.6, but for a last frame without a blank line.
func reference(stream string) (frames []string) {
	stream = strings.TrimPrefix(stream, "\ufeff")
	stream = strings.ReplaceAll(strings.ReplaceAll(stream, "\r\n", "\n"), "\r", "\n")
	var data []string
	event := ""
	for line := range strings.SplitSeq(stream+"\n\n", "\n") {
		if line == "" {
			if data != nil {
				frames = append(frames, event+"|"+strings.Join(data, "\n"))
			}
			data, event = nil, ""
			continue
		}
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "data":
			data = append(data, value)
		case "event":
			event = value
		}
	}
	return frames
}

func BenchmarkReader(b *testing.B) {
	frame := `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"hello"},"finish_reason":null}]}` + "\n\n"
	stream := strings.Repeat(frame, 1000)
	r := sse.NewReader(strings.NewReader(""), sse.Limits{})
	src := strings.NewReader("")
	b.ReportAllocs()
	b.SetBytes(int64(len(frame)))
	for b.Loop() {
		if _, err := r.Next(); err != nil {
			src.Reset(stream)
			r.Reset(src, sse.Limits{})
		}
	}
}
