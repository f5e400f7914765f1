package audio

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"math"
	"mime"
	"mime/multipart"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"

	"weir/internal/sim/kit"
)

// upload is one file of a multipart form.
type upload struct {
	name, kind string // as announced
	data       []byte
}

// form is a body of multipart/form-data. Names are without the brackets that lists have after theirs.
type form struct {
	values map[string][]string
	files  map[string][]upload
	names  []string // of the values, in the order of the form
}

// formed refuses what is no form, in words of the wire.
func formed(f kit.Refusal) func(*http.Request) *kit.Refusal {
	return func(r *http.Request) *kit.Refusal {
		kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
		if err != nil || kind != "multipart/form-data" || params["boundary"] == "" {
			return &f
		}
		return nil
	}
}

// anyType takes every content type: the body is bytes.
func anyType(*http.Request) *kit.Refusal { return nil }

// readForm reads a body; false when it is broken, or has no end.
func readForm(r *http.Request, body []byte) (*form, bool) {
	_, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		return nil, false
	}
	f := &form{values: map[string][]string{}, files: map[string][]upload{}}
	for parts := multipart.NewReader(bytes.NewReader(body), params["boundary"]); ; {
		p, err := parts.NextPart()
		if err == io.EOF {
			return f, true
		}
		if err != nil {
			return nil, false
		}
		data, err := io.ReadAll(p)
		if err != nil {
			return nil, false
		}
		name := strings.TrimSuffix(p.FormName(), "[]")
		if p.FileName() != "" {
			f.files[name] = append(f.files[name], upload{name: p.FileName(), kind: p.Header.Get("Content-Type"), data: data})
			continue
		}
		if f.values[name] == nil {
			f.names = append(f.names, name)
		}
		f.values[name] = append(f.values[name], string(data))
	}
}

// get is the last value of a name, "" without one.
func (f *form) get(name string) string {
	if all := f.values[name]; len(all) > 0 {
		return all[len(all)-1]
	}
	return ""
}

// sniff returns the format of a file by its first bytes: wav, mp3, mp4, webm, ogg, flac, mpeg; "" for others.
func sniff(b []byte) string {
	starts := func(at int, s string) bool { return len(b) >= at+len(s) && string(b[at:at+len(s)]) == s }
	switch {
	case starts(0, "RIFF") && starts(8, "WAVE"):
		return "wav"
	case starts(4, "ftyp"):
		return "mp4"
	case starts(0, "\x1a\x45\xdf\xa3") && bytes.Contains(b[:min(len(b), 64)], []byte("webm")):
		return "webm"
	case starts(0, "OggS"):
		return "ogg"
	case starts(0, "fLaC"):
		return "flac"
	case starts(0, "\x00\x00\x01\xba"):
		return "mpeg"
	case starts(0, "ID3"), len(b) >= 4 && b[0] == 0xff && b[1]&0xe0 == 0xe0 && b[1]&0x18 != 0x08 && b[1]&6 != 0 && b[2]&0xf0 != 0xf0 && b[2]&0x0c != 0x0c:
		return "mp3"
	}
	return ""
}

// containers lists which formats a file extension may contain.
var containers = map[string][]string{
	"flac": {"flac"}, "mp3": {"mp3"}, "mpga": {"mp3"}, "mpeg": {"mp3", "mpeg"}, "mp4": {"mp4"}, "m4a": {"mp4"}, "oga": {"ogg"}, "ogg": {"ogg"},
	"wav": {"wav"}, "webm": {"webm"},
}

// extension is what follows the last dot of a file's name, in lower case.
func extension(name string) string { return strings.ToLower(strings.TrimPrefix(path.Ext(name), ".")) }

// bytesPerSecond estimates the length of audio that is not WAV: 64 kbit/s.
const bytesPerSecond = 8000

// seconds returns the length of audio: from the header of a WAV file, else from the size; 0 for a WAV file without audio.
func seconds(data []byte) float64 {
	if sniff(data) != "wav" {
		return rounded(float64(len(data)) / bytesPerSecond)
	}
	rate, size := 0.0, 0.0
	for at := 12; at+8 <= len(data); {
		n := int64(binary.LittleEndian.Uint32(data[at+4:]))
		inside := data[at+8:]
		switch string(data[at : at+4]) {
		case "fmt ":
			if len(inside) >= 12 {
				rate = float64(binary.LittleEndian.Uint32(inside[8:]))
			}
		case "data":
			size = float64(min(n, int64(len(inside)))) // writers of streams announce more than comes
		}
		if n+n%2 > int64(len(inside)) {
			break
		}
		at += 8 + int(n+n%2)
	}
	if rate == 0 {
		return 0
	}
	return rounded(size / rate)
}

// rounded rounds seconds to milliseconds.
func rounded(x float64) float64 { return math.Round(x*1000) / 1000 }

