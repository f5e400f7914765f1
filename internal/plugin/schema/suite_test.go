package schema_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/internal/plugin/schema"
	"weir/internal/rawjson"
)

// foreign are the groups of the official suite whose schemas are refused, by the beginning of "draft/file/description": an answer is not
// checked against such a schema. All others are decided as the suite requires.
var foreign = []string{
	`draft2020-12/anchor/Location-independent identifier with absolute URI`,
	`draft2020-12/anchor/Location-independent identifier with base URI change in subschema`,
	`draft2020-12/anchor/same $anchor with different base uri`,
	`draft2020-12/defs/validate definition against metaschema`,
	`draft2020-12/dynamicRef/A $dynamicRef to a $dynamicAnchor in the same schema resource behaves like a normal $ref to an $anchor`,
	`draft2020-12/dynamicRef/A $dynamicRef to an $anchor in the same schema resource behaves like a normal $ref to an $anchor`,
	`draft2020-12/dynamicRef/A $ref to a $dynamicAnchor in the same schema resource behaves like a normal $ref to an $anchor`,
	`draft2020-12/dynamicRef/A $dynamicRef resolves to the first $dynamicAnchor still in scope that is encountered when the schema is evaluated`,
	`draft2020-12/dynamicRef/A $dynamicRef without anchor in fragment behaves identical to $ref`,
	`draft2020-12/dynamicRef/A $dynamicRef with intermediate scopes that don't include a matching $dynamicAnchor does not affect dynamic scope resolution`,
	`draft2020-12/dynamicRef/An $anchor with the same name as a $dynamicAnchor is not used for dynamic scope resolution`,
	`draft2020-12/dynamicRef/A $dynamicRef without a matching $dynamicAnchor in the same schema resource behaves like a normal $ref to $anchor`,
	`draft2020-12/dynamicRef/A $dynamicRef with a non-matching $dynamicAnchor in the same schema resource behaves like a normal $ref to $anchor`,
	`draft2020-12/dynamicRef/A $dynamicRef that initially resolves to a schema with a matching $dynamicAnchor resolves to the first $dynamicAnchor in the dynamic scope`,
	`draft2020-12/dynamicRef/A $dynamicRef that initially resolves to a schema without a matching $dynamicAnchor behaves like a normal $ref to $anchor`,
	`draft2020-12/dynamicRef/multiple dynamic paths to the $dynamicRef keyword`,
	`draft2020-12/dynamicRef/after leaving a dynamic scope, it is not used by a $dynamicRef`,
	`draft2020-12/dynamicRef/strict-tree schema, guards against misspelled properties`,
	`draft2020-12/dynamicRef/tests for implementation dynamic anchor and reference link`,
	`draft2020-12/dynamicRef/$ref and $dynamicAnchor are independent of order - $defs first`,
	`draft2020-12/dynamicRef/$ref and $dynamicAnchor are independent of order - $ref first`,
	`draft2020-12/dynamicRef/$ref to $dynamicRef finds detached $dynamicAnchor`,
	`draft2020-12/dynamicRef/$dynamicRef points to a boolean schema`,
	`draft2020-12/dynamicRef/$dynamicRef skips over intermediate resources - direct reference`,
	`draft2020-12/not/collect annotations inside a 'not', even if collection is disabled`,
	`draft2020-12/ref/remote ref, containing refs itself`,
	`draft2020-12/ref/Recursive references between schemas`,
	`draft2020-12/ref/ref creates new scope when adjacent to keywords`,
	`draft2020-12/ref/refs with relative uris and defs`,
	`draft2020-12/ref/relative refs with absolute uris and defs`,
	`draft2020-12/ref/$id must be resolved against nearest parent, not just immediate parent`,
	`draft2020-12/ref/order of evaluation: $id and $ref`,
	`draft2020-12/ref/order of evaluation: $id and $anchor and $ref`,
	`draft2020-12/ref/simple URN base URI with $ref via the URN`,
	`draft2020-12/ref/URN base URI with URN and JSON pointer ref`,
	`draft2020-12/ref/URN base URI with URN and anchor ref`,
	`draft2020-12/ref/URN ref with nested pointer ref`,
	`draft2020-12/ref/ref to if`,
	`draft2020-12/ref/ref to then`,
	`draft2020-12/ref/ref to else`,
	`draft2020-12/ref/ref with absolute-path-reference`,
	`draft2020-12/refRemote/`,
	`draft2020-12/unevaluatedItems/`,
	`draft2020-12/unevaluatedProperties/`,
	`draft7/definitions/validate definition against metaschema`,
	`draft7/ref/$ref prevents a sibling $id from changing the base uri`,
	`draft7/ref/remote ref, containing refs itself`,
	`draft7/ref/Recursive references between schemas`,
	`draft7/ref/Location-independent identifier`,
	`draft7/ref/Reference an anchor with a non-relative URI`,
	`draft7/ref/refs with relative uris and defs`,
	`draft7/ref/relative refs with absolute uris and defs`,
	`draft7/ref/$id must be resolved against nearest parent, not just immediate parent`,
	`draft7/ref/simple URN base URI with $ref via the URN`,
	`draft7/ref/URN base URI with URN and JSON pointer ref`,
	`draft7/ref/URN base URI with URN and anchor ref`,
	`draft7/ref/ref to if`,
	`draft7/ref/ref to then`,
	`draft7/ref/ref to else`,
	`draft7/ref/ref with absolute-path-reference`,
	`draft7/refRemote/`,
}

// The official suite, see testdata/suite: every verdict on a schema that is compiled is the suite's.
func TestSuite(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	groups, verdicts := 0, 0
	for _, draft := range []string{"draft2020-12", "draft7"} {
		files, err := filepath.Glob("testdata/suite/" + draft + "/*.json")
		if err != nil || len(files) == 0 {
			t.Fatal("the suite is not there", err)
		}
		for _, file := range files {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for g := rawjson.ElementsOf(raw); g.Next(); groups++ {
				name := draft + "/" + strings.TrimSuffix(filepath.Base(file), ".json") + "/" + rawjson.TextAt(g.Value, "description")
				text := rawjson.Find(g.Value, "schema")
				if draft == "draft7" && rawjson.KindOf(text) == rawjson.Object && rawjson.Find(text, "$schema") == nil {
					text = []byte(strings.Replace(string(text), "{", `{"$schema":"http://json-schema.org/draft-07/schema#",`, 1))
					text = []byte(strings.Replace(string(text), ",}", "}", 1))
				}
				s, err := schema.Compile(t.Context(), text)
				if i := listed(name); i != "" {
					used[i] = true
					if !errors.Is(err, schema.ErrForeign) {
						t.Errorf("%s: it is listed as not understood, and gives %v", name, err)
					}
					continue
				}
				if err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
				for c := rawjson.ElementsOf(rawjson.Find(g.Value, "tests")); c.Next(); verdicts++ {
					want, _ := rawjson.Bool(rawjson.Find(c.Value, "valid"))
					if err := s.Check(t.Context(), rawjson.Find(c.Value, "data")); (err == nil) != want || errors.Is(err, schema.ErrTooLarge) {
						t.Errorf("%s: %s: want %v, got %v", name, rawjson.TextAt(c.Value, "description"), want, err)
					}
				}
			}
		}
	}
	for _, f := range foreign {
		if !used[f] {
			t.Errorf("%s is listed, and is not in the suite", f)
		}
	}
	t.Logf("%d groups, %d verdicts", groups, verdicts)
}

func listed(name string) string {
	for _, f := range foreign {
		if strings.HasPrefix(name, f) {
			return f
		}
	}
	return ""
}
