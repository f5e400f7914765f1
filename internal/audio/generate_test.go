package audio_test

import (
	"encoding/binary"
	"math"
	"slices"
)

// These write the least that the formats are: a few headers and silence.

func join(parts ...[]byte) []byte { return slices.Concat(parts...) }

func be16(n uint16) []byte { return binary.BigEndian.AppendUint16(nil, n) }
func be32(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }
func be64(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }
func le16(n uint16) []byte { return binary.LittleEndian.AppendUint16(nil, n) }
func le32(n uint32) []byte { return binary.LittleEndian.AppendUint32(nil, n) }

// WAV

const unknown32 = math.MaxUint32

// waveFormat is a "fmt " chunk for audio of 8 kHz.
func waveFormat(encoding, channels, bits, block uint16, byteRate uint32, more ...[]byte) []byte {
	body := join(le16(encoding), le16(channels), le32(8000), le32(byteRate), le16(block), le16(bits), join(more...))
	return chunk("fmt ", uint32(len(body)), body)
}

func chunk(kind string, length uint32, body []byte) []byte {
	padding := make([]byte, len(body)%2)
	return join([]byte(kind), le32(length), body, padding)
}

func riff(chunks ...[]byte) []byte {
	body := join(chunks...)
	return join([]byte("RIFF"), le32(uint32(len(body)+4)), []byte("WAVE"), body)
}

func streamedRIFF(length uint32, chunks ...[]byte) []byte {
	file := riff(chunks...)
	copy(file[4:], le32(length))
	return file
}

var pcm8 = waveFormat(1, 1, 8, 1, 8000)

func data(n int) []byte { return chunk("data", uint32(n), make([]byte, n)) }

// MPEG audio

// Headers of frames, and how long these are.
const (
	mpeg1Layer3  = 0xfffb1064 // 32 kbit/s, 44.1 kHz, joint stereo: 104 bytes, 1152 samples
	mpeg2Layer3  = 0xfff384c4 // 64 kbit/s, 24 kHz, mono: 192 bytes, 576 samples
	mpeg25Layer3 = 0xffe318c4 // 8 kbit/s, 8 kHz, mono: 72 bytes, 576 samples
	mpeg1Layer2  = 0xfffd1404 // 32 kbit/s, 48 kHz: 96 bytes, 1152 samples
	mpeg1Layer1  = 0xffff1404 // 32 kbit/s, 48 kHz: 32 bytes, 384 samples
)

var frameBytes = map[uint32]int{mpeg1Layer3: 104, mpeg2Layer3: 192, mpeg25Layer3: 72, mpeg1Layer2: 96, mpeg1Layer1: 32}

func silentFrames(header uint32, n int) []byte {
	frame := make([]byte, frameBytes[header])
	copy(frame, be32(header))
	return slices.Repeat(frame, n)
}

// taggedFrame is a frame without audio that says how many others there are.
func taggedFrame(header uint32, offset int, tag string, frames uint32) []byte {
	frame := silentFrames(header, 1)
	copy(frame[offset:], join([]byte(tag), be32(1), be32(frames)))
	return frame
}

func id3(n int) []byte {
	return join([]byte("ID3\x04\x00\x00"), []byte{byte(n >> 21 & 0x7f), byte(n >> 14 & 0x7f), byte(n >> 7 & 0x7f), byte(n & 0x7f)}, make([]byte, n))
}

// MP4

func atom(kind string, parts ...[]byte) []byte {
	body := join(parts...)
	return join(be32(uint32(len(body)+8)), []byte(kind), body)
}

func fullAtom(kind string, version byte, flags uint32, parts ...[]byte) []byte {
	return atom(kind, be32(uint32(version)<<24|flags), join(parts...))
}

func ftyp(brand string) []byte { return atom("ftyp", []byte(brand), be32(0)) }

// clock is mvhd or mdhd.
func clock(kind string, scale, duration uint32) []byte {
	return fullAtom(kind, 0, 0, be32(0), be32(0), be32(scale), be32(duration))
}

func clock64(kind string, scale uint32, duration uint64) []byte {
	return fullAtom(kind, 1, 0, be64(0), be64(0), be32(scale), be64(duration))
}

func stts(pairs ...uint32) []byte {
	body := be32(uint32(len(pairs) / 2))
	for _, n := range pairs {
		body = append(body, be32(n)...)
	}
	return fullAtom("stts", 0, 0, body)
}

func trak(id uint32, handler string, mdhd []byte, tables ...[]byte) []byte {
	return atom("trak",
		fullAtom("tkhd", 0, 0, be32(0), be32(0), be32(id)),
		atom("mdia", mdhd, fullAtom("hdlr", 0, 0, be32(0), []byte(handler)), atom("minf", atom("stbl", tables...))))
}

// stsd describes audio of an encoding by its name alone.
func stsd(encoding string) []byte {
	return fullAtom("stsd", 0, 0, be32(1), atom(encoding, make([]byte, 28)))
}

func stsz(n uint32) []byte { return fullAtom("stsz", 0, 0, be32(1), be32(n)) }

func trex(id, sample uint32) []byte {
	return fullAtom("trex", 0, 0, be32(id), be32(1), be32(sample), be32(0), be32(0))
}

func moof(traf ...[]byte) []byte { return atom("moof", atom("traf", traf...)) }

// WebM

