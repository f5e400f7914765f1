package audio

import (
	"math"
	"time"
)

// Elements of EBML (RFC 8794) and Matroska (RFC 9559) that are looked at, with the marker bits of their length.
const (
	idEBML            = 0x1a45dfa3
	idSegment         = 0x18538067
	idInfo            = 0x1549a966
	idTimestampScale  = 0x2ad7b1
	idDuration        = 0x4489
	idTracks          = 0x1654ae6b
	idTrackEntry      = 0xae
	idTrackNumber     = 0xd7
	idTrackType       = 0x83
	idDefaultDuration = 0x23e383
	idCodecID         = 0x86
	idCluster         = 0x1f43b675
	idTimestamp       = 0xe7
	idSimpleBlock     = 0xa3
	idBlockGroup      = 0xa0
	idBlock           = 0xa1
	idBlockDuration   = 0x9b
)

func isEBML(head []byte) bool { return len(head) >= 4 && number(head[:4]) == idEBML }

// maxElements is what a day of audio needs in blocks of 20 ms.
const maxElements = 1 << 22

// matroska is a WebM file as far as its duration goes. Times are ticks of scale nanoseconds.
type matroska struct {
	s        *source
	elements int // that may still be read
	scale    uint64
	claim    float64
	audios   []audioTrack

	cluster     int64 // time of the current one
	blocks      int   // of audio
	first, last int64 // times of the first and of the last block of audio
	before      int64 // time of the last but one
	lastTrack   *audioTrack
	lastFor     uint64 // how long the last one says that it lasts; 0: it does not
}

type audioTrack struct {
	number  uint64
	perUnit uint64 // nanoseconds a frame lasts; 0: not said
	opus    bool
	samples uint64 // of Opus, which has 48 thousand a second: in all blocks
}

// element is an element whose content lies from body to end. Where its length is unknown it goes to the end of what it is in.
type element struct {
	id        uint64
	body, end int64
	unknown   bool
}

func (m *matroska) next(pos, end int64) (element, bool) {
	if m.elements--; m.elements < 0 || pos >= end {
		return element{}, false
	}
	b := m.s.at(pos, 12)
	id, idBytes := vint(b, 4)
	if idBytes == 0 {
		return element{}, false
	}
	length, lengthBytes := vint(b[idBytes:], 8)
	if lengthBytes == 0 {
		return element{}, false
	}
	marker := uint64(1) << (7 * lengthBytes)
	length -= marker
	e := element{id: id, body: pos + int64(idBytes+lengthBytes), end: end, unknown: length == marker-1}
	if e.body > end {
		return element{}, false
	}
	if !e.unknown {
		e.end = e.body + int64(min(length, uint64(end-e.body)))
	}
	return e, true
}

// vint reads a number of variable length, at most most bytes, with its marker bit; n is 0 without one.
func vint(b []byte, most int) (value uint64, n int) {
	if len(b) == 0 || b[0] == 0 {
		return 0, 0
	}
	n = 1
	for first := b[0]; first&0x80 == 0; first <<= 1 {
		n++
	}
	if n > most || n > len(b) {
		return 0, 0
	}
	return number(b[:n]), n
}

// uint is the value of an element that holds a number; longer ones than eight bytes are cut.
func (m *matroska) uint(e element) uint64 {
	return number(m.s.at(e.body, int(min(e.end-e.body, 8))))
}

func (m *matroska) each(pos, end int64, visit func(e element)) {
	for e, ok := m.next(pos, end); ok; e, ok = m.next(e.end, end) {
		visit(e)
	}
}

func probeWebM(s *source) (Info, error) {
	m := &matroska{s: s, elements: maxElements, scale: 1e6}
	m.each(0, s.size, func(e element) {
		if e.id == idSegment {
			m.segment(e)
		}
	})
	switch {
	case m.elements < 0:
		return Info{}, tooManyParts()
	case len(m.audios) == 0:
		return Info{}, noAudio()
	case m.blocks == 0:
		return claimed(WebM, m.claimed()), nil
	}
	return counted(WebM, max(m.duration(), m.packets())), nil
}

func (m *matroska) segment(segment element) {
	for e, ok := m.next(segment.body, segment.end); ok; e, ok = m.next(e.end, segment.end) {
		switch e.id {
		case idInfo:
			m.info(e)
		case idTracks:
			m.each(e.body, e.end, m.track)
		case idCluster:
			e.end = m.blocksOf(e)
		}
	}
}

func (m *matroska) info(e element) {
	m.each(e.body, e.end, func(e element) {
		switch e.id {
		case idTimestampScale:
			m.scale = max(m.uint(e), 1)
		case idDuration:
			m.claim = math.Float64frombits(m.uint(e))
			if e.end-e.body == 4 {
				m.claim = float64(math.Float32frombits(uint32(m.uint(e))))
			}
		}
	})
}

