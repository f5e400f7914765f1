package structure_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "weir"

// source is one Go file that is not a test.
type source struct {
	pkg     string            // directory in the module, with slashes: "internal/money"
	name    string            // file, for messages
	imports map[string]string // import path by the name it has in the file
	uses    []use             // qualified names: time.Now
}

type use struct {
	pkg, name string // import path and identifier
	line      int
}

func TestImportsPointDown(t *testing.T) {
	t.Parallel()
	files, err := readTree(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 5 {
		t.Fatalf("found only %d Go files: the test looks in the wrong place", len(files))
	}
	for _, complaint := range check(files) {
		t.Error(complaint)
	}
}

// TestCheckComplains checks files that break one rule each, to show that every rule works.
func TestCheckComplains(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, pkg, code string
		want            string // part of the one complaint; "": none
	}{
		{"domain over foundation", "internal/usage", `import "weir/internal/money"; var _ money.Nano`, ""},
		{"domain beside domain", "internal/routing", `import "weir/internal/catalog"; var _ catalog.Model`, ""},
		{"wire over sse", "internal/wire/chat", `import "weir/internal/wire/sse"; var _ sse.Reader`, ""},
		{"httpapi over wire", "internal/httpapi", `import "weir/internal/wire/chat"; var _ chat.Sink`, ""},
		{"relay's injected clock", "internal/relay", `import "time"; func f(now func() time.Time) time.Time { return now() }`, ""},
		{"journal writes files", "internal/ledger/journal", `import "os"; var _ os.File`, ""},

		{"foundation up", "internal/money", `import "weir/internal/usage"; var _ usage.Usage`, "stands above"},
		{"domain over relay", "internal/ledger", `import "weir/internal/relay"; var _ relay.Call`, "stands above"},
		{"domain over edge", "internal/routing", `import "weir/internal/upstream"; var _ upstream.Client`, "stands above"},
		{"listener over routes", "internal/httpserver", `import "weir/internal/httpapi"; var _ httpapi.API`, "never one another"},
		{"edge over edge", "internal/httpapi", `import "weir/internal/store/sqlite"; var _ sqlite.Store`, "never one another"},
		{"style over style", "internal/wire/responses", `import "weir/internal/wire/chat"; var _ chat.Sink`, "never one another"},
		{"dialect over style", "internal/dialect/openai", `import "weir/internal/wire/chat"; var _ chat.Sink`, "never one another"},
		{"edge over config", "internal/httpapi", `import "weir/internal/config"; var _ config.Config`, "may only be imported by"},
		{"domain over rawjson", "internal/usage", `import "weir/internal/rawjson"; var _ rawjson.Kind`, "may only be imported by"},
		{"app over suite", "internal/app", `import "weir/internal/store/storetest"; var _ = storetest.Run`, "only by tests"},
		{"app over command", "internal/app", `import "weir/cmd/weir"; var _ = weir.Main`, "stands above"},
		{"anything over bench", "internal/app", `import "weir/bench"; var _ = bench.Run`, "stands apart"},
		{"bench over anything", "bench", `import "weir/internal/money"; var _ money.Nano`, "stands apart"},
		{"simulator over anything", "internal/sim", `import "weir/internal/wire/sse"; var _ sse.Reader`, "shares no code"},
		{"a wire of the simulator over the gateway", "internal/sim/media", `import "weir/internal/video"; var _ video.Job`, "shares no code"},
		{"tools of the simulator over its wires", "internal/sim/kit", `import "weir/internal/sim/chat"; var _ chat.Wires`, "shares no code"},
		{"a wire of the simulator over its tools", "internal/sim/media", `import "weir/internal/sim/kit"; var _ kit.Wire`, ""},
		{"edge over files of the repository", "internal/docsite", `import "weir"; var _ = weir.Files`, "may only be imported by"},
		{"unknown package", "internal/util", `import "fmt"; var _ = fmt.Sprint`, "has no line"},
		{"import of unknown package", "internal/app", `import "weir/internal/util"; var _ = util.X`, "has no line"},
		{"domain over net/http", "internal/relay", `import "net/http"; var _ http.Header`, "the domain does without"},
		{"domain over database/sql", "internal/apikey", `import "database/sql"; var _ sql.DB`, "database/sql"},
		{"domain over files", "internal/ledger", `import "os"; var _ os.File`, "the domain does without"},
		{"domain's own clock", "internal/ledger", `import "time"; var _ = time.Now()`, "time.Now"},
		{"renamed clock", "internal/usage", `import clock "time"; var _ = clock.Now()`, "time.Now"},
		{"domain's own ticker", "internal/history", `import "time"; var _ = time.NewTicker(1)`, "loop.Every"},
		{"domain's own timer", "internal/relay", `import "time"; var _ = time.NewTimer(1)`, "loop.Wait"},
		{"the loop's timer", "internal/loop", `import "time"; var _ = time.NewTimer(1)`, ""},
		{"encoding/json", "internal/httpapi", `import "encoding/json"; var _ = json.Marshal`, "encoding/json may be imported only in"},
		{"jsontext at an edge", "internal/wire/chat", `import "github.com/go-json-experiment/json/jsontext"; var _ jsontext.Kind`, "only in internal/rawjson"},
		{"hidden parameter", "internal/upstream", `import "os"; var _ = os.Getenv("X")`, "hidden parameter"},
		{"testing outside suites", "internal/sim", `import "testing"; var _ testing.T`, "testing"},
		{"dot import", "internal/app", `import . "fmt"; var _ = Sprint`, "dot import"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			file, err := parseSource(c.pkg, "x.go", "package x\n"+strings.ReplaceAll(c.code, "; ", "\n"))
			if err != nil {
				t.Fatal(err)
			}
			got := check([]source{file})
			if c.want == "" {
				if len(got) > 0 {
					t.Fatalf("complaints about a file that is right: %q", got)
				}
				return
			}
			if len(got) == 0 || !strings.Contains(strings.Join(got, "\n"), c.want) {
				t.Fatalf("complaints are %q; want one with %q", got, c.want)
			}
		})
	}
}

