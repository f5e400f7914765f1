package audio

import (
	"bytes"
	"encoding/binary"
	"math"
	"time"
)

const (
	oggMark      = "OggS" // which begins each page
	oggHeadBytes = 27     // of a page, before the lengths of its segments
	oggContinued = 1      // flag: the page begins with the rest of a packet
	oggFirst     = 2      // flag: the page begins a stream
)

func isOgg(head []byte) bool { return bytes.HasPrefix(head, []byte(oggMark)) }

// ogg is an Ogg file (RFC 3533) as far as its duration goes: one recording, or several one after the other, each of one stream or several
// at the same time.
type ogg struct {
	s       *source
	broken  int64       // bytes that were read of broken pages
	streams []oggStream // of audio, of the recording that is read
	opening bool        // all pages of it so far began a stream
	audio   bool        // there is audio
	claimed bool        // some of it was not counted
	total   uint64      // nanoseconds of the recordings before
}

// oggStream is a stream of audio.
type oggStream struct {
	serial  uint32
	codec   oggCodec
	headers uint64 // packets before the audio
	packets uint64 // of audio that began so far
	samples uint64 // of Opus and Speex, in these packets
	flac    flacStream

	rate         uint64 // of Vorbis and Speex: samples a second
	least, most  uint64 // samples that a packet of these has
	begun, ended uint64 // of Vorbis: the positions of the first page with audio and of the last, in samples
	inFirst      uint64 // packets that ended by the first
}

type oggCodec uint8

const (
	oggOpus oggCodec = iota
	oggVorbis
	oggSpeex
	oggFLAC
)

func probeOgg(s *source) (Info, error) {
	o := &ogg{s: s}
	for pos := int64(0); pos < s.size && s.err == nil; {
		if n := o.page(pos); n > 0 {
			pos += n
			continue
		}
		if o.broken > s.size+windowBytes {
			return Info{}, tooManyParts()
		}
		pos = o.nextMark(pos + 1) // as players do
	}
	o.end()
	switch total := time.Duration(min(o.total, math.MaxInt64)); {
	case !o.audio:
		return Info{}, noAudio()
	case o.claimed || total == 0:
		return claimed(OGG, total), nil
	default:
		return counted(OGG, total), nil
	}
}

// nextMark is where the next page may begin, from pos on.
func (o *ogg) nextMark(pos int64) int64 {
	for {
		b := o.s.at(pos, 64)
		if i := bytes.Index(b, []byte(oggMark)); i >= 0 {
			return pos + int64(i)
		}
		if len(b) < 64 {
			return o.s.size
		}
		pos += int64(len(b) - len(oggMark) + 1)
	}
}

// page reads a page and returns its length, or 0 without one at pos: players leave out pages whose check sum is wrong.
func (o *ogg) page(pos int64) int64 {
	head := o.s.at(pos, oggHeadBytes+math.MaxUint8)
	if len(head) < oggHeadBytes || !isOgg(head) || head[4] != 0 {
		return 0
	}
	flags, position, serial, sum := head[5], binary.LittleEndian.Uint64(head[6:]), binary.LittleEndian.Uint32(head[14:]), binary.LittleEndian.Uint32(head[22:])
	var segments [math.MaxUint8]byte
	count := copy(segments[:head[26]], head[oggHeadBytes:])
	body := pos + oggHeadBytes + int64(head[26])
	end := body
	for _, n := range segments[:count] {
		end += int64(n)
	}
	if !o.intact(pos, end, sum) {
		return 0
	}
	if st := o.stream(flags, serial, body); st != nil {
		st.page(o.s, flags, position, segments[:count], body)
	}
	return end - pos
}

// intact reports whether a page has its check sum, which counts the four bytes of the sum itself as zeros.
func (o *ogg) intact(pos, end int64, want uint32) bool {
	if end > o.s.size {
		o.broken += oggHeadBytes
		return false
	}
	var sum uint32
	for at := pos; at < end; {
		b := o.s.at(at, int(min(end-at, windowBytes)))
		if len(b) == 0 {
			return false
		}
		for i, c := range b {
			if place := at + int64(i) - pos; place >= 22 && place < 26 {
				c = 0
			}
			sum = sum<<8 ^ oggSums[byte(sum>>24)^c]
		}
		at += int64(len(b))
	}
	if sum != want {
		o.broken += end - pos
	}
	return sum == want
}

