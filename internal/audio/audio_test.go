package audio_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"weir/internal/audio"
	"weir/internal/fault"
)

// generated are files of which it is known how long they last.
var generated = []struct {
	name   string
	file   []byte
	format audio.Format
	want   time.Duration // to the nearest microsecond below
	exact  bool
}{
	{"wav", riff(pcm8, data(12000)), audio.WAV, 1500 * time.Millisecond, true},
	{"wav, other chunks around the sound, of odd length", riff(chunk("LIST", 5, make([]byte, 5)), pcm8, data(4001), chunk("LIST", 4, make([]byte, 4))), audio.WAV, 500125 * time.Microsecond, true},
	{"wav, 24 bit stereo", riff(waveFormat(1, 2, 24, 6, 48000), data(48000)), audio.WAV, time.Second, true},
	{"wav, extensible", riff(waveFormat(0xfffe, 1, 16, 2, 16000, le16(22), le16(16), le32(4), le16(1), []byte("\x00\x00\x00\x00\x10\x00\x80\x00\x00\xaa\x00\x38\x9b\x71")), data(8000)), audio.WAV, 500 * time.Millisecond, true},
	{"wav, u-law", riff(waveFormat(7, 1, 8, 1, 8000), data(8000)), audio.WAV, time.Second, true},
	{"wav, IMA ADPCM of 505 samples in 256 bytes", riff(waveFormat(0x11, 1, 4, 256, 4055), data(2560)), audio.WAV, 631250 * time.Microsecond, true},
	{"wav, Microsoft ADPCM of 500 samples in 256 bytes", riff(waveFormat(2, 1, 4, 256, 4096), data(2560)), audio.WAV, 625 * time.Millisecond, true},
	{"wav, GSM", riff(waveFormat(0x31, 1, 0, 65, 1625), data(3250)), audio.WAV, 2 * time.Second, true},
	{"wav, MPEG audio inside", riff(waveFormat(0x55, 1, 0, 1, 8000), chunk("data", 720, silentFrames(mpeg25Layer3, 10))), audio.WAV, 720 * time.Millisecond, true},
	{"wav, an encoding that only says its rate", riff(waveFormat(0x42, 1, 0, 24, 800), data(1600)), audio.WAV, 2 * time.Second, false},
	{"wav, streamed: lengths of all ones", streamedRIFF(unknown32, pcm8, chunk("data", unknown32, make([]byte, 8000))), audio.WAV, time.Second, true},
	{"wav, streamed: lengths of zero", streamedRIFF(0, pcm8, chunk("data", 0, make([]byte, 8000))), audio.WAV, time.Second, true},
	{"wav, streamed: a length that ends before the sound", streamedRIFF(36, pcm8, chunk("data", 0, make([]byte, 8000))), audio.WAV, time.Second, true},
	{"wav, without sound but with a chunk behind it", riff(pcm8, data(0), chunk("LIST", 4, make([]byte, 4))), audio.WAV, 0, true},
	{"wav, cut", riff(pcm8, data(12000))[:44+8000], audio.WAV, time.Second, true},
	{"rf64", join([]byte("RF64"), le32(unknown32), []byte("WAVE"), chunk("ds64", 28, join(le32(8092), le32(0), le32(8000), le32(0), le32(8000), le32(0), le32(0))), pcm8, chunk("data", unknown32, make([]byte, 8000))), audio.WAV, time.Second, true},

	{"mp3, MPEG-1", silentFrames(mpeg1Layer3, 10), audio.MP3, 261224 * time.Microsecond, true},
	{"mp3, MPEG-2", silentFrames(mpeg2Layer3, 10), audio.MP3, 240 * time.Millisecond, true},
	{"mp3, MPEG-2.5", silentFrames(mpeg25Layer3, 10), audio.MP3, 720 * time.Millisecond, true},
	{"mpga, layer II", silentFrames(mpeg1Layer2, 10), audio.MPGA, 240 * time.Millisecond, true},
	{"mpga, layer I", silentFrames(mpeg1Layer1, 10), audio.MPGA, 80 * time.Millisecond, true},
	{"mp3, one frame", silentFrames(mpeg2Layer3, 1), audio.MP3, 24 * time.Millisecond, true},
	{"mp3, two tags before", join(id3(3000), id3(200_000), silentFrames(mpeg2Layer3, 10)), audio.MP3, 240 * time.Millisecond, true},
	{"mp3, a tag behind", join(silentFrames(mpeg2Layer3, 10), []byte("TAG"), make([]byte, 125)), audio.MP3, 240 * time.Millisecond, true},
	{"mp3, junk before, between and behind", join(make([]byte, 999), silentFrames(mpeg2Layer3, 5), bytes.Repeat([]byte{0xff, 0xfb}, 50), silentFrames(mpeg2Layer3, 5), []byte("junk\xff\xf3\x84\xc4junk")), audio.MP3, 240 * time.Millisecond, true},
	{"mp3, streams of two sampling rates", join(silentFrames(mpeg2Layer3, 10), silentFrames(mpeg25Layer3, 10)), audio.MP3, 960 * time.Millisecond, true},
	{"mp3, Xing that tells fewer", join(taggedFrame(mpeg2Layer3, 4+9, "Xing", 2), silentFrames(mpeg2Layer3, 10)), audio.MP3, 240 * time.Millisecond, true},
	{"mp3, Info that tells more", join(taggedFrame(mpeg1Layer3, 4+32, "Info", 1e6), silentFrames(mpeg1Layer3, 10)), audio.MP3, 261224 * time.Microsecond, true},
	{"mp3, VBRI", join(taggedFrame(mpeg2Layer3, 4+32, "VBRI", 10), silentFrames(mpeg2Layer3, 10)), audio.MP3, 240 * time.Millisecond, true},

	{"m4a", join(ftyp("M4A "), atom("mdat", make([]byte, 900)), atom("moov", clock("mvhd", 1000, 9999), trak(1, "soun", clock("mdhd", 8000, 9999), stts(10, 1024, 1, 512)))), audio.M4A, 1344 * time.Millisecond, true},
	{"mp4, header first, 64-bit times and a longer track that is no sound", join(ftyp("isom"), atom("moov", clock64("mvhd", 1000, 9000), trak(1, "vide", clock("mdhd", 10, 90), stts(90, 1)), trak(2, "soun", clock64("mdhd", 8000, 9999), stts(10, 1024))), atom("mdat", make([]byte, 900))), audio.MP4, 1280 * time.Millisecond, true},
	{"mp4, no sample table: the track's claim", join(ftyp("mp42"), atom("moov", clock("mvhd", 1000, 2999), trak(1, "soun", clock("mdhd", 8000, 16000))), atom("mdat", make([]byte, 900))), audio.MP4, 2 * time.Second, false},
	{"mp4, nor that: the movie's claim", join(ftyp("mp42"), atom("moov", clock("mvhd", 1000, 2000), trak(1, "soun", clock("mdhd", 8000, unknown32))), atom("mdat", make([]byte, 900))), audio.MP4, 2 * time.Second, false},
	{"mp4, nor that: what its size can bear", join(ftyp("mp42"), atom("moov", clock64("mvhd", 1000, 1<<64-1), trak(1, "soun", clock("mdhd", 0, 5))), atom("mdat", make([]byte, 324))), audio.MP4, 2 * time.Second, false},
	{"mp4, fragments: default of the track, default of the fragment, each its own", join(ftyp("iso5"),
		atom("moov", clock("mvhd", 1000, 0), atom("mvex", fullAtom("mehd", 0, 0, be32(9000)), trex(1, 500)), trak(1, "soun", clock("mdhd", 1000, 0), stts())),
		moof(fullAtom("tfhd", 0, 0, be32(1)), fullAtom("trun", 0, 0x205, be32(2), be32(0), be32(0), be32(1), be32(1))),
		moof(fullAtom("tfhd", 0, 0x0b, be32(1), be64(0), be32(1), be32(250)), fullAtom("trun", 0, 0, be32(2))),
		moof(fullAtom("tfhd", 0, 0, be32(1)), fullAtom("trun", 0, 0x301, be32(2), be32(0), be32(100), be32(7), be32(150), be32(7))),
		moof(fullAtom("tfhd", 0, 0, be32(2)), fullAtom("trun", 0, 0, be32(99))),
		atom("mdat", make([]byte, 500))), audio.MP4, 1750 * time.Millisecond, true},
	{"mp4, fragmented, none there: what is said ahead", join(ftyp("iso5"), atom("moov", clock("mvhd", 1000, 0), trak(1, "soun", clock("mdhd", 8000, 0)), atom("mvex", fullAtom("mehd", 1, 0, be64(1500)), trex(1, 500))), make([]byte, 500)), audio.MP4, 1500 * time.Millisecond, false},
	{"mp4, the sound's length in 64 bits, the header's to the end", join(ftyp("isom"), be32(1), []byte("mdat"), be64(516), make([]byte, 500), be32(0), atom("moov", trak(1, "soun", clock("mdhd", 8000, 0), stts(10, 800)))[4:]), audio.MP4, time.Second, true},
	{"mp4, frames of AAC that claim no time to speak of", join(ftyp("isom"), atom("moov", trak(1, "soun", clock("mdhd", 8000, 9), stsd("mp4a"), stts(100, 1), stsz(100))), atom("mdat", make([]byte, 900))), audio.MP4, time.Second, false},
	{"mp4, the same in a fragment", join(ftyp("isom"), atom("moov", trak(1, "soun", clock("mdhd", 8000, 9), stsd("mp4a")), atom("mvex", trex(1, 0))), moof(fullAtom("tfhd", 0, 0, be32(1)), fullAtom("trun", 0, 0, be32(100))), atom("mdat", make([]byte, 900))), audio.MP4, time.Second, false},
	{"mp4, frames that are longer than they must be", join(ftyp("isom"), atom("moov", trak(1, "soun", clock("mdhd", 8000, 9), stsd("mp4a"), stts(10, 1024), stsz(10))), atom("mdat", make([]byte, 900))), audio.MP4, 1280 * time.Millisecond, true},
	{"mp4, frames of which nothing is known", join(ftyp("isom"), atom("moov", trak(1, "soun", clock("mdhd", 8000, 9), stsd("alac"), stts(100, 8), stsz(100))), atom("mdat", make([]byte, 900))), audio.MP4, 100 * time.Millisecond, true},

	{"webm, packets of Opus that claim no time at all", ebml(element(0x18538067, webmTracks(audioTrack(1, element(0x86, []byte("A_OPUS")))), element(0x1f43b675, at(0),
		opusBlock(0, 0x18),         // 60 ms of SILK
		opusBlock(0, 0x69),         // two of 20 ms, hybrid
		opusBlock(0, 0xe2),         // two of 2.5 ms, CELT
		opusBlock(0, 0xfb, 5),      // five of 20 ms
		opusBlock(2, 3, 9, 9, 9))), // four in a lace
	), audio.WebM, 215 * time.Millisecond, true},
	{"webm, tracks that say how long frames last", ebml(element(0x18538067, webmInfo(1e6, element(0x4489, float64Bytes(9000))), webmTracks(audioTrack(1, element(0x23e383, be32(20e6)))), element(0x1f43b675, at(100), simpleBlock(1, 0), simpleBlock(1, 20), simpleBlock(1, 40)))), audio.WebM, 60 * time.Millisecond, true},
	{"webm, live: of unknown length", ebml(endless(0x18538067, webmInfo(1e6, nil), webmTracks(audioTrack(1)), element(0xec, make([]byte, 100)), endless(0x1f43b675, at(0), simpleBlock(1, 0), simpleBlock(1, 20)), endless(0x1f43b675, at(1000), simpleBlock(1, -20), simpleBlock(1, 0)))), audio.WebM, 1020 * time.Millisecond, true},
	{"webm, groups, another scale, and pictures that last longer", ebml(element(0x18538067, webmInfo(1e5, nil), webmTracks(element(0xae, element(0xd7, []byte{1}), element(0x83, []byte{1})), audioTrack(2)), element(0x1f43b675, at(0), element(0xa0, element(0xa1, block(2, 0)), element(0x9b, be32(100))), element(0xa0, element(0xa1, block(2, 100)), element(0x9b, be32(300))), simpleBlock(1, 30000)))), audio.WebM, 40 * time.Millisecond, true},
	{"webm, no blocks: the claim", ebml(element(0x18538067, webmInfo(1e6, element(0x4489, float64Bytes(750))), webmTracks(audioTrack(1)), element(0xec, make([]byte, 200)))), audio.WebM, 750 * time.Millisecond, false},
	{"webm, a claim of four bytes", ebml(element(0x18538067, webmInfo(1e6, element(0x4489, []byte{0x43, 0xfa, 0, 0})), webmTracks(audioTrack(1)), element(0xec, make([]byte, 200)))), audio.WebM, 500 * time.Millisecond, false},

	{"flac, frames of all sizes and rates", join(flacHead(16000, 99, 0), []byte{0x81, 0, 1, 0}, make([]byte, 256),
		flacFrame(0x10, 0x08, 0),                         // 192 samples
		flacFrame(0x35, 0x08, 1),                         // 1152, of 16 kHz
		flacFrame(0x64, 0x08, 2, 159),                    // 160, of 8 kHz
		flacFrame(0x7d, 0x08, 3, 0x1f, 0x3f, 0x1f, 0x40), // 8000, of 8 kHz
		flacFrame(0xcc, 0x08, 0xc4, 0x80, 16)),           // 4096, of 16 kHz; a number of two bytes
		audio.FLAC, 12*time.Millisecond + 72*time.Millisecond + 20*time.Millisecond + time.Second + 256*time.Millisecond, true},
	{"flac, bytes that look like frames and are none", join(flacHead(16000, 0, 0x80), flacFrame(0x35, 0x08, 0), []byte{0xff, 0xf8, 0x35, 0x08, 0, 1}, []byte{0xff, 0xf8}, flacFrame(0x35, 0x09, 0), flacFrame(0x35, 0xb8, 0), flacFrame(0x0d, 0x08, 0, 0, 1)), audio.FLAC, 72 * time.Millisecond, true},
	{"flac, no frames: the claim", join(flacHead(16000, 8000, 0x80), make([]byte, 200)), audio.FLAC, 500 * time.Millisecond, false},
	{"flac, nor that: what its size can bear", join(flacHead(16000, 0, 0x80), make([]byte, 208)), audio.FLAC, time.Second, false},

	{"ogg, packets of Opus, whatever the pages claim", join(oggOpus(7), oggPage(0, 7, 5, opus(10)...), oggPage(4, 7, 6, opus(5)...)), audio.OGG, 300 * time.Millisecond, true},
	{"ogg, a packet over the border of pages", join(oggOpus(7), oggPage(oggOpen, 7, 0, append(opus(2), make([]byte, 255))...), oggPage(oggRest, 7, 0, append([][]byte{make([]byte, 9)}, opus(2)...)...)), audio.OGG, 90 * time.Millisecond, true},
	{"ogg, recordings one after the other, of streams at the same time", join(oggPage(oggBOS, 1, 0, []byte("\x80theora")), oggOpus(2), oggPage(0, 1, 9, make([]byte, 99)), oggPage(0, 2, 0, opus(10)...), oggOpus(2), oggPage(0, 2, 0, opus(20)...)), audio.OGG, 600 * time.Millisecond, true},
	{"ogg, junk and a page that is broken between", join(oggOpus(7), oggPage(0, 7, 0, opus(10)...), []byte("OggS junk OggS"), broken(oggPage(0, 7, 0, opus(10)...)), oggPage(0, 7, 0, opus(10)...)), audio.OGG, 400 * time.Millisecond, true},
	{"ogg, audio in a page that claims to be longer than it is", join(oggOpus(7), broken(oggPage(0, 7, 0, make([]byte, 150))[:28+150-41*3]), oggPage(0, 7, 0, opus(10)...)), audio.OGG, 200 * time.Millisecond, true},
	{"ogg, cut", join(oggOpus(7), oggPage(0, 7, 0, opus(10)...), oggPage(0, 7, 0, opus(10)...)[:100]), audio.OGG, 200 * time.Millisecond, true},
	{"ogg, Vorbis: the positions of pages", join(oggVorbis(7), oggPage(0, 7, 8000, opus(20)...)), audio.OGG, 500 * time.Millisecond, false},
	{"ogg, Vorbis: less than its packets have", join(oggVorbis(7), oggPage(0, 7, 1, opus(20)...)), audio.OGG, 144 * time.Millisecond, false},
	{"ogg, Vorbis: more than its packets can have", join(oggVorbis(7), oggPage(0, 7, 1, opus(1)...), oggPage(0, 7, 1<<62, opus(1)...)), audio.OGG, 128 * time.Millisecond, false},
	{"ogg, Vorbis of a live recording", join(oggVorbis(7), oggPage(0, 7, 1_000_000, opus(10)...), oggPage(0, 7, 1_006_000, opus(10)...)), audio.OGG, 1015 * time.Millisecond, false},
	{"ogg, a header and no audio: what its size can bear", join(oggOpus(7), make([]byte, 167)), audio.OGG, time.Second, false},

	{"mpeg, frames over the borders of packets", join(pack(), packet(0xbb, nil, make([]byte, 6)), packet(0xe0, stamp(0), make([]byte, 50)), packet(0xc0, stamp(0), silentFrames(mpeg1Layer2, 10)[:500]), pack(), packet(0xc0, stamp(0), silentFrames(mpeg1Layer2, 10)[500:]), packet(0xc1, stamp(0), silentFrames(mpeg1Layer2, 10))), audio.MPEG, 240 * time.Millisecond, true},
	{"mpeg, MPEG-1 with stuffing", join([]byte{0, 0, 1, 0xba, 0x21, 0, 1, 0, 1, 0x80, 0, 1}, packet(0xc0, join([]byte{0xff, 0xff, 0x40, 0x20}, stampBytes(2, 0)), silentFrames(mpeg1Layer2, 5)), packet(0xc0, join(stampBytes(3, 0), stampBytes(1, 0)), silentFrames(mpeg1Layer2, 5)), packet(0xc0, []byte{0x0f}, silentFrames(mpeg1Layer2, 5))), audio.MPEG, 360 * time.Millisecond, true},
	{"mpeg, sound that only has stamps", join(pack(), packet(0xbd, stamp(1<<33-45000), join([]byte{0x80}, make([]byte, 100))), packet(0xbd, stamp(0), join([]byte{0x20}, make([]byte, 100))), packet(0xbd, stamp(0), join([]byte{0x80}, make([]byte, 200)))), audio.MPEG, time.Second, false},
}

