package subtitle_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"weir/internal/fault"
	"weir/internal/subtitle"
)

const ms = time.Millisecond

func TestWrite(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name     string
		cues     []subtitle.Cue
		srt, vtt string
	}{
		{name: "nothing", vtt: "WEBVTT\n\n"},
		{
			name: "two cues, one of two lines",
			cues: []subtitle.Cue{{0, 1500 * ms, " Good morning."}, {time.Hour + 62003*ms, 100*time.Hour + ms, "How\nare you?"}},
			srt:  "1\n00:00:00,000 --> 00:00:01,500\nGood morning.\n\n2\n01:01:02,003 --> 100:00:00,001\nHow\nare you?\n\n",
			vtt:  "WEBVTT\n\n00:00:00.000 --> 00:00:01.500\nGood morning.\n\n01:01:02.003 --> 100:00:00.001\nHow\nare you?\n\n",
		},
		{
			name: "text that looks like the format",
			cues: []subtitle.Cue{{0, 10*ms + 999*time.Microsecond, "a --> b\r\n\r\n  \r1 < 2 & 3\n---->\x00 -\x00-> \xff\n"}},
			srt:  "1\n00:00:00,000 --> 00:00:00,010\na -- > b\n1 < 2 & 3\n---- > -- > \ufffd\n\n",
			vtt:  "WEBVTT\n\n00:00:00.000 --> 00:00:00.010\na --&gt; b\n1 &lt; 2 &amp; 3\n----&gt; --&gt; \ufffd\n\n",
		},
		{
			name: "times out of order",
			cues: []subtitle.Cue{{-5 * ms, -1 * ms, "before"}, {10 * ms, 90 * ms, "into the next"}, {20 * ms, 50 * ms, "together"}, {20 * ms, 60 * ms, "with it"}, {10 * ms, 5 * ms, "back"}, {40 * ms, 30 * ms, "ends early"}},
			srt: "1\n00:00:00,000 --> 00:00:00,000\nbefore\n\n2\n00:00:00,010 --> 00:00:00,020\ninto the next\n\n3\n00:00:00,020 --> 00:00:00,040\ntogether\n\n" +
				"4\n00:00:00,020 --> 00:00:00,040\nwith it\n\n5\n00:00:00,020 --> 00:00:00,020\nback\n\n6\n00:00:00,040 --> 00:00:00,040\nends early\n\n",
			vtt: "WEBVTT\n\n00:00:00.000 --> 00:00:00.000\nbefore\n\n00:00:00.010 --> 00:00:00.020\ninto the next\n\n00:00:00.020 --> 00:00:00.040\ntogether\n\n" +
				"00:00:00.020 --> 00:00:00.040\nwith it\n\n00:00:00.020 --> 00:00:00.020\nback\n\n00:00:00.040 --> 00:00:00.040\nends early\n\n",
		},
		{
			name: "without text",
			cues: []subtitle.Cue{{0, ms, ""}},
			srt:  "1\n00:00:00,000 --> 00:00:00,001\n\n",
			vtt:  "WEBVTT\n\n00:00:00.000 --> 00:00:00.001\n\n",
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff("kept "+c.srt, string(subtitle.WriteSRT([]byte("kept "), c.cues))); diff != "" {
				t.Errorf("srt (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff("kept "+c.vtt, string(subtitle.WriteVTT([]byte("kept "), c.cues))); diff != "" {
				t.Errorf("vtt (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReadSRT(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, file string
		want       []subtitle.Cue
	}{
		{"nothing", "", nil},
		{"nothing but empty lines and a mark", "\ufeff\r\n \r\n", nil},
		{"byte order mark and Windows' line ends", "\ufeff1\r\n00:00:01,000 --> 00:00:02,000\r\nOne\r\ntwo\r\n\r\n2\r\n00:00:02,000 --> 00:00:03,000\r\nThree\r\n", []subtitle.Cue{{1000 * ms, 2000 * ms, "One\ntwo"}, {2000 * ms, 3000 * ms, "Three"}}},
		{"old line ends, no last one", "1\r0:0:1,5 --> 0:0:2,25\rOne", []subtitle.Cue{{1500 * ms, 2250 * ms, "One"}}},
		{"points, no hours, no numbers, no fraction, coordinates", "00:01.000-->00:02 X1:40 Y1:20\nOne\n\n100:00:00.123456 --> 100:00:00.999999999\nTwo", []subtitle.Cue{{1000 * ms, 2000 * ms, "One"}, {100*time.Hour + 123*ms, 100*time.Hour + 999*ms, "Two"}}},
		{"an empty line within a text", "1\n00:00:01,000 --> 00:00:02,000\nOne\n\n\ntwo\nthree\n\n2\n00:00:03,000 --> 00:00:04,000\nFour", []subtitle.Cue{{1000 * ms, 2000 * ms, "One\ntwo\nthree"}, {3000 * ms, 4000 * ms, "Four"}}},
		{"no empty lines between cues", "1\n00:00:01,000 --> 00:00:02,000\nOne\n2\n00:00:03,000 --> 00:00:04,000\n3\n00:00:05,000 --> 00:00:06,000\nThree", []subtitle.Cue{{1000 * ms, 2000 * ms, "One"}, {3000 * ms, 4000 * ms, ""}, {5000 * ms, 6000 * ms, "Three"}}},
		{"numbers as text", "1\n00:00:01,000 --> 00:00:02,000\n42\n\n2\n00:00:03,000 --> 00:00:04,000\n43\n", []subtitle.Cue{{1000 * ms, 2000 * ms, "42"}, {3000 * ms, 4000 * ms, "43"}}},
		{"an arrow and tags within a text", "1\n00:00:01,000 --> 00:00:02,000\na --> b\n<i>c</i> &amp;\n", []subtitle.Cue{{1000 * ms, 2000 * ms, "a --> b\n<i>c</i> &amp;"}}},
		{"a cue that ends before it begins", "00:00:03,000 --> 00:00:02,000\nOne", []subtitle.Cue{{3000 * ms, 3000 * ms, "One"}}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := subtitle.ReadSRT([]byte(c.file))
			if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestReadVTT(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, file string
		want       []subtitle.Cue
	}{
		{"nothing but the first line", "WEBVTT", nil},
		{"byte order mark, Windows' line ends, a header of two lines", "\ufeffWEBVTT - a tape\r\nKind: captions\r\n\r\n00:01.000 --> 00:00:02.000\r\nOne\r\n", []subtitle.Cue{{1000 * ms, 2000 * ms, "One"}}},
		{"no empty line after the first", "WEBVTT\n00:01.000 --> 00:02.000\nOne", []subtitle.Cue{{1000 * ms, 2000 * ms, "One"}}},
		{"names of cues and settings", "WEBVTT\n\nintro --- 1\n00:01.000 --> 00:02.000 align:start position:10%\nOne\n\n2\n00:03.000 --> 00:04.000\tline:0\nTwo", []subtitle.Cue{{1000 * ms, 2000 * ms, "One"}, {3000 * ms, 4000 * ms, "Two"}}},
		{"comments, styles, regions", "WEBVTT\n\nNOTE a -> b\n\nSTYLE\n::cue { color: red }\n\nREGION\nid:x\n\n00:01.000 --> 00:02.000\nNOTE this is text\n\nNOTE\n a --> b\n", []subtitle.Cue{{1000 * ms, 2000 * ms, "NOTE this is text"}}},
		{"tags and references", "WEBVTT\n\n00:01.000 --> 00:02.000\n<v.loud Mary>Hi <i>there</i> <00:01.500>&lt;b&gt;&#x21; AT&T &amp;amp;</v>", []subtitle.Cue{{1000 * ms, 2000 * ms, "Hi there <b>! AT&T &amp;"}}},
		{"angle brackets that are none", "WEBVTT\n\n00:01.000 --> 00:02.000\n1 < 2 > 1 <bold> <3 <c", []subtitle.Cue{{1000 * ms, 2000 * ms, "1 < 2 > 1 <bold> <3 <c"}}},
		{"a reference to an empty line", "WEBVTT\n\n00:01.000 --> 00:02.000\na&#13;&#10;&#10;b", []subtitle.Cue{{1000 * ms, 2000 * ms, "a\nb"}}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := subtitle.ReadVTT([]byte(c.file))
			if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, file, says string
		read             func([]byte) ([]subtitle.Cue, error)
	}{
		{"srt without times", "Hello\n", "no times", subtitle.ReadSRT},
		{"srt, no time", "1\nsoon --> later\nHello", "Line 2", subtitle.ReadSRT},
		{"srt, no end", "1\n00:00:01,000 -->\nHello", "Line 2", subtitle.ReadSRT},
		{"srt, 60 minutes", "00:60:01,000 --> 00:61:00,000\nHello", "Line 1", subtitle.ReadSRT},
		{"srt, a negative time", "-1:00:01,000 --> 00:01:00,000\nHello", "Line 1", subtitle.ReadSRT},
		{"srt, more hours than fit", "2562047:00:00,000 --> 2562047:00:01,000\nHello", "Line 1", subtitle.ReadSRT},
		{"srt, a fraction of letters", "00:00:01,00x --> 00:00:02,000\nHello", "Line 1", subtitle.ReadSRT},
		{"srt, a fraction of nothing", "00:00:01, --> 00:00:02,000\nHello", "Line 1", subtitle.ReadSRT},
		{"srt, the second cue broken", "1\n00:00:01,000 --> 00:00:02,000\nHello\n\n2\n00:00:0a,000 --> 00:00:02,000\n", "Line 6", subtitle.ReadSRT},
		{"vtt without its first line", "00:01.000 --> 00:02.000\nOne", "WEBVTT", subtitle.ReadVTT},
		{"vtt, a longer word", "WEBVTTX\n", "WEBVTT", subtitle.ReadVTT},
		{"vtt, nothing", "", "WEBVTT", subtitle.ReadVTT},
		{"vtt, no time", "WEBVTT\n\nintro\n00:01 --> end\nOne", "Line 4", subtitle.ReadVTT},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cues, err := c.read([]byte(c.file))
			if f := fault.From(err); f == nil || f.Kind != fault.Invalid || !strings.Contains(f.Public, c.says) || cues != nil {
				t.Errorf("%v, %v; want invalid_request that says %q", cues, err, c.says)
			}
		})
	}
}

// format is a way of writing and reading.
type format struct {
	write func([]byte, []subtitle.Cue) []byte
	read  func([]byte) ([]subtitle.Cue, error)
}

var formats = map[string]format{"srt": {subtitle.WriteSRT, subtitle.ReadSRT}, "vtt": {subtitle.WriteVTT, subtitle.ReadVTT}}

// What is in order already is read back as it was written.
func TestCuesInOrderComeBack(t *testing.T) {
	t.Parallel()
	for name, f := range formats {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				var cues []subtitle.Cue
				var now time.Duration
				for range rapid.IntRange(0, 8).Draw(t, "cues") {
					start := now + time.Duration(rapid.Int64Range(0, 1e8).Draw(t, "pause"))*ms
					now = start + time.Duration(rapid.Int64Range(1, 1e8).Draw(t, "length"))*ms
					lines := rapid.SliceOfN(rapid.StringMatching(`[^\s\x00\-][^\r\n\x00\-]{0,10}[^\s\x00\-]`).Filter(trimmed), 0, 3).Draw(t, "lines")
					cues = append(cues, subtitle.Cue{Start: start, End: now, Text: strings.Join(lines, "\n")})
				}
				file := f.write(nil, cues)
				got, err := f.read(file)
				if diff := cmp.Diff(cues, got); diff != "" || err != nil {
					t.Fatalf("%q: %v (-want +got):\n%s", file, err, diff)
				}
			})
		})
	}
}