// markedInside applies markers inside audio files, such as in a chunk of a WAV file or a tag of an MP3 file.
func markedInside(c *kit.Checker, data []byte) {
	for {
		at := bytes.Index(data, []byte(kit.MarkerStart))
		if at < 0 {
			return
		}
		data = data[at:]
		end := bytes.Index(data[:min(len(data), 4096)], []byte(kit.MarkerEnd))
		if end < 0 {
			return
		}
		c.StripMarkers(string(data[:end+len(kit.MarkerEnd)]), "file")
		data = data[end:]
	}
}

// timedWord is one word with its time in seconds.
type timedWord struct {
	text       string
	start, end float64
}

// utterance is one sentence of one speaker.
type utterance struct {
	text       string
	start, end float64
	speaker    int // 0, 1, 0, ...
	words      []timedWord
}

// transcript is what the simulator recognizes.
type transcript struct {
	code, name string // of the language: "en", "english"
	longCode   string // "eng"
	locale     string // "en-US"
	space      string
	text       string
	seconds    float64
	utterances []utterance
	seed       kit.Random
}

// audioLanguage is a language that the simulator recognizes.
type audioLanguage struct {
	*kit.Language
	code, name, longCode, locale string
}

var audioLanguages = []audioLanguage{
	{&kit.English, "en", "english", "eng", "en-US"}, {&kit.Russian, "ru", "russian", "rus", "ru-RU"}, {&kit.Chinese, "zh", "chinese", "zho", "zh-CN"},
}

// audioLanguageOf finds a language by any of its names; English for others.
func audioLanguageOf(name string) *audioLanguage {
	short, _, _ := strings.Cut(strings.ToLower(name), "-")
	for i := range audioLanguages {
		if t := &audioLanguages[i]; short == t.code || short == t.longCode || short == t.name {
			return t
		}
	}
	return &audioLanguages[0]
}

const (
	tokensPerSecond = 3
	mostRecognized  = 6000 // tokens
)

// recognize is deterministic: the same bytes in the same language give the same text on every wire.
func recognize(data []byte, language string, k *kit.Knobs) *transcript {
	t := audioLanguageOf(language)
	rnd := kit.Random(kit.Fingerprint(t.code, strconv.FormatUint(uint64(crc32.ChecksumIEEE(data)), 16), strconv.Itoa(len(data))) + k.Seed)
	out := &transcript{code: t.code, name: t.name, longCode: t.longCode, locale: t.locale, space: t.Space, seconds: seconds(data), seed: rnd}
	tokens := k.Tokens
	if tokens == 0 {
		tokens = min(max(tokensPerSecond, int(out.seconds*tokensPerSecond)), mostRecognized)
	}
	out.text = strings.TrimSpace(t.Prose(&rnd, "", tokens))
	words := 0
	for _, sentence := range strings.SplitAfter(out.text, t.Stop) {
		sentence = strings.TrimSpace(sentence)
		if sentence == "" {
			continue
		}
		u := utterance{text: sentence, speaker: len(out.utterances) % 2}
		pieces := strings.Fields(sentence)
		if t.Space == "" {
			pieces = strings.Split(sentence, "")
		}
		for _, s := range pieces {
			u.words = append(u.words, timedWord{text: s})
			words++
		}
		out.utterances = append(out.utterances, u)
	}
	out.time(words)
	return out
}

// time gives every word an equal share.
func (t *transcript) time(words int) {
	each, n := t.seconds/float64(max(1, words)), 0
	for i := range t.utterances {
		u := &t.utterances[i]
		for j := range u.words {
			u.words[j].start, u.words[j].end = rounded(each*float64(n)), rounded(each*(float64(n)+0.9))
			n++
		}
		u.start, u.end = u.words[0].start, rounded(each*float64(n))
	}
}

// words returns all words in order.
func (t *transcript) words() (all []timedWord) {
	for i := range t.utterances {
		all = append(all, t.utterances[i].words...)
	}
	return all
}

// pieces cuts a text into parts of the given number of tokens.
func pieces(s string, tokens int) (all []string) {
	for s != "" {
		piece, _ := kit.CutTokens(s, max(1, tokens))
		all = append(all, piece)
		s = s[len(piece):]
	}
	return all
}

// clock formats seconds for subtitles; point separates the milliseconds.
func clock(seconds float64, point string) string {
	ms := int(math.Round(seconds * 1000))
	two := func(n int) string { return string([]byte{byte('0' + n/10%10), byte('0' + n%10)}) }
	return two(ms/3_600_000) + ":" + two(ms/60_000%60) + ":" + two(ms/1000%60) + point + string([]byte{byte('0' + ms/100%10), byte('0' + ms/10%10), byte('0' + ms%10)})
}

// contains reports whether a file's content fits its extension.
func (u *upload) contains(extension string) bool {
	return slices.Contains(containers[extension], sniff(u.data))
}