func TestProbe(t *testing.T) {
	t.Parallel()
	for _, c := range generated {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := probe(t, c.file)
			got.Duration = got.Duration.Truncate(time.Microsecond)
			if want := (audio.Info{Format: c.format, Duration: c.want, Exact: c.exact}); got != want {
				t.Errorf("%v, want %v", got, want)
			}
		})
	}
}

// Recordings that ffmpeg made; the times are what their players play, with what encoders add.
func TestProbeRecordings(t *testing.T) {
	t.Parallel()
	want := map[string]audio.Info{
		"pcm.wav":        {Format: audio.WAV, Duration: 500 * time.Millisecond, Exact: true},
		"extensible.wav": {Format: audio.WAV, Duration: 200 * time.Millisecond, Exact: true},
		"streamed.wav":   {Format: audio.WAV, Duration: 500 * time.Millisecond, Exact: true},
		"adpcm.wav":      {Format: audio.WAV, Duration: 1020500 * time.Microsecond, Exact: true},
		"mp3.wav":        {Format: audio.WAV, Duration: 1584 * time.Millisecond, Exact: true},
		"cbr.mp3":        {Format: audio.MP3, Duration: 2037551 * time.Microsecond, Exact: true},
		"vbr.mp3":        {Format: audio.MP3, Duration: 3056326 * time.Microsecond, Exact: true},
		"mpeg25.mp3":     {Format: audio.MP3, Duration: 2160 * time.Millisecond, Exact: true},
		"layer2.mpga":    {Format: audio.MPGA, Duration: 1512 * time.Millisecond, Exact: true},
		"plain.m4a":      {Format: audio.M4A, Duration: 1264 * time.Millisecond, Exact: true},
		"faststart.m4a":  {Format: audio.M4A, Duration: 1264 * time.Millisecond, Exact: true},
		"alac.m4a":       {Format: audio.M4A, Duration: 300 * time.Millisecond, Exact: true},
		"fragmented.mp4": {Format: audio.MP4, Duration: 2064 * time.Millisecond, Exact: true},
		"video.mp4":      {Format: audio.MP4, Duration: 1564 * time.Millisecond, Exact: true},
		"opus.webm":      {Format: audio.WebM, Duration: 2021 * time.Millisecond, Exact: true},
		"vorbis.webm":    {Format: audio.WebM, Duration: 1056 * time.Millisecond, Exact: true},
		"live.webm":      {Format: audio.WebM, Duration: 1521 * time.Millisecond, Exact: true},
		"system.mpeg":    {Format: audio.MPEG, Duration: 1008 * time.Millisecond, Exact: true},
		"pack.mpeg":      {Format: audio.MPEG, Duration: 1008 * time.Millisecond, Exact: true},
		"ac3.mpeg":       {Format: audio.MPEG, Duration: 1024 * time.Millisecond},
		"plain.flac":     {Format: audio.FLAC, Duration: 1500 * time.Millisecond, Exact: true},
		"streamed.flac":  {Format: audio.FLAC, Duration: 500 * time.Millisecond, Exact: true},
		"voice.ogg":      {Format: audio.OGG, Duration: 2040 * time.Millisecond, Exact: true},
		"music.ogg":      {Format: audio.OGG, Duration: 1502500 * time.Microsecond, Exact: true},
		"video.ogg":      {Format: audio.OGG, Duration: 1020 * time.Millisecond, Exact: true},
		"speex.ogg":      {Format: audio.OGG, Duration: 1500 * time.Millisecond, Exact: true},
		"flac.ogg":       {Format: audio.OGG, Duration: 1500 * time.Millisecond, Exact: true},
		"vorbis.ogg":     {Format: audio.OGG, Duration: 1500 * time.Millisecond},
		"chained.ogg":    {Format: audio.OGG, Duration: 4080 * time.Millisecond, Exact: true},
	}
	for name, file := range recordings(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := probe(t, file)
			got.Duration = got.Duration.Truncate(time.Microsecond)
			if got != want[name] {
				t.Errorf("%v, want %v", got, want[name])
			}
		})
	}
}

