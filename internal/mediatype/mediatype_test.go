package mediatype

import (
	"slices"
	"strings"
	"testing"
)

// Each format is found by each of its types, and no two formats share a type.
func TestFormats(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	names := map[string]bool{}
	for _, f := range formats {
		if id := string(f.kind) + " " + f.name; names[id] {
			t.Errorf("%s is in the table twice", id)
		} else {
			names[id] = true
		}
		if Of(f.kind, f.name) != f.types[0] || !slices.Equal(Types(f.kind, f.name), f.types) {
			t.Errorf("%s: %q", f.name, Types(f.kind, f.name))
		}
		for _, mediaType := range f.types {
			if other := seen[mediaType]; other != "" {
				t.Errorf("%s is of %s and %s", mediaType, other, f.name)
			}
			seen[mediaType] = f.name
			for _, written := range []string{mediaType, strings.ToUpper(mediaType), mediaType + "; codecs=x"} {
				if got := Name(f.kind, written); got != f.name {
					t.Errorf("%s: %q, want %q", written, got, f.name)
				}
				if got := Registered(written); got != f.types[0] {
					t.Errorf("%s: registered %q, want %q", written, got, f.types[0])
				}
			}
		}
	}
	for _, kind := range []Kind{Image, Audio, Video, Document} {
		if Name(kind, "a/b") != "" || Of(kind, "none") != "" {
			t.Errorf("%s has an unknown format", kind)
		}
	}
	if got := Name(Audio, MP4); got != "" {
		t.Errorf("a video is audio %q", got)
	}
	if got := Registered("a/b; c"); got != "a/b; c" {
		t.Errorf("an unknown type became %q", got)
	}
}
