package wire_test

import (
	"fmt"
	"strings"
	"testing"

	"weir/internal/fault"
	"weir/internal/wire"
)

func pairs(n int, name, value string) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(`"%02d%s":"%s"`, i, name, value)
	}
	return "{" + strings.Join(list, ",") + "}"
}

// What is kept of metadata is what it says, not how it was written: blanks and long escapes cost the client's own bytes alone.
func TestMetadataIsKeptCompact(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, body, want string }{
		{"none", `null`, ""},
		{"empty", `{ }`, `{}`},
		{"blanks", `{` + strings.Repeat(" ", 1<<20) + `"a"` + strings.Repeat("\n", 1<<20) + `:` + strings.Repeat("\t", 1<<20) + `"b"}`, `{"a":"b"}`},
		{"tags of LiteLLM", `{"tags":["jobID:1","production",7],"a":"b","tags2":"c"}`, `{"a":"b","tags2":"c"}`},
		{"tags alone", `{"tags":["production"]}`, `{}`},
		{"a text under the name of tags", `{"tags":"production"}`, `{"tags":"production"}`},
		{"escapes", `{"\u0061\u044f":"\u0062\/\u0000\ud83d\ude00"}`, `{"aя":"b/\u0000😀"}`},
		{"the longest that every script may write", pairs(16, strings.Repeat("😀", 62), strings.Repeat("😀", 512)), pairs(16, strings.Repeat("😀", 62), strings.Repeat("😀", 512))},
	} {
		r := wire.NewReader([]byte(c.body), "test")
		got := string(r.Metadata())
		if err := r.Err(); err != nil || got != c.want {
			t.Errorf("%s: %.200q, %v; want %.200q", c.name, got, err, c.want)
		}
	}
	for _, c := range []struct {
		name, body, param string
		kind              fault.Kind
	}{
		{"a list", `[]`, "", fault.Invalid},
		{"too many", pairs(17, "", ""), "metadata", fault.Invalid},
		{"a long name", `{"` + strings.Repeat("x", 65) + `":"v"}`, "metadata", fault.StringTooLong},
		{"a long value", `{"a":"` + strings.Repeat("x", 513) + `"}`, "a", fault.StringTooLong},
		{"no text", `{"a":1}`, "a", fault.Invalid},
		{"null", `{"a":null}`, "a", fault.Invalid},
		{"what takes six bytes a character", pairs(16, "", strings.Repeat(`\u0001`, 512)), "metadata", fault.StringTooLong},
	} {
		r := wire.NewReader([]byte(c.body), "test")
		got := r.Metadata()
		if err := r.Err(); err == nil || err.Kind != c.kind || err.Param != c.param || got != nil {
			t.Errorf("%s: %.100q, %v at %q", c.name, got, err, err.Param)
		}
	}
}