func TestProbeRefuses(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, says string
		file       []byte
	}{
		{"nothing", "empty", nil},
		{"text", "formats", []byte("Once upon a time there was a river.")},
		{"an unfinished header", "formats", []byte{0xff, 0xfb}},
		{"flac that ends within its first block", "no audio", flacHead(16000, 0, 0x80)[:40]},
		{"flac that begins with another block", "no audio", join([]byte("fLaC\x04\x00\x00\x22"), make([]byte, 34))},
		{"flac without a rate", "no audio", join(flacHead(0, 0, 0x80), flacFrame(0x35, 0x08, 0))},
		{"ogg with pictures only", "no audio", join(oggPage(oggBOS, 1, 0, []byte("\x80theora")), oggPage(0, 1, 9, make([]byte, 99)))},
		{"ogg of nothing but pages that are none", "too many parts", bytes.Repeat(broken(oggPage(0, 1, 0, make([]byte, 300)))[:28], 3000)},
		{"aac without a container", "formats", bytes.Repeat([]byte{0xff, 0xf1, 0x50, 0x80, 0x02, 0x1f, 0xfc}, 100)},
		{"a tag and nothing behind", "formats", id3(500)},
		{"a tag that claims to be longer than the file", "formats", id3(1 << 27)[:600]},
		{"wav that ends before its sound", "no audio", riff(pcm8)},
		{"wav of samples without bits", "no format chunk", riff(waveFormat(1, 1, 0, 0, 0), data(10))},
		{"wav without a format", "no format chunk", riff(data(10))},
		{"wav of nothing but chunks", "too many parts", riff(bytes.Repeat(chunk("JUNK", 0, nil), 20_000))},
		{"mp4 with pictures only", "no audio", join(ftyp("isom"), atom("moov", trak(1, "vide", clock("mdhd", 10, 90), stts(90, 1))))},
		{"mp4 that is a picture", "no audio", join(ftyp("heic"), atom("meta", make([]byte, 40)))},
		{"mp4 of nothing but boxes", "too many parts", join(ftyp("isom"), bytes.Repeat(atom("free"), 1<<20+1))},
		{"mp4 of nothing but tracks", "too many parts", join(ftyp("isom"), atom("moov", bytes.Repeat(trak(1, "soun", clock("mdhd", 8000, 9)), 100)))},
		{"webm with pictures only", "no audio", ebml(element(0x18538067, webmTracks(element(0xae, element(0xd7, []byte{1}), element(0x83, []byte{1}))), element(0x1f43b675, at(0), simpleBlock(1, 0))))},
		{"webm of nothing but elements", "too many parts", ebml(endless(0x18538067, webmTracks(audioTrack(1)), bytes.Repeat([]byte{0xec, 0x80}, 1<<22)))},
		{"mpeg with pictures only", "no audio", join(pack(), packet(0xe0, stamp(0), make([]byte, 50)))},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := audio.Probe(bytes.NewReader(c.file), int64(len(c.file)))
			f := fault.From(err)
			if f == nil || f.Kind != fault.Invalid || f.Param != "file" || !strings.Contains(f.Public, c.says) {
				t.Errorf("%v, want invalid_request about the file that says %q", err, c.says)
			}
		})
	}
}

