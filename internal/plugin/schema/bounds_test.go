package schema_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"weir/internal/plugin/schema"
)

func repeated(s string, n int) string { return strings.Repeat(s, n) }

func each(n int, format string) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// twice is a schema that looks at each level of a document twice, so that the work doubles with each.
const twice = `"$defs":{"x":{"type":"array","items":{"anyOf":[{"$ref":"#/$defs/x"},{"$ref":"#/$defs/x"},{"type":"null"}]}}}`

// hostile are schemas, with documents, that cost much for their size.
var hostile = []struct{ name, schema, doc string }{
	{"patterns of a million instructions", `{"allOf":[` + each(6, `{"pattern":"(?:a{1000}){100%d}"}`) + `]}`, `"a"`},
	{"a pattern that nests repetitions", `{"pattern":"` + repeated("(?:", 9) + "a" + repeated("{1000})", 9) + `"}`, `"a"`},
	{"many middling patterns", `{"allOf":[` + each(1000, `{"pattern":"(?:a%d){900}"}`) + `]}`, `"a"`},
	{"classes", `{"pattern":"` + repeated(`\\pL`, 5000) + `"}`, `"a"`},
	{"folded classes", `{"pattern":"` + repeated(`(?i)[B-\\x{1e942}]`, 1000) + `"}`, `"a"`},
	{"patterns of names", `{"patternProperties":{` + each(1000, `"(?:a%d){900}":{}`) + `}}`, `{"a":1}`},
	{"a slow pattern and a long text", `{"pattern":"(a?){200}b"}`, `"` + repeated("a", 1<<20) + `"`},
	{"a slow pattern and many names", `{"patternProperties":{"(a?){200}b":{}}}`, `{` + each(5000, `"`+repeated("a", 100)+`%d":1`) + `}`},
	{"a pattern on every element", `{"items":{"pattern":"(a?){99}b"}}`, `[` + each(50_000, `"aaaaaaaaaaaaaa%d"`) + `]`},
	{"a circle", `{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`, `1`},
	{"itself", `{"$ref":"#"}`, `1`},
	{"itself in all of", `{"allOf":[{"$ref":"#"},{"$ref":"#"}]}`, `1`},
	{"twice", `{"$ref":"#/$defs/x",` + twice + `}`, repeated("[", 60) + "1" + repeated("]", 60)},
	{"not twice", `{"not":{"$ref":"#/$defs/x"},` + twice + `}`, repeated("[", 60) + "1" + repeated("]", 60)},
	{"a ladder of all of", `{"$ref":"#/$defs/a0","$defs":{` + each(90, `"a%[1]d":{"allOf":[{"$ref":"#/$defs/n%[1]d"},{"$ref":"#/$defs/n%[1]d"}]}`) + `,` +
		ladder(90) + `}}`, `1`},
	{"references behind a long text", `{"$comment":"` + repeated("x", 1<<20-300_000) + `","properties":{` + each(9000, `"p%[1]d":{"$ref":"#/$defs/d%[1]d"}`) + `},"$defs":{` + each(1000, `"d%d":{}`) + `}}`, `{}`},
	{"references", `{"properties":{` + each(9000, `"p%[1]d":{"$ref":"#/$defs/d%[1]d"}`) + `},"$defs":{` + each(9000, `"d%d":{}`) + `}}`, `{}`},
	{"a long chain of references", `{"$ref":"#/$defs/d0","$defs":{` + chain(5000) + `}}`, `1`},
	{"one place under many names", `{"allOf":[` + each(20_000, `{"$ref":"#/$defs/a?%d"}`) + `]}`, `1`},
	{"anchors", `{"$ref":"#a0","$defs":{` + each(20_000, `"d%[1]d":{"$anchor":"a%[1]d"}`) + `}}`, `1`},
	{"too large", `{"$comment":"` + repeated("x", 1<<20) + `"}`, `1`},
	{"too deep", repeated(`{"not":`, 120) + "{}" + repeated("}", 120), `1`},
	{"too many", `{"allOf":[` + each(100_000, `{"$id":%d}`) + `]}`, `1`},
	{"many empty ones", `{"allOf":[` + repeated("{},", 300_000) + `{}]}`, `1`},
	{"many maps", `{"allOf":[` + repeated(`{"properties":{"a":{}}},`, 40_000) + `{}]}`, `1`},
	{"many lists", `{"enum":[` + repeated("1,", 500_000) + `1]}`, `2`},
	{"enum of numbers", `{"items":{"enum":[` + each(2000, "%d") + `]}}`, `[` + repeated("-1,", 20_000) + `1]`},
	{"enum of huge numbers", `{"items":{"enum":[` + each(200, "%de999999") + `]}}`, `[` + repeated("-1,", 200) + `1]`},
	{"enum of objects", `{"items":{"enum":[` + each(500, `{"a":1,"b":%d}`) + `]}}`, `[` + repeated(`{"b":-1,"a":1},`, 5000) + `1]`},
	{"const of many members", `{"items":{"const":{` + each(3000, `"a%d":1`) + `}}}`, `[{` + each(3000, `"a%d":1.0`) + `},1]`},
	{"unique numbers", `{"uniqueItems":true}`, `[` + each(20_000, "%d") + `]`},
	{"unique huge numbers", `{"uniqueItems":true}`, `[` + repeated("1e2000000,", 30) + `1]`},
	{"unique texts", `{"uniqueItems":true}`, `[` + each(3000, `"`+repeated("x", 200)+`\u0061%d"`) + `]`},
	{"required", `{"required":[` + each(30_000, `"r%d"`) + `]}`, `{` + each(30_000, `"r%d":1`) + `}`},
	{"names", `{"propertyNames":{"enum":[` + each(5000, `"n%d"`) + `]}}`, `{` + each(30_000, `"n%d":1`) + `}`},
	{"dependencies", `{"dependentRequired":{` + each(3000, `"r%[1]d":["r%[1]d","r2999"]`) + `}}`, `{` + each(3000, `"r%d":1`) + `}`},
	{"multiples", `{"items":{"multipleOf":1e-390}}`, `[` + repeated("1e390,", 100_000) + `1]`},
	{"bounds", `{"items":{"minimum":1e-390,"maximum":3e390}}`, `[` + repeated("2e390,", 100_000) + `1]`},
	{"contains", `{"contains":{"anyOf":[` + each(1000, `{"const":%d}`) + `]}}`, `[` + repeated("-1,", 50_000) + `1]`},
	{"deep in the document", `{"$ref":"#/$defs/x","$defs":{"x":{"items":{"$ref":"#/$defs/x"},"properties":{"a":{"$ref":"#/$defs/x"}}}}}`,
		repeated(`{"a":`, 100) + `"` + repeated("x", 1<<20) + `"` + repeated("}", 100)},
}

