package audio

import "time"

// isMP4 looks at the type of the first box. Files without a file type box are older than it.
func isMP4(head []byte) bool {
	if len(head) < 8 {
		return false
	}
	switch string(head[4:8]) {
	case "ftyp", "styp", "moov", "mdat", "wide", "free", "skip":
		return true
	}
	return false
}

const (
	maxBoxes  = 1 << 20
	maxTracks = 64
)

// movie is an ISO base media file (ISO/IEC 14496-12) as far as its duration goes. Boxes nest to a fixed depth, because each method looks
// into boxes of one kind only.
type movie struct {
	s      *source
	boxes  int // that may still be read
	scale  uint64
	claim  uint64 // how long all is, in ticks of scale
	tracks []track
}

// track is one stream in a movie. Times are ticks of scale.
type track struct {
	id      uint32
	audio   bool
	scale   uint64
	counted uint64 // of all samples
	claim   uint64 // 0: none
	sample  uint64 // how long samples of fragments are that do not say it
	aac     bool   // or another encoding of MPEG
	frames  uint64 // how many samples there are
}

// box is a box whose content lies from body to end.
type box struct {
	kind      [4]byte
	body, end int64
}

// next reads the box at pos, within one that goes to end. A box that claims to be longer than what it is in ends with it: files are cut.
func (m *movie) next(pos, end int64) (box, bool) {
	b := m.s.at(pos, 16)
	if pos+8 > end || len(b) < 8 {
		return box{}, false
	}
	if m.boxes--; m.boxes < 0 {
		return box{}, false
	}
	found := box{kind: [4]byte(b[4:8]), body: pos + 8}
	length := number(b[:4])
	switch {
	case length == 0:
		found.end = end
		return found, true
	case length == 1:
		found.body += 8
		length = number(b[8:])
	}
	if pos+int64(min(length, 16)) < found.body || found.body > end {
		return box{}, false
	}
	found.end = pos + int64(min(length, uint64(end-pos)))
	return found, true
}

// each visits the boxes from pos to end in order.
func (m *movie) each(pos, end int64, visit func(kind string, b box)) {
	for b, ok := m.next(pos, end); ok; b, ok = m.next(b.end, end) {
		visit(string(b.kind[:]), b)
	}
}

// fields are the first n bytes of a box after its version, and whether that is the one with times of 64 bits, and its flags.
func (m *movie) fields(b box, n int) (f fields, long bool, flags uint32) {
	f.b = m.s.at(b.body, int(min(int64(n+4), b.end-b.body)))
	head := f.uint32()
	return f, head>>24 == 1, head & 0xffffff
}

// probeMP4 goes over the file twice: what fragments leave out is in the movie box, which may come after them.
func probeMP4(s *source) (Info, error) {
	m := &movie{s: s, boxes: maxBoxes}
	m.each(0, s.size, func(kind string, b box) {
		if kind == "moov" {
			m.movie(b)
		}
	})
	m.each(0, s.size, func(kind string, b box) {
		if kind == "moof" {
			m.fragment(b)
		}
	})
	if m.boxes < 0 || len(m.tracks) > maxTracks {
		return Info{}, tooManyParts()
	}
	return m.info()
}

func (m *movie) info() (Info, error) {
	format := MP4
	if brand := m.s.at(4, 8); string(brand) == "ftypM4A " || string(brand) == "ftypM4B " {
		format = M4A
	}
	var countedFor, claimedFor, least time.Duration
	audio := false
	for _, t := range m.tracks {
		if t.audio {
			audio = true
			countedFor = max(countedFor, span(t.counted, t.scale))
			claimedFor = max(claimedFor, span(t.claim, t.scale))
			least = max(least, t.least())
		}
	}
	if claimedFor == 0 {
		claimedFor = span(m.claim, m.scale)
	}
	switch {
	case !audio:
		return Info{}, noAudio()
	case countedFor > 0 && countedFor >= least:
		return counted(format, countedFor), nil
	case countedFor > 0:
		return claimed(format, least), nil
	}
	return claimed(format, max(claimedFor, least)), nil
}

// least is a time that the track's frames last at least, whatever the file says of their times: players play all of them. Those of AAC
// have a thousand samples, of which there are at most 96 thousand a second.
func (t track) least() time.Duration {
	if !t.aac {
		return 0
	}
	return span(t.frames, 100)
}

func (m *movie) movie(b box) {
	m.each(b.body, b.end, func(kind string, b box) {
		switch kind {
		case "mvhd":
			m.scale, m.claim = m.clock(b)
		case "trak":
			m.track(b)
		}
	})
	// After the tracks, in whatever order they are.
	m.each(b.body, b.end, func(kind string, b box) {
		if kind == "mvex" {
			m.extends(b)
		}
	})
}

func (m *movie) track(b box) {
	if len(m.tracks) > maxTracks {
		return // one too many, which reports that there are
	}
	var t track
	m.each(b.body, b.end, func(kind string, b box) {
		switch kind {
		case "tkhd":
			f, long, _ := m.fields(b, 20)
			f.take(8)
			if long {
				f.take(8)
			}
			t.id = f.uint32()
		case "mdia":
			m.media(b, &t)
		}
	})
	m.tracks = append(m.tracks, t)
}

