package subtitle

import (
	"html"
	"strings"
	"time"

	"weir/internal/fault"
)

// ReadSRT reads a SubRip file with any line ends and with or without a byte order mark. It is patient: numbers may be missing or wrong,
// hours and milliseconds too, a point may replace the comma, what follows the times is left out, and text after an empty line belongs
// to the cue before. An empty text has no cues. It fails with fault.Invalid where times are invalid or missing; whose
// mistake that is, the caller knows. A cue that ends before it begins ends at once.
func ReadSRT(b []byte) ([]Cue, error) {
	r := &reader{op: "subtitle.ReadSRT", text: normal(b)}
	if err := r.read(); err != nil {
		return nil, err
	}
	if len(r.cues) == 0 && strings.TrimSpace(r.text) != "" {
		return nil, fault.New(fault.Invalid, r.op, "The subtitles have no times.")
	}
	return r.cues, nil
}

// ReadVTT reads a WebVTT file as ReadSRT reads SubRip. Comments, styles, regions, settings and tags are left out, and character
// references are resolved. It fails with fault.Invalid also where the first line is not that of WebVTT.
func ReadVTT(b []byte) ([]Cue, error) {
	r := &reader{op: "subtitle.ReadVTT", text: normal(b), vtt: true, skipping: true}
	if rest, ok := strings.CutPrefix(r.text, "WEBVTT"); !ok || rest != "" && !strings.ContainsRune(" \t\n", rune(rest[0])) {
		return nil, fault.New(fault.Invalid, r.op, "The subtitles do not begin with WEBVTT.")
	}
	if err := r.read(); err != nil {
		return nil, err
	}
	return r.cues, nil
}

func normal(b []byte) string {
	return lineEnds.Replace(strings.ToValidUTF8(strings.TrimPrefix(string(b), "\ufeff"), "\ufffd"))
}

// reader goes over a file line by line. Texts are cut out of the file whole, so that its work and memory stay in proportion.
type reader struct {
	op   string
	text string
	vtt  bool
	cues []Cue

	skipping bool // a block that is no cue: to the next empty line or to times
	inside   bool // in a block of a cue: times have been read and no empty line since
	from, to int  // the text of the last cue
	before   int  // what to was before the last line
	fresh    bool // that line began its block
	touching bool // no empty line came after it
}

func (r *reader) read() error {
	for pos, number := 0, 1; pos < len(r.text); number++ {
		end := len(r.text)
		if n := strings.IndexByte(r.text[pos:], '\n'); n >= 0 {
			end = pos + n
		}
		if !r.line(pos, end) {
			return fault.Newf(fault.Invalid, r.op, "Line %d of the subtitles has times that cannot be read.", number)
		}
		pos = end + 1
	}
	r.close()
	return nil
}

// line reads the line between two places, and is false when times were due and it has none.
func (r *reader) line(pos, end int) bool {
	line := r.text[pos:end]
	if line == "" || !r.vtt && strings.TrimSpace(line) == "" {
		r.skipping, r.inside, r.touching = false, false, false
		return true
	}
	if strings.Contains(line, "-->") {
		if start, stop, ok := parseTimes(line); ok {
			r.open(start, stop, end)
			return true
		}
		if !r.inside && !r.skipping {
			return false
		}
	}
	if !r.skipping {
		r.add(line, end)
	}
	return true
}

// open begins a cue whose text begins after the line that ends at end.
func (r *reader) open(start, stop time.Duration, end int) {
	if r.touching && (r.fresh || digits(r.text[r.before:r.to])) {
		r.to = max(r.before, r.from) // the line before was the number of this cue, no text of the last one
	}
	r.close()
	r.cues = append(r.cues, Cue{Start: start, End: max(start, stop)})
	r.skipping, r.inside, r.touching = false, true, false
	r.from = min(end+1, len(r.text))
	r.to = r.from
}

// add takes a line of text, which ends at end, or the number of the next cue.
func (r *reader) add(line string, end int) {
	fresh := !r.inside && !r.touching
	if fresh && r.vtt && isComment(line) {
		r.skipping = true
		return
	}
	r.before, r.to, r.fresh, r.touching = r.to, end, fresh, true
}

