package bedrock

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"

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

// beginnings recognize images without a media type, by the first letters of their base64.
var beginnings = []struct{ letters, format string }{{"iVBORw0KGgo", "png"}, {"/9j/", "jpeg"}, {"R0lGOD", "gif"}, {"UklGR", "webp"}}

// formatOf is the wire's name of a medium's format, "" when this wire does not take it.
func formatOf(kind mediatype.Kind, m *completion.Media) string {
	name := mediatype.Name(kind, m.Type)
	if m.Type == "" && kind == mediatype.Document {
		name = strings.TrimPrefix(strings.ToLower(path.Ext(m.Name)), ".")
	}
	switch {
	case slices.Contains(formats[kind], name):
		return cmp.Or(words[name], name)
	case m.Type != "":
		return ""
	}
	if kind == mediatype.Image {
		for _, b := range beginnings {
			if m.Base64.Begins(b.letters) {
				return b.format
			}
		}
	}
	if kind == mediatype.Document && m.Base64.Begins("JVBERi") { // "%PDF-"
		return "pdf"
	}
	return ""
}

const maxNameBytes = 200

// documentName makes a name that this wire accepts: letters, digits, single spaces, hyphens and brackets. The number makes names
// different.
func documentName(name string, number int) string {
	name = strings.TrimSuffix(name, path.Ext(name))
	out := make([]byte, 0, len(name)+4)
	for i := 0; i < len(name) && len(out) < maxNameBytes-8; i++ {
		c := name[i]
		if !letter(c) && strings.IndexByte("-()[]", c) < 0 {
			c = ' '
		}
		if c == ' ' && (len(out) == 0 || out[len(out)-1] == ' ') {
			continue
		}
		out = append(out, c)
	}
	name = strings.TrimRight(string(out), " ")
	switch {
	case name == "":
		return "document " + strconv.Itoa(number)
	case number > 1:
		return name + " " + strconv.Itoa(number)
	}
	return name
}

func letter(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}
