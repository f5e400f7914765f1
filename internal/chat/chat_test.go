package chat

import (
	"strings"
	"testing"

	"weir/internal/fault"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	const id, title, content = "abcdefgh0", "Water", `{"turns":{}}`
	for _, c := range []struct{ id, title, content, param string }{
		{id, title, content, ""},
		{strings.Repeat("a", maxID), " Вода и камень ", `{}`, ""},
		{id, title, `{"text":"` + strings.Repeat("a", MaxContent-11) + `"}`, ""},
		{"abcdefg", title, content, "id"},
		{strings.Repeat("a", maxID+1), title, content, "id"},
		{"ABCDEFGH", title, content, "id"},
		{"abcdefg/", title, content, "id"},
		{"абвгдежз", title, content, "id"},
		{id, "", content, "title"},
		{id, " \t", content, "title"},
		{id, "a\nb", content, "title"},
		{id, "a\x00", content, "title"},
		{id, "\xff", content, "title"},
		{id, "a\u202eb", content, "title"},
		{id, strings.Repeat("я", maxTitle+1), content, "title"},
		{id, title, `{"text":"` + strings.Repeat("a", MaxContent) + `"}`, "content"},
	} {
		err := (&Chat{ID: c.id, Title: c.title, Content: []byte(c.content)}).check()
		switch {
		case c.param == "" && err != nil:
			t.Errorf("%s, %q: %v", c.id, c.title, err)
		case c.param != "" && (!fault.Is(err, fault.Invalid) || fault.From(err).Param != c.param):
			t.Errorf("%s, %q, %.40s: %v, want a refusal of %s", c.id, c.title, c.content, err, c.param)
		}
	}
}
