package docsite_test

import (
	"html"
	"strings"
	"testing"
	"unicode/utf8"

	"weir/internal/docsite"
)

func marked(code, lang string) string {
	var b strings.Builder
	docsite.Highlight(&b, code, lang)
	return b.String()
}

func TestHighlight(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ info, code, want string }{
		{"", "export BASE=http://127.0.0.1:8080    # the address", `<span class="syntax-word">export</span> BASE=http://127.0.0.1:8080    <span class="syntax-note"># the address</span>`},
		{"", `curl -d '{"a":1}' "$BASE"`, `<span class="syntax-word">curl</span> -d <span class="syntax-text">&#39;{&#34;a&#34;:1}&#39;</span> <span class="syntax-text">&#34;$BASE&#34;</span>`},
		{"", `{"a": -1.5, "b": true}`, `{<span class="syntax-text">&#34;a&#34;</span>: <span class="syntax-number">-1.5</span>, <span class="syntax-text">&#34;b&#34;</span>: <span class="syntax-word">true</span>}`},
		{"yaml", "listen: 8080  # a port\nname: it's", "listen: <span class=\"syntax-number\">8080</span>  <span class=\"syntax-note\"># a port</span>\nname: it&#39;s"},
		{"python", "if x: return None", `<span class="syntax-word">if</span> x: <span class="syntax-word">return</span> <span class="syntax-word">None</span>`},
		{"go", `a := "b" // c`, `a := <span class="syntax-text">&#34;b&#34;</span> <span class="syntax-note">// c</span>`},
		{"js", "x('http://a//b')", `x(<span class="syntax-text">&#39;http://a//b&#39;</span>)`},
		{"text", `say "no" # more`, `say &#34;no&#34; # more`},
		{"", "data: {\"a\":1}", `data: {&#34;a&#34;:1}`},
	} {
		if got := marked(c.code, docsite.Language(c.info, c.code)); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.code, got, c.want)
		}
	}
}

// Marks are the only thing that highlighting adds.
func FuzzHighlight(f *testing.F) {
	for _, lang := range []string{"sh", "json", "yaml", "python", "go", "js", "toml", "nothing"} {
		f.Add("export A=\"b\" 'c' # d\n{\"a\": 1.5e3}\n\\\" `x` // y ж\xff$", lang)
	}
	f.Fuzz(func(t *testing.T, code, lang string) {
		if !utf8.ValidString(code) {
			return // files of the repository
		}
		got := marked(code, lang)
		for _, class := range []string{"word", "text", "note", "number"} {
			got = strings.ReplaceAll(got, `<span class="syntax-`+class+`">`, "")
		}
		got = strings.ReplaceAll(got, "</span>", "")
		if strings.ContainsAny(got, "<>") || html.UnescapeString(got) != html.UnescapeString(html.EscapeString(code)) {
			t.Errorf("%q became %q", code, got)
		}
	})
}

func FuzzExcerpt(f *testing.F) {
	f.Add("A weir holds money back. Ж "+strings.Repeat("долго ", 80)+"held", "held")
	f.Add("İstanbul \xff\xfe", "i")
	f.Fuzz(func(t *testing.T, text, word string) {
		got := docsite.Excerpt(text, []string{strings.ToLower(word)})
		if len(got) > 240 {
			t.Errorf("%d bytes", len(got))
		}
		if utf8.ValidString(text) && !utf8.ValidString(got) {
			t.Errorf("%q is cut within a letter: %q", text, got)
		}
	})
}

func TestFragment(t *testing.T) {
	t.Parallel()
	for title, want := range map[string]string{"What is held": "what-is-held", "Claude Code ✓": "claude-code-", "OpenAI SDKs ✓ Node, ✓ Go, Python": "openai-sdks--node--go-python", "503 storage_unavailable": "503-storage_unavailable", "POST /v1/chat/completions": "post-v1chatcompletions"} {
		if got := docsite.Fragment(title); got != want {
			t.Errorf("%q is %q, want %q", title, got, want)
		}
	}
}

func TestAsTyped(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{"ьщтун": "money", "Куешкштп 5": "retiring 5", "money": ""} {
		if got := docsite.AsTyped(query); got != want {
			t.Errorf("%q is %q, want %q", query, got, want)
		}
	}
}