func trimmed(s string) bool { return utf8.ValidString(s) && strings.TrimSpace(s) == s }

// Whatever cues hold, a file of theirs has as many cues, in order, and written again it is the same file.
func TestAnyCuesBecomeAFileInOrder(t *testing.T) {
	t.Parallel()
	anyCue := rapid.Custom(func(t *rapid.T) subtitle.Cue {
		at := rapid.OneOf(rapid.Int64Range(-5e9, 5e9), rapid.Int64())
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`([ab<>&;\-\n\r\x00 0-9:,.]|-->|\n\n|&lt|00:00:01,000){0,12}`))
		return subtitle.Cue{Start: time.Duration(at.Draw(t, "start")), End: time.Duration(at.Draw(t, "end")), Text: text.Draw(t, "text")}
	})
	for name, f := range formats {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				cues := rapid.SliceOfN(anyCue, 0, 8).Draw(t, "cues")
				for i := range cues { // more than the format can say is read back as an error, rightly
					cues[i].Start, cues[i].End = min(cues[i].Start, 2e6*time.Hour), min(cues[i].End, 2e6*time.Hour)
				}
				file := f.write(nil, cues)
				got, err := f.read(file)
				if err != nil || len(got) != len(cues) {
					t.Fatalf("%q has %d cues, want %d: %v", file, len(got), len(cues), err)
				}
				mustBeInOrder(t, got)
				if again := f.write(nil, got); !bytes.Equal(again, file) {
					t.Fatalf("%q, written again %q", file, again)
				}
			})
		})
	}
}

