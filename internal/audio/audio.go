// Package audio reports what kind of recording an upload is and how long it lasts, from its bytes alone, so that money can be held for it.
// It decodes no audio, trusts numbers in a file only as far as the file's size allows, and keeps none of the file in memory.
package audio

import (
	"io"
	"math"
	"math/bits"
	"slices"
	"strings"
	"time"

	"weir/internal/fault"
	"weir/internal/mediatype"
)

// Format is a container of audio that uploads may come in. The zero value stands for an unknown one.
type Format uint8

// The formats.
const (
	MP3  Format = iota + 1 // MPEG audio, layer III
	MPGA                   // MPEG audio, layers I and II
	MPEG                   // an MPEG-1 or MPEG-2 program stream with audio in it
	MP4                    // ISO base media, with audio and perhaps images
	M4A                    // ISO base media whose brand says that it has audio only
	WAV                    // RIFF WAVE, also RF64
	WebM                   // WebM, and other Matroska
	FLAC                   // FLAC outside of other containers
	OGG                    // Ogg with Opus, Vorbis, Speex or FLAC
	formats
)

// known lists of each format its name, the media types that clients send, of which the first is the one that we send, and what other
// extensions its files have.
var known = [formats]struct {
	name  string
	types []string
	also  []string
}{
	MP3:  {name: "mp3", types: mediatype.Types(mediatype.Audio, "mp3")},
	MPGA: {name: "mpga", types: mediatype.Types(mediatype.Audio, "mp3")[:1]},
	MPEG: {name: "mpeg", types: mediatype.Types(mediatype.Video, "mpeg")},
	MP4:  {name: "mp4", types: slices.Concat(mediatype.Types(mediatype.Video, "mp4"), mediatype.Types(mediatype.Audio, "mp4"))},
	M4A:  {name: "m4a", types: slices.Concat(mediatype.Types(mediatype.Audio, "mp4"), mediatype.Types(mediatype.Audio, "m4a"))},
	WAV:  {name: "wav", types: mediatype.Types(mediatype.Audio, "wav")},
	WebM: {name: "webm", types: slices.Concat(mediatype.Types(mediatype.Audio, "webm"), mediatype.Types(mediatype.Video, "webm"))},
	FLAC: {name: "flac", types: mediatype.Types(mediatype.Audio, "flac")},
	OGG:  {name: "ogg", types: slices.Concat(mediatype.Types(mediatype.Audio, "ogg"), mediatype.Types(mediatype.Audio, "opus")), also: []string{"oga", "opus"}},
}

// Formats lists all formats.
func Formats() []Format { return []Format{FLAC, MP3, MP4, MPEG, MPGA, M4A, OGG, WAV, WebM} }

// Names lists what files of the formats are named by: their extensions, without the dot.
func Names() []string {
	var names []string
	for _, f := range Formats() {
		names = append(append(names, known[f].name), known[f].also...)
	}
	return names
}

// String is the format's name, such as "mp3", which is also the file extension to send it with. It is empty for the zero value.
func (f Format) String() string {
	if f < formats {
		return known[f].name
	}
	return ""
}

// MIMEType is the type to send such a file with: "audio/mpeg". It is empty for the zero value.
func (f Format) MIMEType() string {
	if f == 0 || f >= formats {
		return ""
	}
	return known[f].types[0]
}

// ByFileName is the format that the extension of a file name says, in any case; false where it says none of ours.
func ByFileName(name string) (Format, bool) {
	dot := strings.LastIndexByte(name, '.')
	if dot < 0 {
		return 0, false
	}
	for _, f := range Formats() {
		if extension := strings.ToLower(name[dot+1:]); extension == known[f].name || slices.Contains(known[f].also, extension) {
			return f, true
		}
	}
	return 0, false
}

// ByMIMEType is the format that a media type says, in any case and with or without parameters; false where it says none of ours. A type
// that several formats share is the first of Formats.
func ByMIMEType(mediaType string) (Format, bool) {
	mediaType = mediatype.Plain(mediaType)
	for _, f := range Formats() {
		if slices.Contains(known[f].types, mediaType) {
			return f, true
		}
	}
	return 0, false
}

