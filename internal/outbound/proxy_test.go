package outbound_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"weir/internal/outbound"
)

func env(name string) (string, bool) {
	v, ok := map[string]string{"WHOLE": "http://anna:p%40ss@proxy.corp:3128", "USER_NAME": "anna", "PASS": "p@ss:w/rd%41", "BARE": "proxy.corp:3128"}[name]
	return v, ok
}

func TestParse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, shown, user, password, fails string }{
		{text: ""},
		{text: "direct", shown: "direct"},
		{text: "http://proxy.corp:3128", shown: "http://proxy.corp:3128"},
		{text: "http://proxy.corp", shown: "http://proxy.corp:80"},
		{text: "https://Proxy.Corp/", shown: "https://proxy.corp:443"},
		{text: "socks5://10.0.0.1", shown: "socks5://10.0.0.1:1080"},
		{text: "socks5h://[fd00::1]:9050", shown: "socks5://[fd00::1]:9050"}, // one-api#892: "lookup socks5h" there
		{text: "http://anna:p%40ss@proxy.corp:3128", shown: "http://proxy.corp:3128", user: "anna", password: "p@ss"},
		{text: "http://${USER_NAME}:${PASS}@proxy.corp:3128", shown: "http://proxy.corp:3128", user: "anna", password: "p@ss:w/rd%41"},
		{text: "${WHOLE}", shown: "http://proxy.corp:3128", user: "anna", password: "p@ss"},
		{text: "http://anna:a@b@proxy.corp:3128", shown: "http://proxy.corp:3128", user: "anna", password: "a@b"},
		{text: "${BARE}", fails: "no address of a proxy"},
		{text: "${MISSING}", fails: "MISSING is not set"},
		{text: "http://anna:${MISSING}@proxy.corp", fails: "MISSING is not set"},
		{text: "proxy.corp:3128", fails: "no address of a proxy"},
		{text: "ftp://proxy.corp", fails: "no address of a proxy"},
		{text: "socks4://proxy.corp", fails: "no address of a proxy"},
		{text: "http://s3cret-user:s3cret-pass@proxy.corp:99999", fails: "no address of a proxy"},
		{text: "http://s3cret-user:s3cret-pass@/path", fails: "no address of a proxy"},
		{text: "http://s3cret-user:s3cret%zz@proxy.corp", fails: "not escaped"},
		{text: "http://:s3cret-pass@proxy.corp", fails: "user name is empty"},
		{text: "http://proxy.corp:3128/path?q", fails: "no address of a proxy"},
		{text: "socks5://a:" + strings.Repeat("s3cret", 50) + "@proxy.corp", fails: "longer than the 255 bytes"},
	} {
		p, err := outbound.Parse(c.text, env)
		if c.fails != "" {
			if err == nil || !strings.Contains(err.Error(), c.fails) || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("%s: %v", c.text, err)
			}
			continue
		}
		user, password := p.Login()
		if err != nil || p.String() != c.shown || user != c.user || password != c.password {
			t.Errorf("%s: %s with %q and %q, %v", c.text, p, user, password, err)
		}
	}
}

// No verb prints a password: it was in errors of Node (CVE-2026-48615), aiohttp (#5399) and Gemini CLI (#23337).
func TestPrintedWithoutSecrets(t *testing.T) {
	t.Parallel()
	p, err := outbound.Parse("http://anna:s3cret@proxy.corp", nil)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := p.MarshalText()
	yaml, _ := p.MarshalYAML()
	for _, s := range []string{fmt.Sprintf("%v %+v %#v %s %q %x", p, p, p, p, p, p), fmt.Sprintf("%+v %#v", struct{ P outbound.Proxy }{p}, []outbound.Proxy{p}), string(text), fmt.Sprint(yaml), p.LogValue().String()} {
		if strings.Contains(s, "s3cret") || strings.Contains(s, "anna") {
			t.Errorf("printed as %q", s)
		}
	}
	if !slices.Contains(p.Secrets(), "s3cret") {
		t.Error("the log does not know the password")
	}
}

func TestWritten(t *testing.T) {
	t.Parallel()
	for text, written := range map[string]bool{
		"http://proxy": false, "http://a:b@proxy": true, "http://a:${B}@proxy": false, "http://a:x${B}@proxy": true, "http://token@proxy": true, "http://${A}@proxy": false, "${ALL}": false, "direct": false,
	} {
		if outbound.Written(text) != written {
			t.Errorf("%s: %v", text, !written)
		}
	}
}

// The rules are those of Go's net/http. Reports on others: claude-code#22752 and #39862 (a domain with a dot), curl#9773 (networks),
// claude-code#34804 (this machine), litellm#4376.
func TestExceptions(t *testing.T) {
	t.Parallel()
	proxy, err := outbound.Parse("http://proxy.corp:3128", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		list, host string
		direct     bool
	}{
		{"", "api.openai.com:443", false},
		{"", "localhost:11434", true},
		{"", "127.0.0.1:8000", true},
		{"", "[::1]:8000", true},
		{"", "10.10.20.1:443", false},
		{"10.0.0.0/8", "10.10.20.1:443", true},
		{"10.0.0.0/8", "11.0.0.1:443", false},
		{"10.0.0.0/8", "ten.corp:443", false}, // names are not looked up for it
		{"10.1.2.3", "10.1.2.3:443", true},
		{"fd00::/8", "[fd00::5]:443", true},
		{".corp.example", "llm.corp.example:443", true},
		{".corp.example", "corp.example:443", false},
		{"corp.example", "corp.example:443", true},
		{"corp.example", "a.b.corp.example:443", true},
		{"corp.example", "notcorp.example:443", false},
		{"*.corp.example", "llm.corp.example:443", true},
		{"corp.example:8443", "corp.example:8443", true},
		{"corp.example:8443", "corp.example:443", false},
		{"CORP.example", "llm.Corp.Example:443", true},
		{"*", "api.openai.com:443", true},
	} {
		var list []string
		if c.list != "" {
			list = []string{"other.example", c.list}
			if err := outbound.CheckException(c.list); err != nil {
				t.Errorf("%s: %v", c.list, err)
			}
		}
		w := outbound.New(proxy, list)
		if got := !w.To(outbound.Proxy{}, c.host).Through(); got != c.direct {
			t.Errorf("%s without %q: directly %v", c.host, c.list, got)
		}
		if own := w.To(proxy, c.host); !own.Through() {
			t.Errorf("%s: what is said of one provider counts before the list", c.host)
		}
	}
	for _, bad := range []string{"", "a b", "a,b", "http://a", "10.0.0.0/33", "a*b", "a/b"} {
		if outbound.CheckException(bad) == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	direct, _ := outbound.Parse(outbound.Direct, nil)
	if outbound.New(proxy, nil).To(direct, "api.openai.com:443").Through() || (*outbound.Ways)(nil).To(outbound.Proxy{}, "a:1").Through() {
		t.Error("direct is not direct")
	}
}