// hostile are files of a few hundred bytes that claim centuries, gigabytes or tables without end.
var hostile = []struct {
	name string
	file []byte
}{
	{"mp4, a table of one entry with all samples there can be", join(ftyp("isom"), atom("moov", trak(1, "soun", clock("mdhd", 1, 0), stts(unknown32, unknown32, unknown32, unknown32))))},
	{"mp4, a table with more entries than bytes", join(ftyp("isom"), atom("moov", trak(1, "soun", clock("mdhd", 8000, 0), fullAtom("stts", 0, 0, be32(unknown32), be32(1), be32(1)))))},
	{"mp4, a run of all samples there can be", join(ftyp("isom"), atom("moov", trak(1, "soun", clock("mdhd", 1, 0)), atom("mvex", trex(1, unknown32))), bytes.Repeat(moof(fullAtom("tfhd", 0, 0, be32(1)), fullAtom("trun", 0, 0, be32(unknown32))), 9))},
	{"mp4, a run longer than its box", join(ftyp("isom"), atom("moov", trak(1, "soun", clock("mdhd", 1, 0))), moof(fullAtom("tfhd", 0, 0, be32(1)), fullAtom("trun", 0, 0xf05, be32(unknown32))))},
	{"mp4, claims of centuries", join(ftyp("isom"), atom("moov", clock64("mvhd", 1, 1<<62), trak(1, "soun", clock64("mdhd", 1, 1<<62))))},
	{"mp4, a box of 2^64-1 bytes", join(ftyp("isom"), atom("moov", trak(1, "soun", clock("mdhd", 1, 0))), be32(1), []byte("mdat"), be64(1<<64-1))},
	{"wav, a rate of one byte a second", riff(waveFormat(0x42, 1, 0, 1, 1), data(1000))},
	{"wav, a chunk that claims 4 GiB", join([]byte("RIFF"), le32(1), []byte("WAVE"), pcm8, []byte("LIST"), le32(unknown32-1), data(9))},
	{"webm, times at both ends of what there is", ebml(element(0x18538067, webmInfo(unknown32, nil), webmTracks(audioTrack(1)), element(0x1f43b675, at(0), simpleBlock(1, 0)), element(0x1f43b675, element(0xe7, be64(1<<64-1)), simpleBlock(1, 32767))))},
	{"webm, a claim that is no number", ebml(element(0x18538067, webmInfo(1e6, element(0x4489, float64Bytes(0)[:0], be64(0x7ff8000000000001))), webmTracks(audioTrack(1))))},
	{"webm, a claim without end", ebml(element(0x18538067, webmInfo(1e6, element(0x4489, be64(0x7ff0000000000000))), webmTracks(audioTrack(1))))},
	{"webm, elements of lengths past the file", join(ebml(nil), endless(0x18538067, webmTracks(audioTrack(1)), elementID(0x1f43b675), []byte{0x01, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe}))},
	{"mp3, a tag of 256 MiB", join(id3(1 << 27)[:10], silentFrames(mpeg1Layer3, 3))},
	{"flac, frames of all samples there can be", join(flacHead(1<<20-1, 1<<36-1, 0x80), bytes.Repeat(flacFrame(0x70, 0x08, 0, 0xff, 0xff), 99))},
	{"flac, a claim at the lowest rate", flacHead(1, 1<<36-1, 0x80)},
	{"flac, blocks of nothing", join(flacHead(16000, 0, 0), make([]byte, 1<<16))},
	{"ogg, nothing but marks", bytes.Repeat([]byte("OggS"), 10_000)},
	{"ogg, streams without end", bytes.Repeat(oggOpus(7), 1000)},
	{"ogg, streams at the same time without end", join(bytes.Repeat(oggPage(oggBOS, 1, 0, []byte("OpusHead")), 1000), oggPage(0, 1, 0, opus(3)...))},
	{"ogg, Vorbis of positions without end", join(oggVorbis(1), oggPage(0, 1, 1<<64-2, opus(200)...))},
	{"ogg, Speex of frames without end", join(oggPage(oggBOS, 1, 0, join([]byte("Speex   "), make([]byte, 28), le32(1<<32-1), make([]byte, 24), le32(1<<32-1), le32(1<<32-1))), oggPage(0, 1, 0, opus(200)...))},
	{"mpeg, a packet longer than the file", join(pack(), []byte{0, 0, 1, 0xc0, 0xff, 0xff, 0x80})},
	{"mpeg, packets of nothing", join(pack(), bytes.Repeat([]byte{0, 0, 1, 0xbd, 0, 0}, 1000))},
	{"mpeg, nothing but start codes", join(pack(), bytes.Repeat([]byte{0, 0, 1, 0}, 1000))},
}