// TestRulesNameRealPackages finds rules of packages that no longer exist.
func TestRulesNameRealPackages(t *testing.T) {
	t.Parallel()
	for name := range rules {
		dir, family := strings.CutSuffix(name, "/...")
		info, err := os.Stat(filepath.Join("..", "..", filepath.FromSlash(dir)))
		if err != nil || !info.IsDir() {
			t.Errorf("%s is in the table but not in the tree: remove its line (family: %v)", name, family)
		}
	}
}

// readTree parses every Go file of the module at root that is neither a test nor test data. It skips nested modules, which have separate
// rules.
func readTree(root string) ([]source, error) {
	var files []source
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return enter(root, file, entry.Name())
		}
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		code, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		parsed, err := parseSource(path.Dir(rel), rel, string(code))
		files = append(files, parsed)
		return err
	})
	return files, err
}

// enter returns filepath.SkipDir for a directory without packages of this module.
func enter(root, dir, name string) error {
	if dir == root {
		return nil
	}
	if name == "testdata" || name == "node_modules" || name == "vendor" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
		return fs.SkipDir
	}
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
		return fs.SkipDir
	}
	return nil
}

func parseSource(pkg, name, code string) (source, error) {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, name, code, parser.SkipObjectResolution)
	if err != nil {
		return source{}, err
	}
	file := source{pkg: pkg, name: name, imports: map[string]string{}}
	for _, spec := range parsed.Imports {
		target, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return source{}, err
		}
		local := path.Base(target)
		if spec.Name != nil {
			local = spec.Name.Name
		}
		if local == "_" || local == "." {
			local += " " + target // several imports may have this name, and nothing is selected from it
		}
		file.imports[local] = target
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		selector, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if id, ok := selector.X.(*ast.Ident); ok && file.imports[id.Name] != "" {
			file.uses = append(file.uses, use{file.imports[id.Name], selector.Sel.Name, set.Position(selector.Pos()).Line})
		}
		return true
	})
	return file, nil
}