func mustBeInOrder(t interface{ Fatalf(string, ...any) }, cues []subtitle.Cue) {
	for i, c := range cues {
		if c.Start < 0 || c.End < c.Start {
			t.Fatalf("cue %d is from %v to %v", i, c.Start, c.End)
		}
		if i > 0 && (c.Start < cues[i-1].Start || cues[i-1].End > c.Start && cues[i-1].Start != c.Start) {
			t.Fatalf("cue %d begins at %v, the one before is from %v to %v", i, c.Start, cues[i-1].Start, cues[i-1].End)
		}
	}
}

func FuzzReadSRT(f *testing.F) {
	f.Add([]byte("\ufeff1\r\n00:00:01,000 --> 00:00:02,000\r\nOne\r\n\r\ntwo\r\n"))
	f.Add([]byte("00:01-->00:02 X1\na --> b\n2\n00:01-->00:02\n"))
	f.Fuzz(func(t *testing.T, file []byte) { mustReadAgain(t, file, formats["srt"]) })
}

func FuzzReadVTT(f *testing.F) {
	f.Add([]byte("\ufeffWEBVTT - a\r\n\r\nNOTE x\r\n\r\nid\r\n00:01.000 --> 00:00:02.000 align:start\r\n<v A>One</v> &lt;&#10;&#10;\r\n"))
	f.Add([]byte("WEBVTT\n00:01.000 --> 00:02.000\n<b<i <00:01.000> <c.x y"))
	f.Fuzz(func(t *testing.T, file []byte) { mustReadAgain(t, file, formats["vtt"]) })
}

