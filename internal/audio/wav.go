package audio

import "encoding/binary"

func isWAV(head []byte) bool {
	return len(head) >= 12 && (string(head[:4]) == "RIFF" || string(head[:4]) == "RF64") && string(head[8:12]) == "WAVE"
}

// How samples are stored (RFC 2361 and the registry of wave formats that it began).
const (
	wavePCM        = 0x0001
	waveADPCM      = 0x0002
	waveFloat      = 0x0003
	waveALaw       = 0x0006
	waveMuLaw      = 0x0007
	waveIMAADPCM   = 0x0011
	waveGSM        = 0x0031
	waveMPEG       = 0x0050
	waveMPEGLayer3 = 0x0055
	waveExtensible = 0xfffe // the true number is further on
)

// wave is the "fmt " chunk.
type wave struct {
	encoding   uint16
	channels   uint16
	hertz      uint32
	byteRate   uint32 // a second, as claimed
	blockBytes uint16
	sampleBits uint16
}

// maxChunks is far more than there are before the audio.
const maxChunks = 10_000

func probeWAV(s *source) (Info, error) {
	var w wave
	riffEnd := 8 + int64(binary.LittleEndian.Uint32(s.at(4, 4)))
	pos := int64(12)
	for range maxChunks {
		head := s.at(pos, 8)
		if len(head) < 8 {
			return Info{}, noAudio()
		}
		kind, length := string(head[:4]), int64(binary.LittleEndian.Uint32(head[4:]))
		pos += 8
		switch kind {
		case "fmt ":
			w = parseWave(s.at(pos, int(min(length, 40))))
		case "data":
			return w.duration(s, pos, audioEnd(s, pos, length, riffEnd))
		}
		pos += length + length&1 // chunks begin at even places
	}
	return Info{}, tooManyParts()
}

func parseWave(b []byte) wave {
	if len(b) < 16 {
		return wave{}
	}
	le := binary.LittleEndian
	w := wave{encoding: le.Uint16(b), channels: le.Uint16(b[2:]), hertz: le.Uint32(b[4:]), byteRate: le.Uint32(b[8:]),
		blockBytes: le.Uint16(b[12:]), sampleBits: le.Uint16(b[14:])}
	if w.encoding == waveExtensible && len(b) >= 26 {
		w.encoding = le.Uint16(b[24:])
	}
	return w
}

// audioEnd is where the data chunk at pos ends. A program that writes to a pipe cannot go back to fill in lengths: then they are the
// largest number, or nothing where the RIFF chunk has no room for audio either, and the audio goes on to the end of the file.
func audioEnd(s *source, pos, length, riffEnd int64) int64 {
	if length == 0 && riffEnd <= pos || length > s.size-pos {
		return s.size
	}
	return pos + length
}

func (w wave) duration(s *source, pos, end int64) (Info, error) {
	switch w.encoding {
	case wavePCM, waveFloat, waveALaw, waveMuLaw:
		perSecond := multiply(uint64(w.channels)*((uint64(w.sampleBits)+7)/8), uint64(w.hertz))
		if perSecond == 0 {
			return Info{}, refuse("The WAV file has no format chunk.")
		}
		return counted(WAV, span(uint64(end-pos), perSecond)), nil
	case waveMPEG, waveMPEGLayer3:
		return counted(WAV, countFrames(s, pos, end)), nil
	case waveADPCM, waveIMAADPCM, waveGSM:
		if samples := w.blockSamples(); samples > 0 && w.hertz > 0 {
			blocks := (end - pos + int64(w.blockBytes) - 1) / int64(w.blockBytes)
			return counted(WAV, span(multiply(uint64(blocks), samples), uint64(w.hertz))), nil
		}
	case 0:
		return Info{}, refuse("The WAV file has no format chunk.")
	}
	return claimed(WAV, span(uint64(end-pos), uint64(w.byteRate))), nil
}

// blockSamples is how many samples a block holds for each channel, 0 when it is too small for any. The first ones are in the block's
// header, uncompressed, and each further one takes four bits; GSM has two frames of 160 samples in 65 bytes.
func (w wave) blockSamples() uint64 {
	channels, block := int(w.channels), int(w.blockBytes)
	header, ahead := 4*channels, 1
	switch {
	case channels == 0:
		return 0
	case w.encoding == waveGSM:
		return uint64(block / 65 * 320)
	case w.encoding == waveADPCM:
		header, ahead = 7*channels, 2
	}
	if block < header {
		return 0
	}
	return uint64((block-header)*2/channels + ahead)
}
