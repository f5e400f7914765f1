package scim

import (
	"testing"

	"weir/internal/rawjson"
)

// TestTidyFilter has filters in the forms that directories send, and such as must stay as they are.
func TestTidyFilter(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`userName eq "a"`: `userName eq "a"`,
		`emails[type eq "work"].value eq "a@b.example"`:      `emails[type eq "work" and value eq "a@b.example"]`,
		`(emails[type eq "w]."].value EQ "a") and id eq "1"`: `(emails[type eq "w]." and value EQ "a"]) and id eq "1"`,
		`id eq "1" and members eq "2"`:                       `id eq "1" and members[value eq "2"]`,
		`displayName eq "members eq \"x\""`:                  `displayName eq "members eq \"x\""`,
		`emails[type eq "work"].value`:                       `emails[type eq "work"].value`,
		`emails[type eq "work"].value eq "open`:              `emails[type eq "work" and value eq "open]`,
		`"`:                                                  `"`,
	} {
		if got := tidyFilter(in); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", in, got, want)
		}
	}
}

// FuzzTidy has any bytes: what comes out is JSON, or nothing does, and a filter ends.
func FuzzTidy(f *testing.F) {
	for _, seed := range []string{
		`{"Operations":[{"op":"Replace","path":"active","value":[{"value":"False"}]}]}`,
		`{"Operations":[{"op":"add","value":{"name.givenName":"x","id":"1","roles":["{\"value\":\"a\"}"]}}]}`,
		`{"Operations":[{"op":"remove","path":"members[value eq \"1\"]"}],"schemas":[]}`,
		`{"userName":"a","emails":{"value":"b"},"active":"True","schemas":["x"]}`,
		`emails[type eq "work"].value eq "a" and members eq "b"`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, kept := range [][]string{ofUsers, ofGroups} {
			if out, _, err := tidyPatch(b, kept); err == nil && !rawjson.Valid(out) {
				t.Errorf("%s -> %s", b, out)
			}
			if out, err := tidyResource(b, kept); err == nil && !rawjson.Valid(out) {
				t.Errorf("%s -> %s", b, out)
			}
		}
		tidyFilter(string(b))
	})
}