func ladder(n int) string { return each(n, `"n%[1]d":{"allOf":[{"$ref":"#/$defs/s0"}]}`) + steps(n) }

func steps(n int) string {
	var b strings.Builder
	for i := range n {
		next := fmt.Sprintf(`{"$ref":"#/$defs/s%d"}`, i+1)
		if i == n-1 {
			next = "{}"
		}
		fmt.Fprintf(&b, `,"s%d":{"allOf":[%s,%s]}`, i, next, next)
	}
	return b.String()
}

func chain(n int) string {
	return each(n-1, `"d%d":{"$ref":"#/$defs/x"}`) + fmt.Sprintf(`,"x":{"$ref":"#/$defs/d%d"}`, n-2)
}

// What compiling and checking may allocate, whatever the schema and the document: texts are copied where they are unquoted, and a step may make
// a number of a thousand digits.
const (
	mostForCompiling = 48 << 20
	mostForChecking  = 512 << 20
	mostKept         = 16 << 20
)

// Work and memory stay within their bounds: bytes are counted, no clock is looked at, and what has no bound does not come to an end here.
func TestHostileSchemas(t *testing.T) { //nolint:paralleltest // it counts what is allocated
	if testing.Short() {
		t.Skip("costs ten seconds with the race detector")
	}
	for _, h := range hostile { //nolint:paralleltest // see above
		t.Run(h.name, func(t *testing.T) { bounded(t, []byte(h.schema), []byte(h.doc)) })
	}
}

func bounded(t *testing.T, raw, doc []byte) {
	t.Helper()
	runtime.GC()
	before, kept := allocated()
	s, err := schema.Compile(t.Context(), raw)
	runtime.GC()
	after, keeps := allocated()
	if n := after - before; n > mostForCompiling {
		t.Errorf("compiling allocated %d MiB", n>>20)
	}
	if n := int64(keeps) - int64(kept); n > mostKept {
		t.Errorf("the schema keeps %d MiB", n>>20)
	}
	if err != nil {
		return
	}
	err = s.Check(t.Context(), doc)
	checked, _ := allocated()
	if n := checked - after; n > mostForChecking {
		t.Errorf("checking allocated %d MiB", n>>20)
	}
	if err != nil && err.Error() == "" {
		t.Error("an error without words")
	}
}

// allocated is how many bytes were ever allocated, and how many are in use.
func allocated() (all, inUse uint64) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc, m.HeapAlloc
}

// A check ends with its context, whatever it is doing.
func TestEndsWithContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s, err := schema.Compile(ctx, []byte(`{"not":{"$ref":"#/$defs/x"},`+twice+`}`))
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := s.Check(ctx, []byte(repeated("[", 60)+"1"+repeated("]", 60))); !errors.Is(err, context.Canceled) {
		t.Errorf("the check ended with %v", err)
	}
	if _, err := schema.Compile(ctx, []byte(`{"allOf":[`+repeated("{},", 10_000)+`{}]}`)); !errors.Is(err, context.Canceled) {
		t.Errorf("compiling ended with %v", err)
	}
}
