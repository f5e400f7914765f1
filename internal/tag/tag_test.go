package tag_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"weir/internal/tag"
)

// TestParse: a list for this gateway is read whole, or the first thing that is wrong with it is named.
func TestParse(t *testing.T) {
	t.Parallel()
	many := make([]string, 17)
	for i := range many {
		many[i] = fmt.Sprint("n", i)
	}
	for _, c := range []struct {
		list  string
		want  []string
		wrong string
	}{
		{"", nil, ""},
		{" , ,", nil, ""},
		{"project=atlas", []string{"project=atlas"}, ""},
		{"project=atlas, env=prod,beta", []string{"beta", "env=prod", "project=atlas"}, ""},
		{"проект=атлас", []string{"проект=атлас"}, ""},
		{"url=https://a/?b=c", []string{"url=https://a/?b=c"}, ""},
		{"project=", nil, `"project=" is no tag: it has no value after the equals sign`},
		{"=atlas", nil, `"=atlas" is no tag: it has no name`},
		{"project =atlas", nil, `"project =atlas" is no tag: it has blanks beside its name or value`},
		{"project=(none)", nil, `"project=(none)" is no tag: its name or value begins with a parenthesis`},
		{"a=1,a=2", []string{"a=1"}, `the name "a" is there twice`},
		{"a,a=2", []string{"a"}, `the name "a" is there twice`},
		{"a\x01b", nil, `"a\x01b" is no tag: it has characters that are no text`},
		{"a=\xff", nil, `"a=\xff" is no tag: it has characters that are no text`},
		{strings.Repeat("x", 65), nil, `"` + strings.Repeat("x", 65) + `" is no tag: its name is longer than 64 bytes`},
		{strings.Join(many, ","), slices.Sorted(slices.Values(many[:16])), "there are more than 16 tags"},
	} {
		var s tag.Set
		if wrong := s.Parse(c.list); wrong != c.wrong {
			t.Errorf("%q: %s; want %s", c.list, wrong, c.wrong)
		}
		if got := s.List(); !slices.Equal(got, c.want) {
			t.Errorf("%q: %q; want %q", c.list, got, c.want)
		}
	}
}

// TestForeign: tags of other gateways never fail; what is none is left out, and the first of a name stays.
func TestForeign(t *testing.T) {
	t.Parallel()
	var s tag.Set
	for _, text := range []string{"jobID:214590dsff09fds", "taskName:run_page_classification", "production", " us-east-1 ", "production", "jobID=2", "a=b:c", "", ":", "x:", strings.Repeat("y", 300)} {
		s.Foreign(text)
	}
	want := []string{"a=b:c", "jobID=214590dsff09fds", "production", "taskName=run_page_classification", "us-east-1"}
	if got := s.List(); !slices.Equal(got, want) {
		t.Errorf("%q; want %q", got, want)
	}
}

// FuzzParse: what is taken from any list is a tag, within the bounds, once for each name, and the same when it is read again.
func FuzzParse(f *testing.F) {
	f.Add("a=1,b, c=d")
	f.Add("a,a=,=b,(x)")
	f.Fuzz(func(t *testing.T, list string) {
		var s, again tag.Set
		s.Parse(list)
		for part := range strings.SplitSeq(list, ",") {
			s.Foreign(part)
		}
		tags := s.List()
		names := map[string]bool{}
		for _, x := range tags {
			name, value := tag.Split(x)
			if tag.Wrong(x) != "" || names[name] || tag.Join(name, value) != x {
				t.Fatalf("%q of %q", x, list)
			}
			names[name] = true
			again.Add(x)
		}
		if len(tags) > tag.Most || !slices.Equal(again.List(), tags) {
			t.Fatalf("%q of %q", tags, list)
		}
	})
}