// mustReadAgain checks what holds of files of any content: what is read of them can be written, and from then on stays as it is.
func mustReadAgain(t *testing.T, file []byte, f format) {
	cues, err := f.read(file)
	if err != nil {
		if !fault.Is(err, fault.Invalid) {
			t.Error(err)
		}
		return
	}
	for _, c := range cues {
		if c.Start < 0 || c.End < c.Start || strings.Contains(c.Text, "\n\n") || !utf8.ValidString(c.Text) {
			t.Errorf("%+v", c)
		}
	}
	written := f.write(nil, cues)
	again, err := f.read(written)
	if err != nil || len(again) != len(cues) {
		t.Fatalf("%q has %d cues, want %d: %v", written, len(again), len(cues), err)
	}
	mustBeInOrder(t, again)
	if rewritten := f.write(nil, again); !bytes.Equal(rewritten, written) {
		t.Errorf("%q, written again %q", written, rewritten)
	}
}

func ExampleWriteSRT() {
	cues := []subtitle.Cue{{Start: 0, End: 2 * time.Second, Text: "Good morning."}, {Start: 2 * time.Second, End: 3500 * time.Millisecond, Text: "How are you?"}}
	fmt.Print(string(subtitle.WriteSRT(nil, cues)))
	// Output:
	// 1
	// 00:00:00,000 --> 00:00:02,000
	// Good morning.
	//
	// 2
	// 00:00:02,000 --> 00:00:03,500
	// How are you?
}
