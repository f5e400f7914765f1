package record_test

import (
	"strings"
	"testing"

	"weir/internal/record"
)

func TestWords(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("my secret prompt ", 5)
	for name, x := range map[string]struct{ text, want string }{
		"plain":               {"Rate limit reached.", "Rate limit reached."},
		"one line":            {" a\n b\tc ", "a b c"},
		"a short quote stays": {"Invalid value: 'xhigh'. Don't", "Invalid value: 'xhigh'. Don't"},
		"a long quote goes":   {`Cannot read "` + long + `" here`, `Cannot read "…" here`},
		"other marks":         {"Cannot read “" + long + "” or `" + long + "`", "Cannot read “…” or `…`"},
		"a quote without end": {`Cannot read "` + long, `Cannot read "…`},
		"not text":            {"a\x00\xffb", "a\uFFFD\uFFFDb"},
		"empty":               {"", ""},
	} {
		if got := record.Words(x.text); got != x.want {
			t.Errorf("%s: %q, want %q", name, got, x.want)
		}
	}
	if got := record.Words(strings.Repeat("é ", 900)); len(got) > 300 || !strings.HasPrefix(got, "é é") {
		t.Errorf("%d bytes: %q", len(got), got)
	}
}

func TestCause(t *testing.T) {
	t.Parallel()
	for _, same := range [][]string{
		{"Rate limit reached: Limit 30000, Used 29871. Try again in 1.2s.", "Rate limit reached: Limit 500, Used 499. Try again in 17.25s."},
		{"An error occurred, request req_0a9b8c7d6e5f4a3b2c", "An error occurred, request req_99b8c7d6e5f4a3b200"},
	} {
		for _, text := range same[1:] {
			if a, b := record.Cause(same[0]), record.Cause(text); a != b || a == "" {
				t.Errorf("%q and %q", a, b)
			}
		}
	}
	if a, b := record.Cause("Invalid value: 'xhigh'."), record.Cause("Invalid value: 'ultra'."); a == b {
		t.Errorf("%q: another value is another cause", a)
	}
	if got := record.Cause(strings.Repeat("слово ", 90)); len(got) > 120 {
		t.Errorf("%d bytes", len(got))
	}
}
