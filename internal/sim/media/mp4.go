package media

import (
	"bytes"
	"encoding/binary"

	"weir/internal/sim/kit"
)

// framesPerSecond of a video. They are all alike, and cost some bytes each.
const framesPerSecond = 8

// encodeMP4 returns an MP4 file of the given size in pixels and length in seconds: H.264, a grey image without motion. Players can show it.
func encodeMP4(width, height, seconds int, seed uint64) []byte {
	width, height = min(max(width, 2)&^1, kit.MaxSide), min(max(height, 2)&^1, kit.MaxSide)
	across, down := (width+15)/16, (height+15)/16
	sets, images := parameterSets(width, height, across, down), []string{}
	var data bytes.Buffer
	for i := range max(1, seconds) * framesPerSecond {
		nal := frameData(across*down, i)
		if i == 0 {
			nal = firstFrame(across * down)
		}
		data.Write(binary.BigEndian.AppendUint32(nil, uint32(len(nal))))
		data.Write(nal)
		images = append(images, string(nal))
	}
	head := box("ftyp", []byte("isom"), be32(0x200), []byte("isomiso2avc1mp41"))
	head = append(head, box("free", []byte(kit.HexOf(seed)))...) // makes the videos of two prompts differ
	at := len(head) + 8
	head = append(head, box("mdat", data.Bytes())...)
	return append(head, mp4Head(width, height, sets, images, at)...)
}

// box writes one box of the ISO base media file format.
func box(name string, parts ...[]byte) []byte {
	inside := bytes.Join(parts, nil)
	return append(append(be32(8+len(inside)), name...), inside...)
}

func be32(n ...int) []byte {
	var out []byte
	for _, v := range n {
		out = binary.BigEndian.AppendUint32(out, uint32(v))
	}
	return out
}

func be16(n ...int) []byte {
	var out []byte
	for _, v := range n {
		out = binary.BigEndian.AppendUint16(out, uint16(v))
	}
	return out
}

// mp4Head returns the box that describes the frames, which are stored in sequence from offset at. See ISO/IEC 14496-12 and -15.
func mp4Head(width, height int, sets [2][]byte, images []string, at int) []byte {
	n := len(images)
	matrix := be32(0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000)
	sizes := be32(0, 0, n)
	for _, p := range images {
		sizes = append(sizes, be32(4+len(p))...)
	}
	config := append([]byte{1, sets[0][1], sets[0][2], sets[0][3], 0xff, 0xe1}, be16(len(sets[0]))...)
	config = append(append(append(config, sets[0]...), 1), be16(len(sets[1]))...)
	config = append(config, sets[1]...)
	entry := bytes.Join([][]byte{be32(0), be16(0, 1, 0, 0), be32(0, 0, 0), be16(width, height), be32(0x480000, 0x480000, 0), be16(1), make([]byte, 32), be16(24, 0xffff), box("avcC", config)}, nil)
	table := box("stbl",
		box("stsd", be32(0, 1), box("avc1", entry)),
		box("stts", be32(0, 1, n, 1)),
		box("stss", be32(0, 1, 1)),
		box("stsc", be32(0, 1, 1, n, 1)),
		box("stsz", sizes),
		box("stco", be32(0, 1, at)))
	media := box("mdia",
		box("mdhd", be32(0, 0, 0, framesPerSecond, n), be16(0x55c4, 0)),
		box("hdlr", be32(0, 0), []byte("vide"), be32(0, 0, 0), []byte("sim\x00")),
		box("minf", box("vmhd", be32(1, 0, 0)), box("dinf", box("dref", be32(0, 1), box("url ", be32(1)))), table))
	return box("moov",
		box("mvhd", be32(0, 0, 0, framesPerSecond, n, 0x10000), be16(0x100, 0), be32(0, 0), matrix, make([]byte, 24), be32(2)),
		box("trak", box("tkhd", be32(3, 0, 0, 1, 0, n, 0, 0), be16(0, 0, 0, 0), matrix, be32(width<<16, height<<16)), media))
}

// parameterSets returns the sequence and picture parameter sets: baseline profile, without optional parts.
func parameterSets(width, height, across, down int) [2][]byte {
	var s, p kit.BitWriter
	s.Put(66<<16|0xc0<<8|51, 24) // profile, constraints, level 5.1
	s.ExpGolomb(0)
	s.ExpGolomb(0) // frame numbers have four bits
	s.ExpGolomb(2) // shown in the order of coding
	s.ExpGolomb(1)
	s.Put(0, 1)
	s.ExpGolomb(across - 1)
	s.ExpGolomb(down - 1)
	s.Put(0b111, 3) // frames only, direct inference, cropping
	for _, crop := range [...]int{0, across*16 - width, 0, down*16 - height} {
		s.ExpGolomb(crop / 2)
	}
	s.Put(0, 1)
	p.ExpGolomb(0)
	p.ExpGolomb(0)
	p.Put(0, 2) // CAVLC
	for range 3 {
		p.ExpGolomb(0)
	}
	p.Put(0, 3)
	for range 3 {
		p.ExpGolomb(0)
	}
	p.Put(0b100, 3) // the deblocking filter can be turned off
	return [2][]byte{s.NALUnit(0x67), p.NALUnit(0x68)}
}

// firstFrame returns the first frame: each macroblock is predicted without neighbours and has no residue, which takes one byte.
func firstFrame(blocks int) []byte {
	var w kit.BitWriter
	w.ExpGolomb(0)
	w.ExpGolomb(7)
	w.ExpGolomb(0)
	w.Put(0, 4)
	w.ExpGolomb(0)
	w.Put(0, 2)
	w.ExpGolomb(0)
	w.ExpGolomb(1)
	for range blocks {
		w.Put(0b00100111, 8) // I_16x16, mean, no chroma residue, same quantizer, no coefficients
	}
	return w.NALUnit(0x65)
}

// frameData returns a frame equal to the one before: all its macroblocks are skipped.
func frameData(blocks, i int) []byte {
	var w kit.BitWriter
	w.ExpGolomb(0)
	w.ExpGolomb(5)
	w.ExpGolomb(0)
	w.Put(uint64(i%16), 4)
	w.Put(0, 3)
	w.ExpGolomb(0)
	w.ExpGolomb(1)
	w.ExpGolomb(blocks)
	return w.NALUnit(0x41)
}
