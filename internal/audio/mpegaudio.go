package audio

import (
	"bytes"
	"time"
)

// ticksPerSecond is divisible by each of the nine sampling rates of MPEG audio, so that frames of any of them add up without rounding.
const ticksPerSecond = 28_224_000

// frame is the header of a frame (ISO/IEC 11172-3 2.4.2.3 and 13818-3; version 2.5 is in no standard but common).
type frame struct {
	bytes  int // of the whole frame
	ticks  uint64
	layer  int
	stream uint32 // the bits that do not change within a stream, never 0
	side   int    // of layer III: bytes between header and audio
}

const (
	sameStream    = 0xfffe0c00 // sync, version, layer, sampling rate
	maxFrameBytes = 1729       // layer II, 384 kbit/s at 32 kHz
)

var bitRates = [5][14]int{ // kbit/s
	{32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448}, // version 1, layer I
	{32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384},    // version 1, layer II
	{32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320},     // version 1, layer III
	{32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256},    // versions 2 and 2.5, layer I
	{8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160},         // versions 2 and 2.5, layers II and III
}

var samplingRates = [3]int{44100, 48000, 32000} // of version 1; version 2 has half of them, 2.5 a quarter

// parseFrame reads a header. Frames of the "free" bit rate, which nothing writes, count as none.
func parseFrame(h uint32) (frame, bool) {
	version, layer := h>>19&3, 4-int(h>>17&3)
	rate, bitRate := h>>10&3, int(h>>12&15)
	if h>>21 != 0x7ff || version == 1 || layer == 4 || rate == 3 || bitRate == 0 || bitRate == 15 {
		return frame{}, false
	}
	table, hertz, samples, side := layer-1, samplingRates[rate], 1152, [2]int{32, 17}
	if version != 3 {
		table, hertz, side = min(layer+2, 4), hertz/2, [2]int{17, 9}
	}
	if version == 0 {
		hertz /= 2
	}
	mono := 0
	if h>>6&3 == 3 {
		mono = 1
	}
	padding, perSecond := int(h>>9&1), bitRates[table][bitRate-1]*1000
	f := frame{layer: layer, stream: h & sameStream, side: side[mono]}
	switch {
	case layer == 1:
		samples = 384
		f.bytes = (12*perSecond/hertz + padding) * 4
	case layer == 3 && version != 3:
		samples = 576
		fallthrough
	default:
		f.bytes = samples/8*perSecond/hertz + padding
	}
	f.ticks = uint64(samples * (ticksPerSecond / hertz))
	return f, true
}

// frames counts the frames of MPEG audio in bytes that come in pieces of any size. Bytes between frames are passed over, and after such
// a gap a frame counts when another of its stream follows it: four bytes that look like a header are common in other data.
type frames struct {
	ticks   uint64
	stream  uint32 // of the last frame; 0: none, the next header is looked for byte by byte
	pending uint64 // ticks of a last frame that no other has confirmed
	left    int    // bytes of the last frame that are to come
	header  uint32 // the last bytes outside frames
	have    int    // how many of them there are, up to four
}

func (f *frames) write(p []byte) {
	for len(p) > 0 {
		if f.left > 0 {
			n := min(f.left, len(p))
			p, f.left = p[n:], f.left-n
			continue
		}
		f.header = f.header<<8 | uint32(p[0])
		p = p[1:]
		if f.have < 4 {
			f.have++
		}
		if f.have == 4 {
			f.meet()
		}
	}
}

// meet takes four bytes that may be a header.
func (f *frames) meet() {
	found, ok := parseFrame(f.header)
	switch {
	case !ok:
		f.stream, f.pending = 0, 0
		return
	case found.stream == f.stream:
		f.ticks += f.pending + found.ticks
		f.pending = 0
	default:
		f.stream, f.pending = found.stream, found.ticks
	}
	f.left, f.have = found.bytes-4, 0
}

// duration is that of all frames. A single one counts where there is no other.
func (f *frames) duration() time.Duration {
	if f.ticks == 0 {
		return span(f.pending, ticksPerSecond)
	}
	return span(f.ticks, ticksPerSecond)
}

// junkBytes is how far after the tags the first frame may begin.
const junkBytes = 64 << 10

// findMPEGAudio is where the first frame of MPEG audio begins, after tags and a few bytes that are neither.
func findMPEGAudio(s *source) (int64, bool) {
	start := skipID3(s)
	for pos := start; pos < start+junkBytes; pos++ {
		b := s.at(pos, maxFrameBytes+4)
		if len(b) < 4 {
			return 0, false
		}
		if b[0] != 0xff {
			continue
		}
		first, ok := parseFrame(uint32(number(b[:4])))
		if !ok {
			continue
		}
		if len(b) < first.bytes+4 { // the file ends: nothing can confirm it, so it must be at its expected place
			if pos == start {
				return pos, true
			}
			continue
		}
		if next, ok := parseFrame(uint32(number(b[first.bytes:][:4]))); ok && next.stream == first.stream {
			return pos, true
		}
	}
	return 0, false
}

// skipID3 is where the ID3v2 tags at the beginning end (ID3v2.4, 3.1). There may be more than one.
func skipID3(s *source) int64 {
	var pos int64
	for range 16 {
		b := s.at(pos, 10)
		if len(b) < 10 || string(b[:3]) != "ID3" {
			break
		}
		length := int64(10)
		if footer := b[5]&0x10 != 0; footer {
			length += 10
		}
		for i, c := range b[6:10] {
			length += int64(c&0x7f) << (7 * (3 - i))
		}
		pos += length
	}
	return pos
}

// probeMPEGAudio counts all frames from start. What a Xing or VBRI header says of their number is not asked: it is often wrong in files
// that were cut, and it is the uploader who writes it. But the frame that carries such a header has no audio.
func probeMPEGAudio(s *source, start int64) (Info, error) {
	b := s.at(start, maxFrameBytes)
	if len(b) < 4 {
		return Info{}, noAudio()
	}
	first, _ := parseFrame(uint32(number(b[:4])))
	format := MPGA
	if first.layer == 3 {
		format = MP3
		if b = b[:min(len(b), first.bytes)]; hasTag(b, 4+first.side, "Xing") || hasTag(b, 4+first.side, "Info") || hasTag(b, 4+32, "VBRI") {
			start += int64(first.bytes)
		}
	}
	return counted(format, countFrames(s, start, s.size)), nil
}

func hasTag(b []byte, offset int, tag string) bool {
	return len(b) >= offset && bytes.HasPrefix(b[offset:], []byte(tag))
}

func countFrames(s *source, pos, end int64) time.Duration {
	var f frames
	for pos < end {
		b := s.at(pos, int(min(windowBytes, end-pos)))
		if len(b) == 0 {
			break
		}
		f.write(b)
		pos += int64(len(b))
	}
	return f.duration()
}