// Names reports whether files with this content are also named by f, as those that have one container by two names.
func (f Format) Names(content Format) bool {
	switch content {
	case MP3, MPGA:
		return f == MP3 || f == MPGA || f == MPEG
	case MP4, M4A:
		return f == MP4 || f == M4A
	default:
		return f == content
	}
}

// Info is what a file's bytes show.
type Info struct {
	Format Format
	// Duration is how long the audio lasts, never longer than Longest of the file's size. Money is held for this time.
	Duration time.Duration
	// Exact reports that Duration was counted from the audio itself: its frames, its samples, or the times that they carry. Otherwise it
	// is what a header claims, or, where nothing in the file says how long it lasts, Longest.
	Exact bool
}

// leanestBytesPerSecond is less than any audio takes that people transcribe: speech codecs begin at 600, and files of the leanest kind
// that hold nothing but silence spend some 350 on their frames and tables.
const leanestBytesPerSecond = 250

// Longest is the longest time that a file of size bytes can be believed to last: that of its size at 2 kbit/s. A claim beyond it is cut
// to it, because a few bytes may claim centuries; and for a file that does not say how long it lasts it is the time to hold money for.
func Longest(size int64) time.Duration {
	const perByte = int64(time.Second) / leanestBytesPerSecond
	if size > math.MaxInt64/perByte {
		return math.MaxInt64
	}
	return time.Duration(max(size, 0) * perByte)
}

const op = "audio.Probe"

// Probe returns format and duration of the size bytes in r. It reads forward, at most about twice over the file, in pieces of 16 KiB, and
// keeps one piece. A file that is in none of the formats or has no audio gives fault.Invalid about the field "file"; when r fails, the
// fault is Internal. It may be called concurrently as far as r may be read concurrently.
func Probe(r io.ReaderAt, size int64) (Info, error) {
	s := &source{r: r, size: max(size, 0)}
	info, err := probe(s)
	if s.err != nil {
		return Info{}, fault.Wrap(op, s.err)
	}
	if err != nil {
		return Info{}, err
	}
	if longest := Longest(size); info.Duration > longest {
		info.Duration, info.Exact = longest, false
	}
	return info, nil
}

func probe(s *source) (Info, error) {
	if s.size == 0 {
		return Info{}, refuse("The file is empty.")
	}
	head := s.at(0, 12)
	if s.err != nil {
		return Info{}, s.err
	}
	switch {
	case isWAV(head):
		return probeWAV(s)
	case isEBML(head):
		return probeWebM(s)
	case isProgramStream(head):
		return probeProgramStream(s)
	case isMP4(head):
		return probeMP4(s)
	case isFLAC(head):
		return probeFLAC(s)
	case isOgg(head):
		return probeOgg(s)
	}
	if start, ok := findMPEGAudio(s); ok {
		return probeMPEGAudio(s, start)
	}
	return Info{}, refuse("The file is not audio in one of the formats " + strings.Join(Names(), ", ") + ".")
}

func refuse(public string) error { return fault.Field(op, "file", "%s", public) }

func noAudio() error { return refuse("The file has no audio to transcribe.") }

func tooManyParts() error {
	return refuse("The file has too many parts for its size. Encode it again.")
}

// counted is the answer for audio whose length was counted, claimed the one for a length that is only said. Unless there is a claim, the
// longest possible is assumed: Probe cuts it.
func counted(f Format, d time.Duration) Info { return Info{Format: f, Duration: d, Exact: true} }

func claimed(f Format, d time.Duration) Info {
	if d <= 0 {
		d = math.MaxInt64
	}
	return Info{Format: f, Duration: d}
}

// span is n ticks of which scale make a second, as far as a Duration goes; 0 when scale is 0.
func span(n, scale uint64) time.Duration {
	if scale == 0 {
		return 0
	}
	high, low := bits.Mul64(n, uint64(time.Second))
	if high >= scale {
		return math.MaxInt64
	}
	quotient, _ := bits.Div64(high, low, scale)
	return time.Duration(min(quotient, math.MaxInt64))
}

// add is a+b, or the most there is.
func add(a, b uint64) uint64 {
	sum, carry := bits.Add64(a, b, 0)
	if carry != 0 {
		return math.MaxUint64
	}
	return sum
}

// multiply is a*b, or the most there is.
func multiply(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	if high != 0 {
		return math.MaxUint64
	}
	return low
}