func TestHostileFilesAreBounded(t *testing.T) {
	t.Parallel()
	for _, c := range hostile {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			mustBeBounded(t, c.file)
		})
	}
}

// Uploads break off; whatever is left must be read as any other file.
func TestCutFilesAreBounded(t *testing.T) {
	t.Parallel()
	for name, file := range recordings(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for n := 0; n < len(file); n += 1 + n/100 {
				mustBeBounded(t, file[:n])
			}
		})
	}
}

// A file's size bounds what is read of it, and nothing in it what is kept. Not parallel, because it counts what all of the program allocates.
func TestProbeAllocatesLittle(t *testing.T) {
	const bound = 64 << 10
	large := join(ftyp("isom"), atom("moov", trak(1, "soun", clock("mdhd", 8000, 0), stts(slicesOf(1, 1<<20)...))), atom("mdat", make([]byte, 8<<20)))
	files := map[string][]byte{"a table of a million": large, "many frames": silentFrames(mpeg1Layer1, 1<<18)}
	for _, c := range hostile {
		files[c.name] = c.file
	}
	for name, file := range files {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _ = audio.Probe(bytes.NewReader(file), int64(len(file)))
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > bound {
			t.Errorf("%s: %d bytes allocated, want at most %d", name, n, bound)
		}
	}
}

