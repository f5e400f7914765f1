package sim

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"image"
	_ "image/gif"  // so that sizes of GIF images in prompts are known
	_ "image/jpeg" // and of JPEG
	_ "image/png"  // and of PNG
	"strconv"
	"strings"
)

// medium is one part of a prompt that is not text.
type medium struct {
	kind          string // image, audio, file, video
	format        string // "png", "wav", ...; "" unknown
	name          string // of a file
	url           string // where it lies, when it was not sent along
	low           bool   // image: asked for in low detail
	bytes         int
	width, height int
	digest        digest
}

func (m *medium) String() string {
	return m.kind + " " + m.format + " " + m.name + m.url + " " + strconv.Itoa(m.bytes) + " " + hexOf(uint64(m.digest))
}

func (m *medium) in(l *language) string {
	s := map[string]string{"image": l.image, "audio": l.audio, "file": l.file, "video": l.video}[m.kind]
	if m.name != "" {
		s += " " + m.name
	}
	if m.format != "" {
		s += " " + m.format
	}
	if m.width > 0 {
		s += " " + strconv.Itoa(m.width) + "x" + strconv.Itoa(m.height)
	}
	if m.url != "" {
		return s + " (" + m.url + ")"
	}
	return s + " (" + strconv.Itoa(m.bytes) + " " + l.bytes + ")"
}

// The token rule for media: an image is 85 tokens in low detail and 765 otherwise, audio 1 per 1600 bytes, files and videos 1 per
// 1000 bytes; at least one, and 765 for what lies elsewhere.
func (m *medium) tokens() int {
	switch {
	case m.kind == "image" && m.low:
		return 85
	case m.kind == "image" || m.url != "":
		return 765
	case m.kind == "audio":
		return max(1, m.bytes/1600)
	}
	return max(1, m.bytes/1000)
}

// inline fills in a medium that was sent as base64; false when it is none.
func (m *medium) inline(encoded string) bool {
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(raw) == 0 {
		return false
	}
	m.bytes = len(raw)
	m.digest = newDigest
	m.digest.add(string(raw))
	if m.kind != "image" {
		return true
	}
	if c, format, err := image.DecodeConfig(bytes.NewReader(raw)); err == nil {
		m.width, m.height, m.format = c.Width, c.Height, format
	}
	return true
}

// located fills in a medium from a data URL or an http(s) URL; false when it is neither.
func (m *medium) located(url string) bool {
	if rest, ok := strings.CutPrefix(url, "data:"); ok {
		kind, data, ok := strings.Cut(rest, ",")
		kind, coded := strings.CutSuffix(kind, ";base64")
		if !ok || !coded {
			return false
		}
		if m.format == "" {
			kind, _, _ = strings.Cut(kind, ";")
			m.format = kind[strings.IndexByte(kind, '/')+1:]
		}
		return m.inline(data)
	}
	if !strings.HasPrefix(url, "http://") && !strings.HasPrefix(url, "https://") {
		return false
	}
	m.url = url
	return true
}

// picture is a PNG as a data URL, of 8 by 8 points unless told.
func picture(seed uint64, width, height int) string {
	if width == 0 {
		width, height = 8, 8
	}
	return "data:image/png;base64," + base64.StdEncoding.EncodeToString(paintPNG(width, height, false, seed))
}

// sound is a spoken answer: a tone of a tenth of a second, as bytes of the format.
type sound struct {
	id         string
	data       []byte
	transcript string
	expires    int64 // Unix seconds
}

const (
	sampleRate   = 24000
	soundSamples = sampleRate / 10
	soundTokens  = 2
)

func (s *sound) tokens() int { return soundTokens }

func speech(format, transcript string, seed uint64) *sound {
	var b bytes.Buffer
	if format == "wav" {
		header := struct {
			Riff                      [4]byte
			Size                      uint32
			Wave, Fmt                 [4]byte
			FmtSize                   uint32
			Coding, Channels          uint16
			Rate, BytesPerSecond      uint32
			BytesPerSample, BitsPerSm uint16
			Data                      [4]byte
			DataSize                  uint32
		}{
			[4]byte([]byte("RIFF")), 36 + 2*soundSamples, [4]byte([]byte("WAVE")), [4]byte([]byte("fmt ")),
			16, 1, 1, sampleRate, 2 * sampleRate, 2, 16, [4]byte([]byte("data")), 2 * soundSamples,
		}
		binary.Write(&b, binary.LittleEndian, &header) //nolint:errcheck // a buffer takes everything
	}
	half := 20 + int(seed%40) // samples in half a wave: a tone between 200 and 600 Hz
	for i := range soundSamples {
		v := int16(8000)
		if i/half%2 == 1 {
			v = -v
		}
		b.Write([]byte{byte(v), byte(uint16(v) >> 8)})
	}
	return &sound{id: "audio_" + hexOf(seed), data: b.Bytes(), transcript: transcript}
}

// kindOf settles kind and format of a medium by its MIME type; false when there is no such medium.
func (m *medium) kindOf(mime string) bool {
	kind, format, _ := strings.Cut(mime, "/")
	m.format, _, _ = strings.Cut(format, ";")
	switch kind {
	case "image", "audio", "video":
		m.kind = kind
	default:
		m.kind = "file"
		return kind == "text" || mime == "application/pdf" || mime == "application/json"
	}
	return true
}
