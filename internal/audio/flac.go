package audio

import (
	"bytes"
	"time"
)

// flacStream is FLAC (RFC 9639): what its first block says, and how long the frames last that were found so far.
type flacStream struct {
	rate  uint64 // samples a second
	claim uint64 // samples
	total time.Duration
	found bool // a frame
}

func isFLAC(head []byte) bool { return len(head) >= 4 && string(head[:4]) == "fLaC" }

// streamInfoBytes is the length of the first block's content.
const streamInfoBytes = 34

// describe reads the content of the first block; false when it is no such block.
func (f *flacStream) describe(b []byte) bool {
	if len(b) < streamInfoBytes {
		return false
	}
	n := number(b[10:18]) // 20 bits of the rate, 3 of the channels, 5 of the bits of a sample, 36 of the samples
	f.rate, f.claim = n>>44, n&(1<<36-1)
	return f.rate > 0
}

// probeFLAC counts the frames. Where they lie is not written anywhere, so that each place which may be the header of one is looked at: about
// one of a hundred files of the largest size has bytes within a frame that look like one, which adds less than 17 seconds.
func probeFLAC(s *source) (Info, error) {
	var f flacStream
	if head := s.at(4, 4+streamInfoBytes); len(head) < 4 || head[0]&0x7f != 0 || !f.describe(head[4:]) {
		return Info{}, noAudio()
	}
	pos := int64(4)
	for last := false; !last && pos < s.size; {
		head := s.at(pos, 4)
		if len(head) < 4 {
			break
		}
		last = head[0]&0x80 != 0
		pos += 4 + int64(number(head[1:]))
	}
	for pos < s.size {
		window := s.at(pos, windowBytes)
		if len(window) == 0 {
			break
		}
		pos += f.scan(window, pos+int64(len(window)) >= s.size)
	}
	if !f.found {
		return claimed(FLAC, span(f.claim, f.rate)), nil
	}
	return counted(FLAC, f.total), nil
}

// scan looks for frames in a part of the file and returns how much of it was looked at. At the end that is all of it.
func (f *flacStream) scan(b []byte, end bool) int64 {
	for at := 0; ; at++ {
		next := bytes.IndexByte(b[at:], 0xff)
		if next < 0 {
			return int64(len(b))
		}
		if at += next; !end && len(b)-at < longestFrameHeader {
			return int64(at)
		}
		f.frame(b[at:])
	}
}

// longestFrameHeader is how many bytes a frame's header has at most; leastRate is the lowest rate of audio that people transcribe.
const (
	longestFrameHeader = 16
	leastRate          = 4000
)

// frame adds the frame that begins b; it reports whether one begins there: its header has a check sum.
func (f *flacStream) frame(b []byte) bool {
	if len(b) < 6 || b[0] != 0xff || b[1]&0xfe != 0xf8 || b[3]>>4 > 10 || b[3]&1 != 0 {
		return false
	}
	n := 4 + coded(b[4])
	samples, rate := uint64(0), uint64(0)
	switch code := b[2] >> 4; {
	case code == 1:
		samples = 192
	case code >= 2 && code <= 5:
		samples = 144 << code
	case code == 6 && n < len(b):
		samples = uint64(b[n]) + 1
		n++
	case code == 7 && n+1 < len(b):
		samples = number(b[n:n+2]) + 1
		n += 2
	case code >= 8:
		samples = 1 << code
	}
	switch code := b[2] & 15; {
	case code == 0:
		rate = f.rate
	case code < 12:
		rate = [12]uint64{1: 88_200, 176_400, 192_000, 8000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 96_000}[code]
	case code == 12 && n < len(b):
		rate = uint64(b[n]) * 1000
		n++
	case code < 15 && n+1 < len(b):
		rate = number(b[n : n+2])
		if code == 14 {
			rate *= 10
		}
		n += 2
	}
	if samples == 0 || rate < leastRate && rate != f.rate || n >= len(b) || crc8(b[:n]) != b[n] {
		return false
	}
	f.found = true
	f.total += span(samples, rate)
	return true
}

// coded is how many bytes a frame's number has, which is written as UTF-8 writes characters, but longer.
func coded(first byte) int {
	n := 0
	for ; first&0x80 != 0; first <<= 1 {
		n++
	}
	return max(n, 1)
}

// crc8 is the check sum of a frame's header, of the polynomial x^8+x^2+x+1.
func crc8(b []byte) (sum byte) {
	for _, c := range b {
		sum ^= c
		for range 8 {
			if sum&0x80 != 0 {
				sum = sum<<1 ^ 7
			} else {
				sum <<= 1
			}
		}
	}
	return sum
}
