package audio

import (
	"bytes"
	"time"
)

var startCode = []byte{0, 0, 1}

// Ids of what begins with a start code in a program stream (ISO/IEC 13818-1, 2.5.3 and table 2-22).
const (
	packHeader     = 0xba
	firstPacket    = 0xbb // and all above have a length
	privateStream1 = 0xbd // where discs keep AC-3, DTS and uncompressed audio
	firstAudio     = 0xc0
	lastAudio      = 0xdf
)

func isProgramStream(head []byte) bool {
	return len(head) >= 4 && bytes.HasPrefix(head, startCode) && head[3] == packHeader
}

// programStream is an MPEG program stream as far as its duration goes.
type programStream struct {
	s       *source
	audio   byte // id of the stream whose frames are counted: the first one; 0: none
	frames  frames
	private bool   // there is other audio
	first   uint64 // time stamps of that, in ticks of 90 kHz
	before  uint64 // the last but one
	last    uint64
}

func probeProgramStream(s *source) (Info, error) {
	p := &programStream{s: s}
	for pos := int64(0); pos < s.size; {
		pos = p.part(pos)
	}
	if p.audio != 0 {
		return counted(MPEG, p.frames.duration()), nil
	}
	if p.private {
		return claimed(MPEG, p.stamped()), nil
	}
	return Info{}, noAudio()
}

// part reads the packet at pos and returns where the next one may be, which is further on.
func (p *programStream) part(pos int64) int64 {
	b := p.s.at(pos, 6)
	if len(b) < 6 {
		return p.s.size
	}
	if !bytes.HasPrefix(b, startCode) {
		return p.search(pos + 1)
	}
	id, length := b[3], int64(b[4])<<8|int64(b[5])
	if id < firstPacket {
		return pos + 4 // a pack header, whose end is not needed: its content does not look like a start code
	}
	body, end := pos+6, min(pos+6+length, p.s.size)
	if id >= firstAudio && id <= lastAudio || id == privateStream1 {
		p.packet(id, body, end)
	}
	return end
}

// search is where the next start code after pos may be.
func (p *programStream) search(pos int64) int64 {
	for pos < p.s.size {
		b := p.s.at(pos, windowBytes/2)
		if i := bytes.Index(b, startCode); i >= 0 {
			return pos + int64(i)
		}
		if len(b) <= len(startCode) {
			break
		}
		pos += int64(len(b) - len(startCode) + 1)
	}
	return p.s.size
}

func (p *programStream) packet(id byte, body, end int64) {
	stamp, stamped, header := packetHeader(p.s.at(body, int(min(end-body, 300))))
	body += int64(header)
	if id == privateStream1 {
		if sub := p.s.at(body, 1); body < end && len(sub) == 1 && sub[0] >= 0x80 && sub[0] <= 0xaf && stamped { // not subtitles
			if !p.private {
				p.private, p.first, p.last = true, stamp, stamp
			}
			p.before, p.last = p.last, stamp
		}
		return
	}
	if p.audio == 0 {
		p.audio = id
	}
	for id == p.audio && body < end {
		b := p.s.at(body, int(min(end-body, windowBytes)))
		if len(b) == 0 {
			return
		}
		p.frames.write(b)
		body += int64(len(b))
	}
}

// packetHeader reads the header of a packet after its length: MPEG-2's begins with the bits 10, MPEG-1's with none or more stuffing bytes.
func packetHeader(b []byte) (stamp uint64, stamped bool, length int) {
	if len(b) >= 3 && b[0]>>6 == 2 {
		length = 3 + int(b[2])
		if b[1]&0x80 != 0 && len(b) >= 8 {
			return timestamp(b[3:8]), true, length
		}
		return 0, false, length
	}
	for length < min(len(b), 16) && b[length] == 0xff {
		length++
	}
	if length+1 < len(b) && b[length]>>6 == 1 { // size of the decoder's buffer
		length += 2
	}
	if length >= len(b) {
		return 0, false, length
	}
	switch kind := b[length] >> 4; {
	case kind == 2 && len(b) >= length+5:
		return timestamp(b[length : length+5]), true, length + 5
	case kind == 3 && len(b) >= length+10:
		return timestamp(b[length : length+5]), true, length + 10
	}
	return 0, false, length + 1
}

// timestamp is 33 bits in five bytes, with marker bits between.
func timestamp(b []byte) uint64 {
	return uint64(b[0]>>1&7)<<30 | uint64(b[1])<<22 | uint64(b[2]>>1)<<15 | uint64(b[3])<<7 | uint64(b[4]>>1)
}

// stamped is from the first time stamp to the last, and as long again as the last two are apart. They start again every 26 hours.
func (p *programStream) stamped() time.Duration {
	const hertz, mask = 90_000, 1<<33 - 1
	return span((p.last-p.first)&mask+min((p.last-p.before)&mask, hertz), hertz)
}
