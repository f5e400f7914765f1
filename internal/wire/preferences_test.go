package wire_test

import (
	"math/big"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/internal/fault"
	"weir/internal/routing"
	"weir/internal/wire"
)

func TestDefaultPreferences(t *testing.T) {
	t.Parallel()
	got, err := wire.DefaultPreferences([]byte(` {"only":["a","b/eu"], "zdr": true,"sort":"exacto","max_price":{"prompt":"0.5"},"order":null} `))
	if err != nil {
		t.Fatal(err)
	}
	want := routing.Preferences{Only: []string{"a", "b/eu"}, ZDR: true, Sort: "exacto", MaxPrice: &routing.MaxPrice{Prompt: big.NewRat(1, 2)}}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b *big.Rat) bool { return a == b || a != nil && b != nil && a.Cmp(b) == 0 })); diff != "" {
		t.Error(diff)
	}
	for text, param := range map[string]string{
		`{"ony":["a"]}`:                     "provider.ony",
		`{"options":{}}`:                    "provider.options",
		`{"sort":"price","sort":"latency"}`: "sort",
		`{"sort":"speed"}`:                  "provider.sort",
		`{"only":["a",1]}`:                  "provider.only[1]",
		`{"max_price":{"prompt":-1}}`:       "provider.max_price.prompt",
		`["a"]`:                             "provider",
		`null`:                              "provider",
		`{"zdr":true`:                       "",
		`{"only":["` + strings.Repeat("a", 9000) + `"]}`: "provider",
	} {
		_, err := wire.DefaultPreferences([]byte(text))
		if f := fault.From(err); err == nil || f.Param != param || f.Public == "" {
			t.Errorf("%.40s: %v, param %q; want %q", text, err, f.Param, param)
		}
	}
}

// What is kept for an account may have plugins; what is none is refused.
func TestDefaults(t *testing.T) {
	t.Parallel()
	got, err := wire.Defaults([]byte(`{"zdr":true,"plugins":[{"id":"response-healing"}]}`))
	if err != nil || !got.ZDR {
		t.Errorf("%+v, %v", got, err)
	}
	for text, param := range map[string]string{`{"plugins":{}}`: "plugins", `{"plugins":null}`: "plugins", `{"plugins":[{"id":"nosuch"}]}`: "plugins[0].id", `{"plugins":[{}]}`: "plugins[0].id", `{"plugin":[]}`: "provider.plugin"} {
		if _, err := wire.Defaults([]byte(text)); fault.From(err).Param != param {
			t.Errorf("%s: %v, param %q; want %q", text, err, fault.From(err).Param, param)
		}
	}
}

// Whatever is stored, a request could have said: what is refused there is refused here.
func FuzzDefaultPreferences(f *testing.F) {
	f.Add([]byte(`{"only":["a"],"sort":{"by":"price","partition":"none"},"max_price":{"prompt":"1e-3"},"preferred_max_latency":{"p90":2}}`))
	f.Add([]byte(`{"quantizations":["fp8"],"allow_fallbacks":false}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := wire.DefaultPreferences(text)
		if err != nil {
			return
		}
		r := wire.NewReader(text, "test")
		want := r.Preferences()
		if r.Err() != nil {
			t.Fatalf("a request may not say %s: %v", text, r.Err())
		}
		if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b *big.Rat) bool { return a == b || a != nil && b != nil && a.Cmp(b) == 0 })); diff != "" {
			t.Fatal(diff)
		}
	})
}