func (m *matroska) track(e element) {
	if e.id != idTrackEntry || len(m.audios) == maxTracks {
		return
	}
	var t audioTrack
	audio := false
	m.each(e.body, e.end, func(e element) {
		switch e.id {
		case idTrackNumber:
			t.number = m.uint(e)
		case idTrackType:
			audio = m.uint(e) == 2
		case idDefaultDuration:
			t.perUnit = m.uint(e)
		case idCodecID:
			t.opus = string(m.s.at(e.body, int(min(e.end-e.body, 6)))) == "A_OPUS"
		}
	})
	if audio {
		m.audios = append(m.audios, t)
	}
}

// blocksOf reads a cluster and returns where it ends: one of unknown length, which is how live recordings are written, ends before the
// first element that clusters do not hold. Those have ids of four bytes.
func (m *matroska) blocksOf(cluster element) (end int64) {
	m.cluster = 0
	pos := cluster.body
	for e, ok := m.next(pos, cluster.end); ok; e, ok = m.next(pos, cluster.end) {
		if cluster.unknown && e.id > 0xffffff {
			return pos
		}
		switch e.id {
		case idTimestamp:
			m.cluster = int64(min(m.uint(e), 1<<56))
		case idSimpleBlock:
			m.block(e)
		case idBlockGroup:
			m.group(e)
		}
		pos = e.end
	}
	return cluster.end
}

func (m *matroska) group(e element) {
	blocks, lasts := m.blocks, uint64(0)
	m.each(e.body, e.end, func(e element) {
		switch e.id {
		case idBlock:
			m.block(e)
		case idBlockDuration:
			lasts = m.uint(e)
		}
	})
	if m.blocks > blocks {
		m.lastFor = lasts
	}
}

// block notes a block of audio, which has the number of its track, its time after the cluster's, flags, and one packet or several.
func (m *matroska) block(e element) {
	b := m.s.at(e.body, int(min(e.end-e.body, 16)))
	number, n := vint(b, 8)
	if n == 0 || len(b) < n+3 {
		return
	}
	t := m.audioByNumber(number - 1<<(7*n))
	if t == nil {
		return
	}
	at := m.cluster + int64(int16(uint16(b[n])<<8|uint16(b[n+1])))
	if m.blocks == 0 {
		m.first, m.last = at, at
	}
	m.blocks++
	if t.opus {
		t.samples += opusSamples(b[n+2], b[n+3:])
	}
	m.first = min(m.first, at)
	if at >= m.last {
		m.before, m.last, m.lastTrack, m.lastFor = m.last, at, t, 0
	}
}

func (m *matroska) audioByNumber(number uint64) *audioTrack {
	for i := range m.audios {
		if m.audios[i].number == number {
			return &m.audios[i]
		}
	}
	return nil
}

// duration is from the first block to the end of the last, which lasts as long as it or its track says, or else as long as the one before.
func (m *matroska) duration() time.Duration {
	lasts := multiply(m.lastFor, m.scale)
	if lasts == 0 {
		lasts = m.lastTrack.perUnit
	}
	if lasts == 0 {
		lasts = multiply(uint64(m.last-m.before), m.scale)
	}
	total := add(multiply(uint64(m.last-m.first), m.scale), min(lasts, uint64(time.Second)))
	return time.Duration(min(total, math.MaxInt64))
}

// opusSamples is how many samples the packets of a block hold (RFC 6716, 3.1 and 3.2), or hold at least when there are several.
func opusSamples(flags byte, b []byte) uint64 {
	const least = 120 // 2.5 ms
	if len(b) == 0 {
		return 0
	}
	if laced := flags&0x06 != 0; laced {
		return least * (uint64(b[0]) + 1)
	}
	var size uint64
	switch config := b[0] >> 3; {
	case config < 12:
		size = [4]uint64{480, 960, 1920, 2880}[config&3]
	case config < 16:
		size = 480 << (config & 1)
	default:
		size = least << (config & 3)
	}
	frames := uint64(1)
	switch count := b[0] & 3; {
	case count == 3 && len(b) > 1:
		frames = uint64(b[1] & 0x3f)
	case count > 0:
		frames = 2
	}
	return size * frames
}

// packets is how long the packets of Opus last, whatever the file says of their times: players play all of them.
func (m *matroska) packets() time.Duration {
	var longest time.Duration
	for _, t := range m.audios {
		longest = max(longest, span(t.samples, 48_000))
	}
	return longest
}

// claimed is the duration that the header claims; 0 when it claims none that is a number of nanoseconds.
func (m *matroska) claimed() time.Duration {
	nanoseconds := m.claim * float64(m.scale)
	if !(nanoseconds > 0) {
		return 0
	}
	if nanoseconds >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(nanoseconds)
}
