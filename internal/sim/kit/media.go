package kit

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

// Medium is one part of a prompt that is not text.
type Medium struct {
	Kind          string // image, audio, file, video
	Format        string // "png", "wav", ...; "" unknown
	Name          string // of a file
	URL           string // its address, when it was not sent inline
	Low           bool   // image: low detail was requested
	Bytes         int
	Width, Height int
	Digest        Digest
}

func (m *Medium) String() string {
	return m.Kind + " " + m.Format + " " + m.Name + m.URL + " " + strconv.Itoa(m.Bytes) + " " + HexOf(uint64(m.Digest))
}

func (m *Medium) in(l *Language) string {
	s := map[string]string{"image": l.image, "audio": l.audio, "file": l.file, "video": l.video}[m.Kind]
	if m.Name != "" {
		s += " " + m.Name
	}
	if m.Format != "" {
		s += " " + m.Format
	}
	if m.Width > 0 {
		s += " " + strconv.Itoa(m.Width) + "x" + strconv.Itoa(m.Height)
	}
	if m.URL != "" {
		return s + " (" + m.URL + ")"
	}
	return s + " (" + strconv.Itoa(m.Bytes) + " " + l.bytes + ")"
}

// Tokens applies the token rule for media: an image is 85 tokens in low detail and 765 otherwise, audio 1 per 1600 bytes, files and
// videos 1 per 1000 bytes; at least one, and 765 for a medium that is given by an address.
func (m *Medium) Tokens() int {
	switch {
	case m.Kind == "image" && m.Low:
		return 85
	case m.Kind == "image" || m.URL != "":
		return 765
	case m.Kind == "audio":
		return max(1, m.Bytes/1600)
	}
	return max(1, m.Bytes/1000)
}

// FromBase64 sets a medium from base64. It returns false when that is invalid or empty.
func (m *Medium) FromBase64(encoded string) bool {
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(raw) == 0 {
		return false
	}
	m.Bytes = len(raw)
	m.Digest = NewDigest
	m.Digest.Add(string(raw))
	if m.Kind != "image" {
		return true
	}
	if c, format, err := image.DecodeConfig(bytes.NewReader(raw)); err == nil {
		m.Width, m.Height, m.Format = c.Width, c.Height, format
	}
	return true
}

// FromURL sets a medium from a data URL or an http(s) URL. It returns false for anything else.
func (m *Medium) FromURL(url string) bool {
	if rest, ok := strings.CutPrefix(url, "data:"); ok {
		kind, data, ok := strings.Cut(rest, ",")
		kind, coded := strings.CutSuffix(kind, ";base64")
		if !ok || !coded {
			return false
		}
		if m.Format == "" {
			kind, _, _ = strings.Cut(kind, ";")
			m.Format = kind[strings.IndexByte(kind, '/')+1:]
		}
		return m.FromBase64(data)
	}
	if !strings.HasPrefix(url, "http://") && !strings.HasPrefix(url, "https://") {
		return false
	}
	m.URL = url
	return true
}

// pngURL returns a PNG as a data URL. A width of 0 makes it 8 by 8 pixels.
func pngURL(seed uint64, width, height int) string {
	if width == 0 {
		width, height = 8, 8
	}
	return "data:image/png;base64," + base64.StdEncoding.EncodeToString(encodePNG(width, height, false, seed))
}

// Audio is an answer as audio: a tone of a tenth of a second in some format.
type AudioAnswer struct {
	ID         string
	Data       []byte
	Transcript string
	Expires    int64 // Unix seconds
}

const (
	sampleRate   = 24000
	audioSamples = sampleRate / 10
	audioTokens  = 2
)

func (s *AudioAnswer) tokens() int { return audioTokens }

// NewSpeech is the audio of an answer in a format: a tone that depends on the seed.
func NewSpeech(format, transcript string, seed uint64) *AudioAnswer {
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
			[4]byte([]byte("RIFF")), 36 + 2*audioSamples, [4]byte([]byte("WAVE")), [4]byte([]byte("fmt ")),
			16, 1, 1, sampleRate, 2 * sampleRate, 2, 16, [4]byte([]byte("data")), 2 * audioSamples,
		}
		binary.Write(&b, binary.LittleEndian, &header) //nolint:errcheck // a buffer takes everything
	}
	half := 20 + int(seed%40) // samples in half a wave: a tone between 200 and 600 Hz
	for i := range audioSamples {
		v := int16(8000)
		if i/half%2 == 1 {
			v = -v
		}
		b.Write([]byte{byte(v), byte(uint16(v) >> 8)})
	}
	return &AudioAnswer{ID: "audio_" + HexOf(seed), Data: b.Bytes(), Transcript: transcript}
}

// SetType sets kind and format from a MIME type. It returns false for a type that is not supported.
func (m *Medium) SetType(mime string) bool {
	kind, format, _ := strings.Cut(mime, "/")
	m.Format, _, _ = strings.Cut(format, ";")
	switch kind {
	case "image", "audio", "video":
		m.Kind = kind
	default:
		m.Kind = "file"
		return kind == "text" || mime == "application/pdf" || mime == "application/json"
	}
	return true
}
