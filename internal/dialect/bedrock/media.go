package bedrock

import (
	"bytes"
	"path"
	"strconv"
	"strings"

	"weir/internal/completion"
)

// formats are the words of this wire for what a block of a kind may hold, by media type, and for documents also by what file names end in.
var formats = map[string]map[string]string{
	"image": {"image/png": "png", "image/jpeg": "jpeg", "image/jpg": "jpeg", "image/gif": "gif", "image/webp": "webp"},
	"document": {"application/pdf": "pdf", "text/csv": "csv", "application/msword": "doc", "text/html": "html", "text/plain": "txt", "text/markdown": "md",
		"application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx", "application/vnd.ms-excel": "xls",
		"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
		".pdf": "pdf", ".csv": "csv", ".doc": "doc", ".docx": "docx", ".xls": "xls", ".xlsx": "xlsx", ".html": "html", ".txt": "txt", ".md": "md"},
	"audio": {"audio/mp3": "mp3", "audio/mpeg": "mp3", "audio/wav": "wav", "audio/x-wav": "wav", "audio/flac": "flac", "audio/ogg": "ogg", "audio/opus": "opus", "audio/aac": "aac",
		"audio/m4a": "m4a", "audio/mp4": "mp4", "audio/webm": "webm"},
	"video": {"video/mp4": "mp4", "video/mpeg": "mpeg", "video/mov": "mov", "video/quicktime": "mov", "video/webm": "webm", "video/x-matroska": "mkv", "video/x-flv": "flv", "video/x-ms-wmv": "wmv", "video/3gpp": "three_gp"},
}

// beginnings recognize images without a media type, by the first letters of their base64.
var beginnings = []struct{ letters, format string }{{"iVBORw0KGgo", "png"}, {"/9j/", "jpeg"}, {"R0lGOD", "gif"}, {"UklGR", "webp"}}

// formatOf is the word for a medium, "" for one that this wire does not take.
func formatOf(kind string, m *completion.Media) string {
	known := formats[kind]
	if f := known[strings.ToLower(m.Type)]; f != "" {
		return f
	}
	if m.Type != "" {
		return ""
	}
	if f := known[strings.ToLower(path.Ext(m.Name))]; f != "" {
		return f
	}
	if kind == "image" {
		for _, b := range beginnings {
			if bytes.HasPrefix(m.Base64, []byte(b.letters)) {
				return b.format
			}
		}
	}
	if kind == "document" && bytes.HasPrefix(m.Base64, []byte("JVBERi")) { // "%PDF-"
		return "pdf"
	}
	return ""
}

const maxNameBytes = 200

// documentName is a name that this wire takes: letters, digits, single spaces, hyphens and brackets. The number keeps names apart.
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