// oggSums are the check sums of single bytes, of the polynomial that Ogg uses.
var oggSums = func() (sums [256]uint32) {
	for i := range sums {
		sum := uint32(i) << 24
		for range 8 {
			if sum>>31 != 0 {
				sum = sum<<1 ^ 0x04c11db7
			} else {
				sum <<= 1
			}
		}
		sums[i] = sum
	}
	return sums
}()

// stream is the stream of a page, nil when it is no audio.
func (o *ogg) stream(flags byte, serial uint32, body int64) *oggStream {
	if flags&oggFirst != 0 {
		if !o.opening {
			o.end()
			o.opening = true
		}
		if st, ok := newOggStream(serial, o.s.at(body, 72)); ok && len(o.streams) < maxTracks {
			o.streams = append(o.streams, st)
		}
	} else {
		o.opening = false
	}
	for i := range o.streams {
		if o.streams[i].serial == serial {
			return &o.streams[i]
		}
	}
	return nil
}

// newOggStream reads the first packet of a stream; false when it is not of audio.
func newOggStream(serial uint32, b []byte) (oggStream, bool) {
	st := oggStream{serial: serial}
	le32 := binary.LittleEndian.Uint32
	switch starts := func(s string) bool { return bytes.HasPrefix(b, []byte(s)) }; {
	case starts("OpusHead"):
		st.codec, st.headers = oggOpus, 2
	case starts("\x01vorbis") && len(b) >= 29:
		st.codec, st.headers, st.rate = oggVorbis, 3, uint64(le32(b[12:]))
		st.least, st.most = 1<<(b[28]&15)/2, 1<<(b[28]>>4)/2
	case starts("Speex   ") && len(b) >= 72:
		st.codec, st.headers, st.rate = oggSpeex, 2+uint64(le32(b[68:])), uint64(le32(b[36:]))
		st.least = st.rate / 50 * uint64(min(max(le32(b[64:]), 1), 10)) // frames of 20 ms, at most ten
	case starts("\x7fFLAC") && len(b) >= 17+streamInfoBytes:
		st.codec = oggFLAC
		return st, st.flac.describe(b[17:])
	default:
		return st, false
	}
	return st, st.codec == oggOpus || st.rate > 0
}

func (st *oggStream) page(s *source, flags byte, position uint64, segments []byte, body int64) {
	begins := flags&oggContinued == 0
	ends := false
	for _, n := range segments {
		if begins {
			st.packet(s.at(body, int(min(n, longestFrameHeader))))
		}
		body += int64(n)
		begins = n < math.MaxUint8
		ends = ends || begins
	}
	if !ends || position == math.MaxUint64 || st.packets == 0 {
		return
	}
	if st.inFirst == 0 {
		st.begun, st.inFirst = position, st.packets
	}
	st.ended = max(st.ended, position)
}

// packet counts a packet, of which b is the beginning.
func (st *oggStream) packet(b []byte) {
	switch {
	case st.headers > 0:
		st.headers--
		return
	case len(b) == 0:
		return
	}
	st.packets++
	switch st.codec {
	case oggOpus:
		st.samples += opusSamples(0, b)
	case oggSpeex:
		st.samples += st.least
	case oggFLAC:
		st.flac.frame(b)
	case oggVorbis: // which says only in its tables how many samples a packet has
	}
}

// duration is how long a stream lasts, in nanoseconds; false when it was not counted.
func (st *oggStream) duration() (nanoseconds uint64, exact bool) {
	n, rate := st.samples, st.rate
	switch st.codec {
	case oggOpus:
		rate = 48_000
	case oggFLAC:
		return uint64(st.flac.total), true
	case oggVorbis: // the pages' positions, as far as so many packets can bear them; a live recording does not begin at zero
		start := st.begun - min(st.begun, multiply(st.inFirst, st.most))
		n = max(min(st.ended-start, multiply(st.packets, st.most)), multiply(max(st.packets, 2)-2, st.least)) // the first packet only begins a block, and the last may be cut
	case oggSpeex:
	}
	return uint64(span(n, rate)), st.codec != oggVorbis
}

// end ends a recording.
func (o *ogg) end() {
	var longest uint64
	for i := range o.streams {
		n, exact := o.streams[i].duration()
		longest = max(longest, n)
		o.audio = true
		o.claimed = o.claimed || !exact
	}
	o.total = add(o.total, longest)
	o.streams = o.streams[:0]
}
