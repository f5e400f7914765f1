// Package subtitle writes what was said, and when, as SubRip (srt) and WebVTT (vtt), and reads both, because players, editors and some
// providers have no other. Cues are plain text: it keeps no styles, positions or voices, and does not change a text's words.
package subtitle

import (
	"iter"
	"strconv"
	"strings"
	"time"
)

// Cue is a text and the time for which it is shown. Its lines are divided by "\n".
type Cue struct {
	Start, End time.Duration
	Text       string
}

// WriteSRT appends cues as a SubRip file: blocks of a number from 1, the times and the text, each closed by an empty line. No cue gives
// nothing. Times are cut to milliseconds and put in order: none is negative, no cue begins before the one ahead of it or ends before it
// begins, and one that would reach into the next ends where that begins, unless both begin together. Of the text, empty lines and the
// space around lines are left out, "-->" becomes "-- >", because it would be taken for times, and bytes that are not UTF-8 become U+FFFD.
func WriteSRT(dst []byte, cues []Cue) []byte {
	number := int64(0)
	for c := range ordered(cues) {
		number++
		dst = strconv.AppendInt(dst, number, 10)
		dst = append(dst, '\n')
		dst = appendTimes(dst, c, ',')
		dst = appendText(dst, c.Text, srtSafe)
	}
	return dst
}

// WriteVTT appends cues as a WebVTT file, which is never empty. Times and text are treated as by WriteSRT, except that "&", "<" and ">"
// are escaped, as the format asks, and with them "-->".
func WriteVTT(dst []byte, cues []Cue) []byte {
	dst = append(dst, "WEBVTT\n\n"...)
	for c := range ordered(cues) {
		dst = appendTimes(dst, c, '.')
		dst = appendText(dst, c.Text, vttSafe)
	}
	return dst
}

// ordered gives the cues with their times cut and put in order.
func ordered(cues []Cue) iter.Seq[Cue] {
	return func(yield func(Cue) bool) {
		begin := func(i int, after time.Duration) time.Duration {
			return max(cues[i].Start.Truncate(time.Millisecond), after)
		}
		start, later := time.Duration(0), 0 // later: the first cue that begins after this one
		for i, c := range cues {
			start = begin(i, start)
			end := max(c.End.Truncate(time.Millisecond), start)
			for later = max(later, i+1); later < len(cues) && begin(later, start) == start; {
				later++
			}
			if later < len(cues) {
				end = min(end, begin(later, start))
			}
			if !yield(Cue{Start: start, End: end, Text: c.Text}) {
				return
			}
		}
	}
}

// appendTimes appends a line such as "00:01:02,003 --> 00:01:04,500". Hours have as many digits as they need.
func appendTimes(dst []byte, c Cue, point byte) []byte {
	dst = appendTime(dst, c.Start.Milliseconds(), point)
	dst = append(dst, arrow...)
	dst = appendTime(dst, c.End.Milliseconds(), point)
	return append(dst, '\n')
}

const arrow = " --> "

func appendTime(dst []byte, ms int64, point byte) []byte {
	dst = appendDigits(dst, ms/3_600_000, 2)
	dst = append(dst, ':')
	dst = appendDigits(dst, ms/60_000%60, 2)
	dst = append(dst, ':')
	dst = appendDigits(dst, ms/1000%60, 2)
	dst = append(dst, point)
	return appendDigits(dst, ms%1000, 3)
}

func appendDigits(dst []byte, n int64, least int) []byte {
	for limit := int64(10); least > 1; least-- {
		if n < limit {
			dst = append(dst, '0')
		}
		limit *= 10
	}
	return strconv.AppendInt(dst, n, 10)
}

var (
	lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\x00", "")
	srtSafe  = strings.NewReplacer("-->", "-- >")
	vttSafe  = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
)

// appendText appends the lines of a text that are not empty, and the empty line that closes a block.
func appendText(dst []byte, text string, safe *strings.Replacer) []byte {
	for line := range strings.SplitSeq(lineEnds.Replace(strings.ToValidUTF8(text, "\ufffd")), "\n") {
		if line = strings.TrimSpace(line); line != "" {
			dst = append(dst, safe.Replace(line)...)
			dst = append(dst, '\n')
		}
	}
	return append(dst, '\n')
}
