package view

import (
	"net/url"
	"strings"
	"testing"

	"weir/internal/fault"
)

func TestClean(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ page, query, want string }{
		{"activity", "", ""},
		{"activity", "show=calls&by=key", "by=key&show=calls"},
		{"activity", "model=acme/wide%3Afree&days=7", "days=7&model=acme%2Fwide%3Afree"},
		{"activity", "from=2026-11-01&to=2026-11-30", "from=2026-11-01&to=2026-11-30"},
		{"activity", "rows=all&member=usr_1&provider=(none)", "member=usr_1&provider=%28none%29&rows=all"},
		{"calls", "min=0.5&result=failed&id=gen-1", "id=gen-1&min=0.5&result=failed"},
		{"calls", "model=%D0%BC%D0%B8%D1%80", "model=%D0%BC%D0%B8%D1%80"},
	} {
		got, err := clean(c.page, c.query)
		if err != nil || got != c.want {
			t.Errorf("%s?%s: %q, %v", c.page, c.query, got, err)
		}
	}
	for _, c := range []struct{ page, query string }{
		{"activity", "min=1"},                         // of another page
		{"calls", "open=gen-1"},                       // what is shown at the moment, and no filter
		{"activity", "by=key&by=model"},               // twice
		{"activity", "by="},                           // says nothing
		{"activity", "by"},                            //
		{"activity", "account=usr_1"},                 //
		{"activity", "https://example.org/"},          // an address
		{"activity", "?by=key"},                       //
		{"activity", "by=%zz"},                        // no encoding
		{"activity", "by=key;show=calls"},             // another separator
		{"activity", "model=a%0Ab"},                   // two lines
		{"activity", "model=%ff"},                     // not UTF-8
		{"activity", "model=a%E2%80%AEb"},             // turns the text around
		{"activity", "from=2026-11-01"},               // without an end
		{"activity", "from=2026-11-01&to=x&days=7"},   // two periods
		{"activity", strings.Repeat("a", 2*MaxQuery)}, // too long
		{"activity", "model=" + strings.Repeat("я", 400)},
		{"calls", "model=" + strings.Repeat("я", 300) + "&provider=" + strings.Repeat("я", 300)}, // too long when it is escaped
	} {
		if got, err := clean(c.page, c.query); !fault.Is(err, fault.Invalid) || fault.From(err).Param != "query" {
			t.Errorf("%s?%s: %q, %v", c.page, c.query, got, err)
		}
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	v := View{Page: "activity"}
	if err := v.set("  По ключам, неделя ", "by=key"); err != nil || v.Name != "По ключам, неделя" {
		t.Errorf("%q, %v", v.Name, err)
	}
	for _, name := range []string{"", "  ", "a\nb", "a\x00", "\u202eb", "\xff", strings.Repeat("я", MaxName+1)} {
		if err := v.set(name, ""); !fault.Is(err, fault.Invalid) || fault.From(err).Param != "name" {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// Whatever is accepted has one form, which is accepted again, and members of its page alone.
func FuzzClean(f *testing.F) {
	for _, q := range []string{"by=key", "model=acme/wide&days=7", "a=b;c=d", "by=%zz", "=&=", "from=1&to=2"} {
		f.Add(q)
	}
	f.Fuzz(func(t *testing.T, query string) {
		for _, page := range Pages() {
			one, err := clean(page, query)
			if err != nil {
				continue
			}
			two, err := clean(page, one)
			if err != nil || one != two || len(one) > MaxQuery {
				t.Fatalf("%q became %q, then %q: %v", query, one, two, err)
			}
			u, err := url.Parse("https://example.org/" + page + "?" + one)
			if err != nil || u.Host != "example.org" || u.Path != "/"+page || u.Fragment != "" {
				t.Fatalf("%q leads to %v: %v", one, u, err)
			}
		}
	})
}