func element(id uint32, parts ...[]byte) []byte {
	body := join(parts...)
	return join(elementID(id), be32(1<<28|uint32(len(body))), body)
}

// endless is an element of unknown length.
func endless(id uint32, parts ...[]byte) []byte {
	return join(elementID(id), []byte{0x01, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, join(parts...))
}

func elementID(id uint32) []byte {
	b := be32(id)
	for b[0] == 0 {
		b = b[1:]
	}
	return b
}

func ebml(segment []byte) []byte {
	return join(element(0x1a45dfa3, element(0x4282, []byte("webm"))), segment)
}

func float64Bytes(f float64) []byte { return be64(math.Float64bits(f)) }

func webmInfo(scale uint32, duration []byte) []byte {
	return element(0x1549a966, element(0x2ad7b1, be32(scale)), duration)
}

func audioTrack(number byte, more ...[]byte) []byte {
	return element(0xae, element(0xd7, []byte{number}), element(0x83, []byte{2}), join(more...))
}

func webmTracks(entries ...[]byte) []byte { return element(0x1654ae6b, entries...) }

func at(time uint32) []byte { return element(0xe7, be32(time)) }

func block(track byte, time int16) []byte {
	return join([]byte{0x80 | track}, be16(uint16(time)), []byte{0x80}, make([]byte, 20))
}

// opusBlock has packets whose first byte is toc.
func opusBlock(flags byte, packets ...byte) []byte {
	return element(0xa3, []byte{0x81, 0, 0, flags}, packets, make([]byte, 20))
}

func simpleBlock(track byte, time int16) []byte { return element(0xa3, block(track, time)) }

// FLAC

// flacHead is a file's beginning: the rate, what it claims to last, and whether another block follows.
func flacHead(rate, samples uint64, last byte) []byte {
	return join([]byte("fLaC"), []byte{last, 0, 0, 34}, make([]byte, 10), be64(rate<<44|15<<36|samples), make([]byte, 16))
}

// flacFrame is a frame whose header has these bytes after its mark, and its sum.
func flacFrame(header ...byte) []byte {
	b := join([]byte{0xff, 0xf8}, header)
	return join(b, []byte{crc(b, 8, byte(7))}, make([]byte, 20))
}

// crc is a check sum as FLAC and Ogg have it: bits from the highest on, begun with 0.
func crc[T byte | uint32](b []byte, bits int, polynomial T) (sum T) {
	for _, c := range b {
		sum ^= T(c) << (bits - 8)
		for range 8 {
			high := sum>>(bits-1) != 0
			if sum <<= 1; high {
				sum ^= polynomial
			}
		}
	}
	return sum
}

// Ogg

// oggPage is a page of whole packets, but for the last one with the flag "open": it goes on in the next page.
func oggPage(flags byte, serial uint32, position uint64, packets ...[]byte) []byte {
	var segments, body []byte
	for i, p := range packets {
		segments = append(segments, slices.Repeat([]byte{255}, len(p)/255)...)
		if i < len(packets)-1 || flags&oggOpen == 0 {
			segments = append(segments, byte(len(p)%255))
		}
		body = append(body, p...)
	}
	page := join([]byte("OggS\x00"), []byte{flags &^ oggOpen}, le64(position), le32(serial), le32(0), le32(0), []byte{byte(len(segments))}, segments, body)
	copy(page[22:], le32(crc(page, 32, uint32(0x04c11db7))))
	return page
}

const (
	oggRest = 1
	oggBOS  = 2
	oggOpen = 128
)

func le64(n uint64) []byte { return binary.LittleEndian.AppendUint64(nil, n) }

// oggOpus begins a stream of Opus.
func oggOpus(serial uint32) []byte {
	return join(oggPage(oggBOS, serial, 0, []byte("OpusHead\x01\x01\x38\x01\x80\xbb\x00\x00\x00\x00\x00")), oggPage(0, serial, 0, []byte("OpusTags")))
}

// opus is n packets of 20 ms.
func opus(n int) [][]byte { return slices.Repeat([][]byte{join([]byte{0x78}, make([]byte, 40))}, n) }

// oggVorbis begins a stream of Vorbis with 16,000 samples a second and blocks of 256 and 2048 samples.
func oggVorbis(serial uint32) []byte {
	head := join([]byte("\x01vorbis"), le32(0), []byte{1}, le32(16000), make([]byte, 12), []byte{0xb8, 1})
	return join(oggPage(oggBOS, serial, 0, head), oggPage(0, serial, 0, []byte("\x03vorbis"), []byte("\x05vorbis")))
}

// MPEG program streams

func pack() []byte { return []byte{0, 0, 1, 0xba, 0x44, 0, 4, 0, 4, 1, 0, 0, 3, 0xf8} }

func packet(id byte, header, body []byte) []byte {
	return join([]byte{0, 0, 1, id}, be16(uint16(len(header)+len(body))), header, body)
}

// stamp is a packet's MPEG-2 header with a time in ticks of 90 kHz.
func stamp(ticks uint64) []byte { return join([]byte{0x80, 0x80, 5}, stampBytes(2, ticks)) }

func stampBytes(prefix byte, t uint64) []byte {
	return []byte{prefix<<4 | byte(t>>30&7)<<1 | 1, byte(t >> 22), byte(t>>15&0x7f)<<1 | 1, byte(t >> 7), byte(t&0x7f)<<1 | 1}
}
