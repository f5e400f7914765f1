// Package mediatype is the one table of media types and file formats: which names a type has, and which one we send. What a wire or a parser
// accepts of it is that package's own list of formats.
package mediatype

import (
	"slices"
	"strings"
)

// Kind is what a file is for: an image, audio, a video or a document.
type Kind string

// The kinds.
const (
	Image    Kind = "image"
	Audio    Kind = "audio"
	Video    Kind = "video"
	Document Kind = "document"
)

// Types that are sent without looking into a file.
const (
	PNG = "image/png"
	SVG = "image/svg+xml"
	WAV = "audio/wav"
	MP4 = "video/mp4"
	PDF = "application/pdf"
)

// format is a file format: its name, which is also its usual file extension, and its media types, the registered one first.
type format struct {
	kind  Kind
	name  string
	types []string
}

var formats = []format{
	{Image, "png", []string{PNG}},
	{Image, "jpeg", []string{"image/jpeg", "image/jpg"}},
	{Image, "webp", []string{"image/webp"}},
	{Image, "gif", []string{"image/gif"}},
	{Image, "svg", []string{SVG}},

	{Audio, "mp3", []string{"audio/mpeg", "audio/mp3", "audio/x-mp3", "audio/mpeg3", "audio/x-mpeg-3"}},
	{Audio, "wav", []string{WAV, "audio/x-wav", "audio/wave", "audio/vnd.wave", "audio/x-pn-wav"}},
	{Audio, "mp4", []string{"audio/mp4"}},
	{Audio, "m4a", []string{"audio/m4a", "audio/x-m4a"}},
	{Audio, "webm", []string{"audio/webm"}},
	{Audio, "flac", []string{"audio/flac", "audio/x-flac"}},
	{Audio, "ogg", []string{"audio/ogg", "application/ogg", "audio/x-ogg", "audio/vorbis"}},
	{Audio, "opus", []string{"audio/opus"}},
	{Audio, "aac", []string{"audio/aac"}},
	{Audio, "pcm", []string{"audio/pcm"}},

	{Video, "mp4", []string{MP4}},
	{Video, "mpeg", []string{"video/mpeg", "video/x-mpeg"}},
	{Video, "mov", []string{"video/quicktime", "video/mov"}},
	{Video, "webm", []string{"video/webm"}},
	{Video, "mkv", []string{"video/x-matroska"}},
	{Video, "flv", []string{"video/x-flv"}},
	{Video, "wmv", []string{"video/x-ms-wmv"}},
	{Video, "3gp", []string{"video/3gpp"}},

	{Document, "pdf", []string{PDF}},
	{Document, "csv", []string{"text/csv"}},
	{Document, "html", []string{"text/html"}},
	{Document, "txt", []string{"text/plain"}},
	{Document, "md", []string{"text/markdown"}},
	{Document, "doc", []string{"application/msword"}},
	{Document, "docx", []string{"application/vnd.openxmlformats-officedocument.wordprocessingml.document"}},
	{Document, "xls", []string{"application/vnd.ms-excel"}},
	{Document, "xlsx", []string{"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"}},
}

// Types lists the media types of a format, the registered one first; nil when there is no such format.
func Types(kind Kind, name string) []string {
	for i := range formats {
		if f := &formats[i]; f.kind == kind && f.name == name {
			return f.types
		}
	}
	return nil
}

// Of is the registered media type of a format, "" when there is no such format.
func Of(kind Kind, name string) string {
	if types := Types(kind, name); types != nil {
		return types[0]
	}
	return ""
}

// Name is the format of a media type, in any case and with or without parameters; "" when the kind has no such type.
func Name(kind Kind, mediaType string) string {
	if f := find(mediaType); f != nil && f.kind == kind {
		return f.name
	}
	return ""
}

// Registered is the registered name of a media type that has several; others come back unchanged.
func Registered(mediaType string) string {
	if f := find(mediaType); f != nil {
		return f.types[0]
	}
	return mediaType
}

// Plain is a media type without parameters, in lower case.
func Plain(mediaType string) string {
	mediaType, _, _ = strings.Cut(mediaType, ";")
	return strings.ToLower(strings.TrimSpace(mediaType))
}

const maxLen = 127 // bytes of a type and its parameters

// Valid reports whether a text has only what media types and their parameters have. Of a comma or a quote the rest of a data URL would be made.
func Valid(mediaType string) bool {
	for i := range len(mediaType) {
		c := mediaType[i]
		if (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && strings.IndexByte("!#$&^_.+-/*;= ", c) < 0 {
			return false
		}
	}
	return mediaType != "" && len(mediaType) <= maxLen
}

func find(mediaType string) *format {
	mediaType = Plain(mediaType)
	at := slices.IndexFunc(formats, func(f format) bool { return slices.Contains(f.types, mediaType) })
	if at < 0 {
		return nil
	}
	return &formats[at]
}