// broken is a page whose check sum is wrong.
func broken(page []byte) []byte {
	page = bytes.Clone(page)
	page[22] ^= 1
	return page
}

func slicesOf(n uint32, times int) []uint32 {
	all := make([]uint32, times)
	for i := range all {
		all[i] = n
	}
	return all
}

func TestProbeReportsUnreadableFile(t *testing.T) {
	t.Parallel()
	broken := errors.New("disk on fire")
	for _, c := range generated {
		for _, after := range []int64{0, 11, 40, 300} {
			if int64(len(c.file)) <= after {
				continue
			}
			_, err := audio.Probe(failing{bytes.NewReader(c.file), after, broken}, int64(len(c.file)))
			if !fault.Is(err, fault.Internal) || !errors.Is(err, broken) {
				t.Errorf("%s, broken after %d bytes: %v", c.name, after, err)
			}
		}
	}
}

// failing reads the bytes before after.
type failing struct {
	r     io.ReaderAt
	after int64
	err   error
}

func (f failing) ReadAt(p []byte, pos int64) (int, error) {
	if pos+int64(len(p)) <= f.after {
		return f.r.ReadAt(p, pos)
	}
	n, _ := f.r.ReadAt(p[:max(f.after-pos, 0)], pos)
	return n, f.err
}

