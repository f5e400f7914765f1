package bedrock

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"weir/internal/completion"
	"weir/internal/mediatype"
)

// formats are the formats that a block of each kind may have.
var formats = map[mediatype.Kind][]string{
	mediatype.Image:    {"png", "jpeg", "gif", "webp"},
	mediatype.Document: {"pdf", "csv", "doc", "docx", "xls", "xlsx", "html", "txt", "md"},
	mediatype.Audio:    {"mp3", "wav", "flac", "ogg", "opus", "aac", "m4a", "mp4", "webm"},
	mediatype.Video:    {"mp4", "mpeg", "mov", "webm", "mkv", "flv", "wmv", "3gp"},
}

// words are the formats that have another name on this wire.
var words = map[string]string{"3gp": "three_gp"}

// formatOf is the wire's name of a medium's format, "" when this wire does not take it.
func formatOf(kind mediatype.Kind, m *completion.Media) string {
	name := mediatype.Name(kind, m.Type)
	if mediatype.Generic(m.Type) && kind == mediatype.Document {
		name = strings.TrimPrefix(strings.ToLower(path.Ext(m.Name)), ".")
	}
	if slices.Contains(formats[kind], name) {
		return cmp.Or(words[name], name)
	}
	return ""
}

const maxNameBytes = 200

// documentName makes a name that this wire accepts: ASCII letters and digits, single spaces, hyphens and brackets (Amazon Bedrock API reference,
// DocumentBlock; other letters are refused). Russian letters become Latin ones, so that a model can tell the files apart.
func documentName(name string) string {
	if ext := path.Ext(name); len(ext) <= 6 && strings.IndexByte(ext, ' ') < 0 { // "v1.2 final" has none
		name = strings.TrimSuffix(name, ext)
	}
	out := make([]byte, 0, len(name))
	for _, r := range name {
		letters := " "
		switch low := unicode.ToLower(r); {
		case r < 0x80 && (letter(byte(r)) || strings.IndexByte("-()[]", byte(r)) >= 0):
			letters = string(r)
		case cyrillic[low] != "" && low != r:
			letters = strings.ToUpper(cyrillic[low][:1]) + cyrillic[low][1:]
		case cyrillic[low] != "":
			letters = cyrillic[low]
		case silent[low]:
			continue
		}
		if letters == " " && (len(out) == 0 || out[len(out)-1] == ' ') {
			continue
		}
		if out = append(out, letters...); len(out) > maxNameBytes-8 { // a number may follow
			break
		}
	}
	if name = strings.TrimRight(string(out), " "); name == "" {
		return "document"
	}
	return name
}

func letter(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// cyrillic has the Latin letters of Russian ones.
var cyrillic = map[rune]string{
	'а': "a", 'б': "b", 'в': "v", 'г': "g", 'д': "d", 'е': "e", 'ё': "yo", 'ж': "zh", 'з': "z", 'и': "i", 'й': "y", 'к': "k", 'л': "l", 'м': "m", 'н': "n", 'о': "o", 'п': "p",
	'р': "r", 'с': "s", 'т': "t", 'у': "u", 'ф': "f", 'х': "kh", 'ц': "ts", 'ч': "ch", 'ш': "sh", 'щ': "shch", 'ы': "y", 'э': "e", 'ю': "yu", 'я': "ya",
}

// silent are characters that leave nothing: the signs of Russian words, and what is combined with the letter before it.
var silent = map[rune]bool{'ъ': true, 'ь': true, 0x301: true, 0x306: true, 0x308: true}

// names are the names of a request's documents, in lower case: two with one name are refused. A name depends on the documents before it alone, so
// that it stays as it is when the conversation goes on.
type names map[string]bool

// unused adds a number to a name that is taken.
func (n *names) unused(name string) string {
	if *n == nil {
		*n = names{}
	}
	free := name
	for number := 2; (*n)[strings.ToLower(free)]; number++ {
		free = name + " " + strconv.Itoa(number)
	}
	(*n)[strings.ToLower(free)] = true
	return free
}