func (m *movie) media(b box, t *track) {
	m.each(b.body, b.end, func(kind string, b box) {
		switch kind {
		case "mdhd":
			t.scale, t.claim = m.clock(b)
		case "hdlr":
			f, _, _ := m.fields(b, 8)
			f.take(4)
			t.audio = string(f.take(4)) == "soun"
		case "minf":
			m.each(b.body, b.end, func(kind string, b box) {
				if kind == "stbl" {
					m.table(b, t)
				}
			})
		}
	})
}

func (m *movie) table(b box, t *track) {
	m.each(b.body, b.end, func(kind string, b box) {
		switch kind {
		case "stsd":
			f, _, _ := m.fields(b, 12)
			f.take(8)
			t.aac = string(f.take(4)) == "mp4a"
		case "stts":
			m.times(b, t)
		case "stsz":
			f, _, _ := m.fields(b, 8)
			f.take(4)
			t.have(uint64(f.uint32()), m.s.size)
		}
	})
}

// have adds frames, no more than the file can hold.
func (t *track) have(frames uint64, size int64) { t.frames += min(frames, uint64(size)) }

func (m *movie) times(b box, t *track) {
	f, _, _ := m.fields(b, 4)
	pos := b.body + 8
	for entries := f.uint32(); entries > 0 && pos+8 <= b.end; entries-- {
		e := fields{m.s.at(pos, 8)}
		pos += 8
		samples, each := uint64(e.uint32()), uint64(e.uint32())
		t.counted = add(t.counted, multiply(samples, each))
	}
}

// clock reads the time scale and the duration of a header, which begin alike in movies and in media. A duration of all ones means that it is unknown.
func (m *movie) clock(b box) (scale, duration uint64) {
	f, long, _ := m.fields(b, 28)
	if long {
		f.take(16)
		scale, duration = uint64(f.uint32()), f.uint64()
		if duration == 1<<64-1 {
			duration = 0
		}
		return scale, duration
	}
	f.take(8)
	scale, duration = uint64(f.uint32()), uint64(f.uint32())
	if duration == 1<<32-1 {
		duration = 0
	}
	return scale, duration
}

// extends reads what is said ahead of the fragments: how long they are together, and how long their samples are.
func (m *movie) extends(b box) {
	m.each(b.body, b.end, func(kind string, b box) {
		switch kind {
		case "mehd":
			f, long, _ := m.fields(b, 8)
			total := uint64(f.uint32())
			if long {
				total = total<<32 | uint64(f.uint32())
			}
			m.claim = max(m.claim, total)
		case "trex":
			f, _, _ := m.fields(b, 12)
			t := m.trackByID(f.uint32())
			f.take(4)
			if t != nil {
				t.sample = uint64(f.uint32())
			}
		}
	})
}

func (m *movie) trackByID(id uint32) *track {
	for i := range m.tracks {
		if m.tracks[i].id == id {
			return &m.tracks[i]
		}
	}
	return nil
}

func (m *movie) fragment(b box) {
	m.each(b.body, b.end, func(kind string, b box) {
		if kind != "traf" {
			return
		}
		var t *track
		var sample uint64
		m.each(b.body, b.end, func(kind string, b box) {
			switch {
			case kind == "tfhd":
				t, sample = m.fragmentHeader(b)
			case kind == "trun" && t != nil:
				m.run(b, t, sample)
			}
		})
	})
}

// Flags of fragment headers and runs: which fields are there.
const (
	hasBaseOffset  = 0x000001
	hasDescription = 0x000002
	hasSampleTime  = 0x000008

	hasDataOffset   = 0x000001
	hasFirstFlags   = 0x000004
	eachHasDuration = 0x000100
	eachHasSize     = 0x000200
	eachHasFlags    = 0x000400
	eachHasOffset   = 0x000800
)

func (m *movie) fragmentHeader(b box) (t *track, sample uint64) {
	f, _, flags := m.fields(b, 20)
	if t = m.trackByID(f.uint32()); t == nil {
		return nil, 0
	}
	if flags&hasBaseOffset != 0 {
		f.take(8)
	}
	if flags&hasDescription != 0 {
		f.take(4)
	}
	if flags&hasSampleTime != 0 {
		return t, uint64(f.uint32())
	}
	return t, t.sample
}

// run adds the samples of one run.
func (m *movie) run(b box, t *track, sample uint64) {
	f, _, flags := m.fields(b, 4)
	samples := uint64(f.uint32())
	t.have(samples, m.s.size)
	if flags&eachHasDuration == 0 {
		t.counted = add(t.counted, multiply(samples, sample))
		return
	}
	pos, step := b.body+8, int64(4)
	for _, flag := range []uint32{hasDataOffset, hasFirstFlags} {
		if flags&flag != 0 {
			pos += 4
		}
	}
	for _, flag := range []uint32{eachHasSize, eachHasFlags, eachHasOffset} {
		if flags&flag != 0 {
			step += 4
		}
	}
	for ; samples > 0 && pos+step <= b.end; samples-- {
		t.counted = add(t.counted, number(m.s.at(pos, 4))) // the duration comes first
		pos += step
	}
}