func TestLongest(t *testing.T) {
	t.Parallel()
	cases := map[int64]time.Duration{-1: 0, 0: 0, 250: time.Second, 26214400: 29*time.Hour + 7*time.Minute + 37600*time.Millisecond, 1 << 62: 1<<63 - 1}
	for size, want := range cases {
		if got := audio.Longest(size); got != want {
			t.Errorf("of %d bytes: %v, want %v", size, got, want)
		}
	}
}

func TestFormats(t *testing.T) {
	t.Parallel()
	var names []string
	for _, f := range audio.Formats() {
		names = append(names, f.String())
		if got, ok := audio.ByFileName("a.b/tape." + strings.ToUpper(f.String())); !ok || got != f {
			t.Errorf("a file named like %s is %v", f, got)
		}
		if got, ok := audio.ByMIMEType(f.MIMEType()); !ok || got.MIMEType() != f.MIMEType() && f != audio.M4A {
			t.Errorf("%s of %s is %v", f.MIMEType(), f, got)
		}
	}
	if got := strings.Join(names, " "); got != "flac mp3 mp4 mpeg mpga m4a ogg wav webm" {
		t.Error(got)
	}
	for _, name := range []string{"", "mp3", "tape.", "tape.amr", "tape.aac", ".mp3.txt"} {
		if got, ok := audio.ByFileName(name); ok {
			t.Errorf("%q is %v", name, got)
		}
	}
	for _, name := range []string{"voice.oga", "voice.OPUS", "voice.ogg"} { // those of Telegram and WhatsApp
		if got, ok := audio.ByFileName(name); !ok || got != audio.OGG {
			t.Errorf("%q is %v", name, got)
		}
	}
	for mediaType, want := range map[string]audio.Format{"Audio/X-M4A": audio.M4A, "audio/webm; codecs=opus": audio.WebM, "audio/flac": audio.FLAC, "audio/x-flac": audio.FLAC, "audio/ogg; codecs=opus": audio.OGG, "application/ogg": audio.OGG, "audio/opus": audio.OGG, "audio/amr": 0, "": 0} {
		if got, _ := audio.ByMIMEType(mediaType); got != want {
			t.Errorf("%q is %v, want %v", mediaType, got, want)
		}
	}
	if none := audio.Format(200); none.String() != "" || none.MIMEType() != "" || audio.Format(0).MIMEType() != "" {
		t.Error("there are more formats than there are")
	}
}

