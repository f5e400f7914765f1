package wire_test

import (
	"strings"
	"testing"

	"weir/internal/completion"
	"weir/internal/rawjson"
	"weir/internal/wire"
)

func membersOf(body string) (all []completion.Member) {
	for m := rawjson.MembersOf([]byte(body)); m.Next(); {
		all = append(all, completion.Member{Name: string(m.Name), Start: m.Start, Value: m.At, End: m.End})
	}
	return all
}

func TestParameters(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{}`: ``,
		`{"model":"a/b","messages":[{"role":"user","content":"secret"}],"stream":true}`:                                           ``,
		`{"temperature": 0.5 , "max_tokens":100,"seed":-1}`:                                                                       `{"temperature":0.5,"max_tokens":100,"seed":-1}`,
		`{"reasoning":{"effort":"low","note":"secret"},"thinking":{"type":"enabled","budget_tokens":1024}}`:                       `{"reasoning":{"effort":"low"},"thinking":{"type":"enabled","budget_tokens":1024}}`,
		`{"response_format":{"type":"json_schema","json_schema":{"name":"secret","schema":{}}}}`:                                  `{"response_format":{"type":"json_schema"}}`,
		`{"provider":{"order":["acme","zeta"],"zdr":true,"sort":{"by":"price"},"max_price":{"prompt":1}}}`:                        `{"provider":{"order":["acme","zeta"],"zdr":true}}`,
		`{"models":["acme/small:free"],"voice":"my secret voice","size":"1024x1024"}`:                                             `{"models":["acme/small:free"],"size":"1024x1024"}`,
		`{"models":["two words"],"provider":{},"reasoning":{"note":1},"temperature":null,"service_tier":"","verbosity":"\u0061"}`: ``,
		`{"models":[["a"]],"size":{"width":1},"generationConfig":{"topP":1,"stopSequences":["secret"]}}`:                          `{"generationConfig":{"topP":1}}`,
		`{"seed":` + strings.Repeat("1", 33) + `,"n":1}`:                                                                          `{"n":1}`,
		`{"models":["` + strings.Repeat(`aaaaaaaaaaaaaaa","`, 80) + `a"],"n":2}`:                                                  `{"n":2}`,
	} {
		if got := wire.Parameters([]byte(body), membersOf(body)); got != want {
			t.Errorf("%s\n got %s\nwant %s", body, got, want)
		}
	}
}

// Whatever the body, what is kept of it is a small JSON object without a text that has white space.
func FuzzParameters(f *testing.F) {
	f.Add(`{"temperature":1,"provider":{"order":["a"],"zdr":false},"models":[],"reasoning":{"effort":"x"}}`)
	f.Add(`{"voice":"a b","size":"1","n":[1,true,"a"],"thinking":{}}`)
	f.Fuzz(func(t *testing.T, body string) {
		if rawjson.Check([]byte(body), rawjson.Defaults) != nil {
			return
		}
		got := wire.Parameters([]byte(body), membersOf(body))
		if got == "" {
			return
		}
		if len(got) > 1100 || strings.ContainsAny(got, " \t\r\n\\") {
			t.Fatalf("%s became %s", body, got)
		}
		if err := rawjson.Check([]byte(got), rawjson.Defaults); err != nil || rawjson.KindOf([]byte(got)) != rawjson.Object {
			t.Fatalf("%s became %s: %v", body, got, err)
		}
	})
}

func BenchmarkParameters(b *testing.B) {
	body := []byte(`{"model":"acme/small","temperature":0.7,"max_tokens":100,"stream":true,"messages":[{"role":"user","content":"hi"}]}`)
	members := membersOf(string(body))
	b.ReportAllocs()
	for b.Loop() {
		_ = wire.Parameters(body, members)
	}
}
