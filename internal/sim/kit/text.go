package kit

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Random is splitmix64: small, and equal on every machine and in every release.
type Random uint64

// Next returns the next random number.
func (r *Random) Next() uint64 {
	*r += 0x9e3779b97f4a7c15
	z := uint64(*r)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// Below returns a number from 0 to n-1; 0 for n below 1.
func (r *Random) Below(n int) int {
	if n < 1 {
		return 0
	}
	return int(r.Next() % uint64(n))
}

func (r *Random) pick(from []string) string { return from[r.Below(len(from))] }

// Digest is an FNV-1a hash of the parts of a request.
type Digest uint64

// NewDigest is the digest of no parts, to begin with.
const NewDigest Digest = 14695981039346656037

// Add adds one piece.
func (d *Digest) Add(s string) {
	h := uint64(*d)
	for i := 0; i < len(s); i++ {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	// the separator makes "ab","c" differ from "a","bc"
	*d = Digest((h ^ 0xff) * 1099511628211)
}

// lettersPerToken is part of the token rule, on which all counts depend: a token is up to six letters or digits with at most one space
// before them, one character of a script that is written without spaces, or one other character.
const lettersPerToken = 6

// TokenEnd returns the length in bytes of the first token of s, 0 for an empty s.
func TokenEnd(s string) int {
	if s == "" {
		return 0
	}
	i := 0
	if s[0] == ' ' {
		r, _ := utf8.DecodeRuneInString(s[1:])
		if !Letter(r) {
			return 1
		}
		i = 1
	}
	for n := 0; n < lettersPerToken && i < len(s); n++ {
		r, size := utf8.DecodeRuneInString(s[i:])
		if !Letter(r) {
			if n == 0 {
				return i + size
			}
			break
		}
		i += size
	}
	return i
}

// Letter reports whether a character is a letter or digit of a script with spaces between words.
func Letter(r rune) bool {
	if r < utf8.RuneSelf {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
	}
	return (unicode.IsLetter(r) || unicode.IsDigit(r)) && !spaceless(r)
}

func spaceless(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana)
}

// CountTokens counts a text by the token rule.
func CountTokens(s string) int {
	n := 0
	for s != "" {
		s = s[TokenEnd(s):]
		n++
	}
	return n
}

// CutTokens returns the first n tokens of s and whether something was cut off.
func CutTokens(s string, n int) (string, bool) {
	rest := s
	for ; n > 0 && rest != ""; n-- {
		rest = rest[TokenEnd(rest):]
	}
	return s[:len(s)-len(rest)], rest != ""
}

// Language holds the parts of texts. Subjects, verbs and objects fit in any combination.
type Language struct {
	about, thinking, results, given      string
	refusal                              string
	subjects, Verbs, objects             []string
	image, audio, file, video, bytes     string
	Space, Stop, comma, quoteIn, quotOut string
}

// English is the language of answers to prompts in Latin letters.
var English = Language{
	about: "You wrote", thinking: "Let me think about it", results: "The tools returned", given: "I was given",
	refusal:  "I cannot help with that.",
	subjects: []string{"a quiet river", "the old weir", "the miller", "a grey heron", "the morning mist", "every small stream", "the lock keeper", "a wooden boat", "the spring flood", "the upper pond"},
	Verbs:    []string{"carries", "measures", "steers", "follows", "remembers", "holds back", "lets through", "quietly changes", "slowly fills", "always finds"},
	objects:  []string{"the cold water", "the mill wheel", "the long way to the sea", "a handful of leaves", "the level of the pond", "the evening light", "the narrow channel", "every drop", "the stones of the bank", "the next bend"},
	image:    "image", audio: "audio", file: "file", video: "video", bytes: "bytes",
	Space: " ", Stop: ".", comma: ", ", quoteIn: `"`, quotOut: `"`,
}

// Russian is the language of answers to prompts in Cyrillic letters.
var Russian = Language{
	about: "Вы написали", thinking: "Сначала подумаю", results: "Инструменты вернули", given: "Мне передали",
	refusal:  "С этим я помочь не могу.",
	subjects: []string{"тихая река", "старая плотина", "мельник", "серая цапля", "утренний туман", "каждый ручей", "смотритель шлюза", "деревянная лодка", "весенний паводок", "верхний пруд"},
	Verbs:    []string{"несёт", "измеряет", "направляет", "помнит", "держит", "пропускает", "незаметно меняет", "медленно наполняет", "всегда находит", "огибает"},
	objects:  []string{"холодную воду", "мельничное колесо", "долгий путь к морю", "горсть листьев", "уровень пруда", "вечерний свет", "узкое русло", "каждую каплю", "камни на берегу", "новый поворот"},
	image:    "изображение", audio: "аудио", file: "файл", video: "видео", bytes: "байт",
	Space: " ", Stop: ".", comma: ", ", quoteIn: "«", quotOut: "»",
}

// Chinese is the language of answers to prompts in Chinese characters.
var Chinese = Language{
	about: "您写道", thinking: "让我想一想", results: "工具返回", given: "我收到了",
	refusal:  "我无法帮助您。",
	subjects: []string{"安静的河流", "古老的水坝", "磨坊主人", "灰色的苍鹭", "清晨的薄雾", "每一条小溪", "木船", "春天的洪水"},
	Verbs:    []string{"带走", "测量", "引导", "记住", "拦住", "放过", "慢慢改变", "总能找到"},
	objects:  []string{"冰冷的水", "水车", "通向大海的路", "几片树叶", "池塘的水位", "傍晚的光", "狭窄的水道", "每一滴水"},
	image:    "图片", audio: "音频", file: "文件", video: "视频", bytes: "字节",
	Space: "", Stop: "。", comma: "，", quoteIn: "“", quotOut: "”",
}

// languageOf chooses the language by the script of most letters.
func languageOf(s string) *Language {
	var latin, cyrillic, han int
	for _, r := range s {
		switch {
		case r < utf8.RuneSelf:
			if Letter(r) {
				latin++
			}
		case unicode.Is(unicode.Cyrillic, r):
			cyrillic++
		case unicode.Is(unicode.Han, r):
			han += 3 // one character carries about as much as three letters
		}
	}
	switch {
	case cyrillic > latin && cyrillic >= han:
		return &Russian
	case han > latin:
		return &Chinese
	}
	return &English
}

func capital(s string) string {
	r, size := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[size:]
}

func (l *Language) sentence(rnd *Random) string {
	return capital(rnd.pick(l.subjects)) + l.Space + rnd.pick(l.Verbs) + l.Space + rnd.pick(l.objects) + l.Stop
}

// Prose appends sentences to opening: two to five, or as many as make the given number of tokens (0: two to five).
func (l *Language) Prose(rnd *Random, opening string, tokens int) string {
	var b strings.Builder
	b.WriteString(opening)
	add := func() {
		if b.Len() > 0 {
			b.WriteString(l.Space)
		}
		b.WriteString(l.sentence(rnd))
	}
	if tokens <= 0 {
		for range 2 + rnd.Below(4) {
			add()
		}
		return b.String()
	}
	have := CountTokens(opening)
	for have < tokens {
		from := b.Len()
		add()
		have += CountTokens(b.String()[from:])
	}
	cut, _ := CutTokens(b.String(), tokens)
	return cut
}

// quote returns the start of a prompt in one line.
func (l *Language) quote(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if s == "" {
		return ""
	}
	if runes := []rune(s[:min(len(s), 400)]); len(runes) > 60 {
		s = string(runes[:60]) + "..."
	}
	return l.about + l.Space + l.quoteIn + s + l.quotOut + l.Stop
}

// Camel turns snake_case into camelCase.
func Camel(s string) string {
	for {
		i := strings.IndexByte(s, '_')
		if i <= 0 || i+1 == len(s) {
			return s
		}
		s = s[:i] + capital(s[i+1:])
	}
}