func FuzzProbe(f *testing.F) {
	for _, c := range generated {
		if len(c.file) < 20_000 {
			f.Add(c.file)
		}
	}
	for _, c := range hostile {
		f.Add(c.file)
	}
	for _, file := range recordings(f) {
		f.Add(file)
	}
	f.Fuzz(func(t *testing.T, file []byte) { mustBeBounded(t, file) })
}

// mustBeBounded probes a file of any content and checks what holds of all.
func mustBeBounded(t *testing.T, file []byte) {
	t.Helper()
	size := int64(len(file))
	r := &counting{r: bytes.NewReader(file)}
	info, err := audio.Probe(r, size)
	if most := 4*size + 1<<18; r.read > most {
		t.Errorf("%d bytes read of %d", r.read, size)
	}
	if err != nil {
		if f := fault.From(err); f.Kind != fault.Invalid || f.Public == "" || info != (audio.Info{}) {
			t.Errorf("%v with %v", info, err)
		}
		return
	}
	if info.Format.String() == "" || info.Duration < 0 || info.Duration > audio.Longest(size) {
		t.Errorf("%v for %d bytes", info, size)
	}
}

type counting struct {
	r    io.ReaderAt
	read int64
}

func (c *counting) ReadAt(p []byte, pos int64) (int, error) {
	n, err := c.r.ReadAt(p, pos)
	c.read += int64(n)
	return n, err
}

func probe(t *testing.T, file []byte) audio.Info {
	t.Helper()
	mustBeBounded(t, file)
	info, err := audio.Probe(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// recordings are the files in testdata.
func recordings(t testing.TB) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for _, f := range audio.Formats() {
		paths, err := filepath.Glob(filepath.Join("testdata", "*."+f.String()))
		if err != nil || len(paths) == 0 {
			t.Fatalf("no recording in %s", f)
		}
		for _, path := range paths {
			file, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			files[filepath.Base(path)] = file
		}
	}
	return files
}