// check returns one sentence for each broken rule: the problem, its position, and the fix.
func check(files []source) []string {
	var complaints []string
	for _, file := range files {
		complain := func(format string, args ...any) {
			complaints = append(complaints, file.name+": "+fmt.Sprintf(format, args...))
		}
		own := find(file.pkg)
		if !own.declared {
			complain("package %s has no line in internal/structure/rules_test.go: decide where it stands, add it there and to docs/structure.md", file.pkg)
			continue
		}
		for local, target := range file.imports {
			if strings.HasPrefix(local, ". ") {
				complain("dot import of %s: nobody sees where a name comes from; import it plainly", target)
			}
			if target == module {
				target += "/." // the package at the root
			}
			if below, ours := strings.CutPrefix(target, module+"/"); ours {
				checkOurs(file.pkg, own, below, complain)
			} else {
				checkOutside(file.pkg, own, target, complain)
			}
		}
		checkCalls(file, own, complain)
	}
	slices.Sort(complaints)
	return complaints
}

func checkOurs(pkg string, own rule, target string, complain func(string, ...any)) {
	other := find(target)
	switch {
	case !other.declared:
		complain("imports %s, which has no line in internal/structure/rules_test.go: decide where it stands and add it", target)
	case own.layer == apart || other.layer == apart:
		complain("imports %s, but %s stands apart from the rest: talk to it over the network, or move what both need", target, apartOf(pkg, own, target))
	case own.alone && !within(target, own.beside):
		complain("imports %s, but %s shares no code with what it is there to test: a mistake in both would go unseen; write what it needs in it", target, pkg)
	case other.suite && !own.suite:
		complain("imports %s, a suite: it may be imported only by tests and by other suites", target)
	case other.layer > own.layer:
		complain("%s (%s) imports %s (%s), which stands above it: declare an interface here with the one or two methods you need, and let internal/app hand it in",
			pkg, own.layer, target, other.layer)
	case other.users != nil && !slices.Contains(other.users, own.layer):
		complain("%s (%s) imports %s, which may only be imported by %v: take a value or an interface instead", pkg, own.layer, target, other.users)
	case other.layer == own.layer && own.layer != domain && !within(target, own.beside):
		complain("%s imports %s: packages of the layer %q may import what is below, never one another; move what both need down, or let internal/app connect them",
			pkg, target, own.layer)
	}
}

func apartOf(pkg string, own rule, target string) string {
	if own.layer == apart {
		return pkg
	}
	return target
}

func checkOutside(pkg string, own rule, target string, complain func(string, ...any)) {
	for _, h := range homes {
		if own.layer == apart || !below(target, h.path) || within(pkg, h.in) {
			continue
		}
		where := "nowhere"
		if len(h.in) > 0 {
			where = "only in " + strings.Join(h.in, ", ")
		}
		complain("%s may be imported %s: %s", target, where, h.why)
	}
	if target == "testing" && !own.suite {
		complain("imports testing: only conformance suites may, so that the flags of go test stay out of the program")
	}
	if own.layer != foundation && own.layer != domain && own.layer != relaying {
		return
	}
	if target == "os" && own.files {
		return
	}
	if slices.ContainsFunc(domainMayNot, func(banned string) bool { return target == banned || banned != "net" && below(target, banned) }) {
		complain("%s (%s) imports %s, which the domain does without: declare an interface for what you need and let an edge satisfy it", pkg, own.layer, target)
	}
}

func checkCalls(file source, own rule, complain func(string, ...any)) {
	if own.layer == apart {
		return
	}
	inDomain := own.layer == foundation || own.layer == domain || own.layer == relaying
	for _, used := range file.uses {
		for _, c := range calls {
			if used.pkg != c.pkg || used.name != c.name || within(file.pkg, c.in) || !c.all && !inDomain {
				continue
			}
			complain("line %d uses %s.%s: %s", used.line, c.pkg, c.name, c.why)
		}
	}
}

// find returns the rule of a package: its exact line, else that of the closest family.
func find(pkg string) rule {
	if r, ok := rules[pkg]; ok {
		r.declared = true
		return r
	}
	for dir := path.Dir(pkg); dir != "."; dir = path.Dir(dir) {
		if r, ok := rules[dir+"/..."]; ok {
			r.declared = true
			return r
		}
	}
	return rule{}
}

// within reports whether pkg is in list, where "x/..." includes all packages below x.
func within(pkg string, list []string) bool {
	return slices.ContainsFunc(list, func(item string) bool {
		dir, family := strings.CutSuffix(item, "/...")
		if family {
			return strings.HasPrefix(pkg, dir+"/")
		}
		return pkg == item
	})
}

func below(pkg, dir string) bool { return pkg == dir || strings.HasPrefix(pkg, dir+"/") }
