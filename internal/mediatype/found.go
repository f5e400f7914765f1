package mediatype

import "bytes"

// HeadBytes is how much of a file Found looks at.
const HeadBytes = 16

// Generic reports whether a type says nothing of the file: it is missing, or one that file stores write when they do not know it.
func Generic(mediaType string) bool {
	switch Plain(mediaType) {
	case "", "application/octet-stream", "binary/octet-stream", "application/binary", "application/x-binary", "application/unknown":
		return true
	}
	return false
}

// Found is the type of a file by its first bytes, "" when they show none. Texts and archives show none: documents are made of these.
func Found(head []byte) string {
	at := func(offset int, mark string) bool {
		return len(head) >= offset && bytes.HasPrefix(head[offset:], []byte(mark))
	}
	switch {
	case at(0, "\x89PNG"):
		return PNG
	case at(0, "\xff\xd8\xff"):
		return "image/jpeg"
	case at(0, "GIF87a"), at(0, "GIF89a"):
		return "image/gif"
	case at(0, "RIFF") && at(8, "WEBP"):
		return "image/webp"
	case at(0, "RIFF") && at(8, "WAVE"):
		return WAV
	case at(0, "%PDF-"):
		return PDF
	case at(0, "ID3"):
		return "audio/mpeg"
	case at(0, "fLaC"):
		return "audio/flac"
	case at(0, "OggS"):
		return "audio/ogg"
	case at(0, "\x1aE\xdf\xa3"):
		return "video/webm"
	case at(4, "ftyp"):
		return box(string(head[8:min(len(head), 12)]))
	}
	return ""
}

// box is the type of a file of the MP4 family by its brand.
func box(brand string) string {
	switch brand {
	case "avif", "avis":
		return "image/avif"
	case "heic", "heix", "mif1", "msf1":
		return "image/heic"
	case "M4A ", "M4B ":
		return "audio/mp4"
	case "qt  ":
		return "video/quicktime"
	}
	return MP4
}
