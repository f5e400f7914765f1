package mediatype

import "testing"

// The first bytes of a file show its type, however few there are. Those of texts and archives show none.
func TestFound(t *testing.T) {
	t.Parallel()
	for head, want := range map[string]string{
		"\x89PNG\r\n\x1a\n": "image/png", "\xff\xd8\xff\xe0": "image/jpeg", "GIF89a\x01": "image/gif", "RIFF\x24\x00\x00\x00WEBPVP8 ": "image/webp",
		"RIFF\x24\x00\x00\x00WAVEfmt ": "audio/wav", "RIFF\x24\x00\x00\x00AVI LIST": "", "RIFF": "", "%PDF-1.7": "application/pdf", "ID3\x04": "audio/mpeg",
		"fLaC": "audio/flac", "OggS\x00": "audio/ogg", "\x1aE\xdf\xa3": "video/webm", "\x00\x00\x00\x20ftypisom": "video/mp4", "\x00\x00\x00\x20ftypqt  ": "video/quicktime",
		"\x00\x00\x00\x20ftypheic": "image/heic", "\x00\x00\x00\x20ftypavif": "image/avif", "\x00\x00\x00\x20ftypM4A ": "audio/mp4", "\x00\x00\x00\x20ftyp": "video/mp4",
		"\x00\x00\x00": "", "": "", "PK\x03\x04": "", "Hello": "", "<svg": "",
	} {
		if got := Found([]byte(head)); got != want {
			t.Errorf("%q: %q, want %q", head, got, want)
		}
		if Found([]byte(head)[:min(len(head), HeadBytes)]) != want {
			t.Errorf("%q: not shown by the first bytes", head)
		}
	}
	for kind, want := range map[string]bool{"": true, "binary/octet-stream": true, "Application/Octet-Stream; charset=x": true, "image/png": false, "text/plain": false} {
		if Generic(kind) != want {
			t.Errorf("%q: generic %v", kind, !want)
		}
	}
}
