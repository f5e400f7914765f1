package kit

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

func FuzzParse(f *testing.F) {
	for _, s := range []string{`{"a":[1,-0.5e+3,true,null,"\u00e9\ud83c\udf0a"]}`, `[]`, `"\"`, `01`, `{"a":1,"a":2}`, "\"\x01\"", `1e`, `{"":{}}`, `tru`, ``} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		n, err := Parse(b)
		if err != nil {
			return
		}
		if !json.Valid(b) {
			t.Fatalf("%q was taken", b)
		}
		if n.Kind == Text {
			var want string
			if json.Unmarshal(b, &want); n.Text != want {
				t.Fatalf("%q was read as %q", b, n.Text)
			}
			var again string
			if err := json.Unmarshal(AppendText(nil, n.Text), &again); err != nil || again != want {
				t.Fatalf("%q was written as %q", want, AppendText(nil, n.Text))
			}
		}
	})
}

func FuzzMarkers(f *testing.F) {
	for _, s := range []string{"a [[sim fault=u7 how=chunk]] b", "[[sim ", "[[sim ]]", "[[sim gap=1s]][[sim gap=2s]]", "]]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var k Knobs
		plain, err := k.Markers(s)
		if err == nil && len(plain) > len(s) {
			t.Fatalf("%q grew to %q", s, plain)
		}
		if err == nil && !strings.Contains(s, MarkerStart) && plain != s {
			t.Fatalf("%q became %q", s, plain)
		}
		if _, err := k.ParseName(s); err == nil && k.Name != s {
			t.Fatalf("%q was named %q", s, k.Name)
		}
	})
}

func FuzzMatching(f *testing.F) {
	for _, s := range []string{`^a{2,3}[b-d]+(x|y)?\d$`, `[^a]`, `(`, `[`, `a{`, `\`, `(?=x)`, `a**`, `^$`, `[z-a]`, `x{1000}{1000}`, `(((x{1000}){1000}){1000}){1000}`} {
		f.Add(s, uint64(1))
	}
	f.Fuzz(func(t *testing.T, pattern string, seed uint64) {
		if !utf8.ValidString(pattern) {
			return
		}
		rnd := Random(seed)
		left := maxPatternAtoms
		got, ok := matching(pattern, &rnd, &left)
		if !ok || len(got) > 10_000 {
			return
		}
		// ^ and $ in the middle, and flags, are beyond what is promised
		inner := strings.TrimSuffix(strings.TrimPrefix(pattern, "^"), "$")
		if re, err := regexp.Compile(pattern); err == nil && !strings.ContainsAny(inner, `^$`) && !re.MatchString(got) {
			t.Fatalf("%q does not match %q", got, pattern)
		}
	})
}

func TestTokenRule(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		want int
	}{
		{"", 0}, {"Hello", 1}, {"Hello world", 2}, {"Hello, world!", 4}, {"plotina", 2}, {"плотина", 2}, {"水坝", 2}, {"a  b", 3}, {" ", 1},
		{"\n\n", 2}, {"🌊", 1}, {"don't", 3}, {" x", 1},
	} {
		if got := CountTokens(c.text); got != c.want {
			t.Errorf("%q has %d tokens, want %d", c.text, got, c.want)
		}
	}
}

// Every fault of the table must be one that a request can ask for in each of its variants.
func TestFaultTable(t *testing.T) {
	t.Parallel()
	for name, f := range Faults {
		if f.does == "" || f.play == nil {
			t.Errorf("%s lacks something", name)
		}
		for _, how := range f.Variants {
			k := Knobs{After: -1}
			if how != "" {
				how = "-" + how
			}
			if base, err := k.ParseName("echo-fault-" + name + how); err != nil || base != "echo" || k.Check() != nil {
				t.Errorf("%s%s: %q, %v", name, how, base, err)
			}
		}
	}
	if len(Faults) != 30 { // 31 in all; u1 needs an address that refuses
		t.Errorf("%d faults", len(Faults))
	}
}

func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	var c prefixCache
	for i := range 2 * cacheLimit {
		c.remember(Digest(i))
	}
	if len(c.known) != cacheLimit || len(c.ring) != cacheLimit || c.known[0] || !c.known[2*cacheLimit-1] {
		t.Errorf("%d known", len(c.known))
	}
}