func isComment(line string) bool {
	word, _, _ := strings.Cut(strings.ReplaceAll(line, "\t", " "), " ")
	return word == "NOTE" || word == "STYLE" || word == "REGION"
}

func digits(line string) bool {
	line = strings.TrimSpace(line)
	return line != "" && strings.Trim(line, "0123456789") == ""
}

// close gives the last cue its text.
func (r *reader) close() {
	if len(r.cues) == 0 {
		return
	}
	text := r.text[r.from:r.to]
	if r.vtt {
		text = lineEnds.Replace(html.UnescapeString(withoutTags(text)))
	}
	r.cues[len(r.cues)-1].Text = withoutEmptyLines(text)
}

func withoutEmptyLines(text string) string {
	var kept []string
	for line := range strings.SplitSeq(text, "\n") {
		if strings.TrimSpace(line) != "" {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n")
}

// withoutTags leaves out what looks like a tag of WebVTT. Other angle brackets stay: many programs do not escape them.
func withoutTags(text string) string {
	var out strings.Builder
	for {
		open := strings.IndexByte(text, '<')
		if open < 0 {
			break
		}
		out.WriteString(text[:open])
		text = text[open:]
		if !beginsTag(text[1:]) {
			out.WriteByte('<')
			text = text[1:]
			continue
		}
		end := strings.IndexByte(text, '>')
		if end < 0 {
			break // and there is none for any later one
		}
		text = text[end+1:]
	}
	out.WriteString(text)
	return out.String()
}

func beginsTag(s string) bool {
	s = s[:min(len(s), len("/0000000:00:00.000>"))]
	if end := strings.IndexByte(s, '>'); end > 0 {
		if _, ok := parseTime(s[:end]); ok {
			return true
		}
	}
	s = strings.TrimPrefix(s, "/")
	end := strings.IndexAny(s, ">. \t\n")
	if end < 0 {
		return false
	}
	switch s[:end] {
	case "b", "c", "i", "u", "v", "lang", "rt", "ruby":
		return true
	}
	return false
}

// parseTimes reads "START --> END", and passes over what may follow.
func parseTimes(line string) (start, end time.Duration, ok bool) {
	left, right, _ := strings.Cut(line, "-->")
	fields := strings.TrimSpace(right)
	if n := strings.IndexAny(fields, " \t"); n >= 0 {
		fields = fields[:n]
	}
	start, startOK := parseTime(strings.TrimSpace(left))
	end, endOK := parseTime(fields)
	return start, end, startOK && endOK
}

// parseTime reads "[HOURS:]MINUTES:SECONDS[.MILLISECONDS]", with a point or a comma.
func parseTime(s string) (time.Duration, bool) {
	point := strings.IndexAny(s, ".,")
	whole, fraction := s, ""
	if point >= 0 {
		whole, fraction = s[:point], s[point+1:]
		if fraction == "" {
			return 0, false
		}
	}
	hours := "0"
	if strings.Count(whole, ":") == 2 {
		hours, whole, _ = strings.Cut(whole, ":")
	}
	minutes, seconds, _ := strings.Cut(whole, ":")
	h, hOK := parseDigits(hours, 7)
	m, mOK := parseDigits(minutes, 2)
	sec, sOK := parseDigits(seconds, 2)
	ms, msOK := parseDigits((fraction + "000")[:3], 3)
	if !hOK || !mOK || !sOK || !msOK || h > maxHours || m > 59 || sec > 59 || len(fraction) > 9 || strings.Trim(fraction, "0123456789") != "" {
		return 0, false
	}
	return time.Duration(h)*time.Hour + time.Duration(m)*time.Minute + time.Duration(sec)*time.Second + time.Duration(ms)*time.Millisecond, true
}

// maxHours and the minutes after them are as much as a Duration holds.
const maxHours = 2_562_046

func parseDigits(s string, most int) (int64, bool) {
	if s == "" || len(s) > most {
		return 0, false
	}
	var n int64
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		n = n*10 + int64(s[i]-'0')
	}
	return n, true
}
