package config

import (
	"encoding"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"weir/internal/catalog/edit"
	"weir/internal/secret"
)

var providerType = reflect.TypeFor[Provider]()

// Overlay sets scalars by their path, such as "server.listen": the values of flags.
type Overlay map[string]string

// flagSet is where something was set on the command line.
const flagSet = "a flag"

// position is where something was set: a line of the file, a variable, or a flag.
type position struct {
	by   string // the file's path, the variable, or flagSet
	line int    // 0: not in a file
}

func (p position) String() string {
	if p.line == 0 {
		return p.by
	}
	return p.by + ":" + strconv.Itoa(p.line)
}

// positions maps paths to where they were set.
type positions map[string]position

// of returns the position of a value, or of the section that contains it.
func (p positions) of(path string) string {
	for path != "" {
		if at, ok := p[path]; ok {
			return at.String()
		}
		path = path[:max(strings.LastIndexAny(path, ".["), 0)]
	}
	return ""
}

// maxFileBytes is far above any configuration that a person writes.
const maxFileBytes = 16 << 20

// Load reads the configuration: defaults, then the YAML file at path ("": none), then WEIR_* variables, then the overlay. Later ones
// override earlier ones. It checks the whole and returns its errors, at most thirty, each with its position. A configuration that is returned without an
// error is valid.
func Load(path string, env Lookup, overlay Overlay) (Config, error) {
	return load(path, env, overlay, false)
}

// LoadForCommand is Load for commands that call no provider: what they do not need may be missing. In the place of a secret of a provider, the mail
// server, the receiver of traces or a way to sign in that cannot be read stands a word.
func LoadForCommand(path string, env Lookup, overlay Overlay) (Config, error) {
	return load(path, env, overlay, true)
}

// unset is the placeholder for a secret, or a part of an address, that is missing and that the command does not need.
const unset = "unset"

func needless(path string) bool {
	return slices.ContainsFunc([]string{"providers[", "mail.", "tracing.", "sign_in."}, func(section string) bool { return strings.HasPrefix(path, section) })
}

func load(path string, env Lookup, overlay Overlay, forCommand bool) (Config, error) {
	c := Default()
	c.forCommand = forCommand
	var data []byte
	if path != "" {
		var err error
		if data, c.written, err = readFile(path); err != nil {
			return Config{}, err
		}
	}
	return c.parse(path, data, env, overlay)
}

// readFile returns the content of a file and its modification time.
func readFile(path string) (data []byte, written time.Time, err error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, written, fmt.Errorf("the configuration file %s does not exist; copy weir.example.yaml to begin with", path)
	}
	if err == nil && !info.Mode().IsRegular() { // it is read again by each part that looks, and would be empty then: a node would begin on defaults
		return nil, written, fmt.Errorf("the configuration %s is no file but a pipe, a folder or a device, and is read more than once; write it to a file", path)
	}
	if err == nil && info.Size() > maxFileBytes {
		return nil, written, fmt.Errorf("the configuration file %s is larger than %d bytes", path, maxFileBytes)
	}
	if data, err = os.ReadFile(path); err != nil {
		return nil, written, fmt.Errorf("the configuration file cannot be read: %w", err)
	}
	return data, info.ModTime().UTC(), nil
}

func (c Config) parse(path string, data []byte, env Lookup, overlay Overlay) (Config, error) {
	c.places = positions{}
	c.keys = func() []string { return builtinKeys(env) }
	l := loader{file: path, env: env, places: c.places, forCommand: c.forCommand}
	l.document(data, &c)
	l.environment(reflect.ValueOf(&c).Elem())
	for path, instead := range replaced {
		if text, _ := env(Variable(path)); text != "" {
			l.fail(position{by: Variable(path)}, path, "%s: %s", path, instead)
		}
	}
	for key, text := range overlay {
		l.overlay(&c, key, text)
	}
	// What could be read is checked, too, so that one run shows all errors.
	k := checker{c: &c, unread: l.failed}
	for _, path := range l.meant {
		if _, set := l.places[path]; !set {
			k.unread = append(k.unread, path)
		}
	}
	k.inherit(env)
	k.values()
	if errs := append(l.errs, k.errs...); len(errs) > 0 {
		return Config{}, joined(errs)
	}
	c.warnings = l.warnings
	return c, nil
}

// mostErrors are as many as somebody reads. One wrong key in a long list of models would fill thousands of lines.
const mostErrors = 30

func joined(errs []error) error {
	if more := len(errs) - mostErrors; more > 0 {
		errs = append(slices.Clip(errs[:mostErrors]), fmt.Errorf("and %d more errors", more))
	}
	return errors.Join(errs...)
}

type loader struct {
	file   string
	env    Lookup
	places positions
	errs   []error
	failed []string // paths of what could not be read; "": the whole
	meant  []string // paths that misspelt keys were probably for

	warnings []Warning

	forCommand bool // see LoadForCommand
}

func (l *loader) fail(at position, path, format string, args ...any) {
	l.failed = append(l.failed, path)
	l.errs = append(l.errs, fmt.Errorf("%s: %w", at, fmt.Errorf(format, args...)))
}

func (l *loader) at(n *yaml.Node) position { return position{l.file, n.Line} }

func (l *loader) document(data []byte, c *Config) {
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		l.fail(position{by: l.file}, "", "%s", strings.TrimPrefix(err.Error(), "yaml: "))
		return
	}
	if len(doc.Content) == 0 { // an empty file
		return
	}
	l.decode(doc.Content[0], reflect.ValueOf(c).Elem(), "")
}

// decode decodes a node into a value of the configuration. Unknown, repeated and ill-typed entries are errors with their line.
func (l *loader) decode(n *yaml.Node, v reflect.Value, path string) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if path != "" {
		l.places[path] = l.at(n)
	}
	if n.Tag == "!!null" { // a key without a value keeps its default
		return
	}
	switch {
	case isScalar(v.Type()):
		l.scalarNode(n, v, path)
	case v.Kind() == reflect.Struct:
		l.mapping(n, path, func(key, value *yaml.Node, path string) {
			e, constant, names := settable(v.Type(), key.Value)
			if constant {
				l.constant(l.at(key), path, e.of(v))
				return
			}
			if e.name == "" && replaced[path] != "" {
				l.fail(l.at(key), path, "%s: %s", path, replaced[path])
				return
			}
			if e.name == "" {
				l.fail(l.at(key), path, "there is no key %q%s%s", key.Value, within(path, key.Value), suggestion(key.Value, names))
				if meant := nearestOf(key.Value, names); meant != "" {
					l.meant = append(l.meant, strings.TrimSuffix(path, key.Value)+meant)
				}
				return
			}
			if v.Type() == providerType && e.name == "models" && value.Kind == yaml.ScalarNode && value.Tag != "!!null" {
				l.places[path] = l.at(value)
				if value.Value != edit.DiscoverModels {
					l.fail(l.at(value), path, "%s must be a list, or the word %s, not %s", path, edit.DiscoverModels, describe(value))
				}
				v.Addr().Interface().(*Provider).Discover = true
				return
			}
			l.decode(value, e.of(v), path)
		})
	case v.Kind() == reflect.Map:
		l.mapping(n, path, func(key, value *yaml.Node, path string) {
			if v.IsNil() {
				v.Set(reflect.MakeMap(v.Type()))
			}
			item := reflect.New(v.Type().Elem()).Elem()
			l.decode(value, item, path)
			v.SetMapIndex(reflect.ValueOf(key.Value), item)
		})
	case v.Kind() == reflect.Slice:
		l.sequence(n, v, path)
	}
}

func within(path, key string) string {
	if parent := strings.TrimSuffix(strings.TrimSuffix(path, key), "."); parent != "" {
		return " in " + parent
	}
	return ""
}

func (l *loader) mapping(n *yaml.Node, path string, member func(key, value *yaml.Node, path string)) {
	if n.Kind != yaml.MappingNode {
		l.fail(l.at(n), path, "%s must be a mapping (key: value), not %s", orWhole(path), describe(n))
		return
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode {
			l.fail(l.at(key), path, "a key must be plain text")
			continue
		}
		if line, twice := seen[key.Value]; twice {
			l.fail(l.at(key), strings.TrimPrefix(path+"."+key.Value, "."), "the key %q occurs already in line %d", key.Value, line)
			continue
		}
		seen[key.Value] = key.Line
		inner := key.Value
		if path != "" {
			inner = path + "." + key.Value
		}
		member(key, value, inner)
	}
}

func (l *loader) sequence(n *yaml.Node, v reflect.Value, path string) {
	if n.Kind != yaml.SequenceNode {
		l.fail(l.at(n), path, "%s must be a list, not %s", path, describe(n))
		return
	}
	list := reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content))
	for i, item := range n.Content {
		l.decode(item, element(list, i), path+"["+strconv.Itoa(i)+"]")
	}
	v.Set(list)
}

// element is the one of a list, as a value of the type that it is read as.
func element(list reflect.Value, i int) reflect.Value {
	v := list.Index(i)
	if list.Type() == amountsType {
		return v.Addr().Convert(reflect.PointerTo(kopecksType)).Elem()
	}
	return v
}

func orWhole(path string) string {
	if path == "" {
		return "the file"
	}
	return path
}

func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	return "the value " + strconv.Quote(clip(n.Value))
}

func clip(s string) string {
	if len(s) > 40 {
		return s[:40] + "..."
	}
	return s
}

func (l *loader) scalarNode(n *yaml.Node, v reflect.Value, path string) {
	if v.Type() == builtinType && n.Kind == yaml.SequenceNode {
		var ids []string
		l.sequence(n, reflect.ValueOf(&ids).Elem(), path)
		v.Set(reflect.ValueOf(Builtin{Only: append([]string{}, ids...)}))
		return
	}
	if n.Kind != yaml.ScalarNode {
		l.fail(l.at(n), path, "%s must be %s, not %s", path, typeName(v.Type()), describe(n))
		return
	}
	if v.Kind() == reflect.String && n.Tag == "!!bool" && v.Type() != decimalType {
		l.fail(l.at(n), path, "%s must be text, not %s; put it in quotes if it is meant so", path, n.Value)
		return
	}
	l.set(l.at(n), path, v, n.Value)
}

func typeName(t reflect.Type) string {
	switch {
	case t == durationType:
		return "a duration"
	case t == sizeType, t == intSizeType:
		return "a size"
	case t == memoryType:
		return "a size or auto"
	case t == decimalType, t == floatType, t == nanoType, t == kopecksType:
		return "a decimal number"
	case t == builtinType:
		return "true, false or a list of provider ids"
	case t.Kind() == reflect.Bool:
		return "true or false"
	case t.Kind() == reflect.Int64, t.Kind() == reflect.Int:
		return "a whole number"
	}
	return "text"
}

// set parses a text into a scalar.
func (l *loader) set(at position, path string, v reflect.Value, text string) {
	var value any
	var err error
	switch {
	case readsItself(v.Type()):
		if err := v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(text)); err != nil {
			l.fail(at, path, "%s: %w", path, err)
		}
		return
	case v.Type() == durationType:
		value, err = parseDuration(text)
	case v.Type() == sizeType, v.Type() == intSizeType:
		value, err = parseSize(text)
	case v.Type() == memoryType:
		value, err = parseMemory(text)
	case v.Type() == decimalType:
		value, err = parseDecimal(text)
	case v.Type() == nanoType:
		value, err = parseRubles(text)
	case v.Type() == floatType:
		value, err = parseFloat(text)
	case v.Type() == kopecksType:
		value, err = parseKopecks(text)
	case v.Type() == secretType:
		if value, err = readSecret(text, l.env); err != nil && l.forCommand && needless(path) {
			value, err = secret.Absent(unset), nil
		}
	case v.Type() == dsnType:
		var s secret.Text
		s, err = readSecret(text, l.env)
		value = s.Reveal()
	case v.Type() == proxyType:
		value, err = readProxy(text, l.env)
	case v.Type() == builtinType:
		value, err = parseBuiltin(text)
	case v.Kind() == reflect.Bool:
		value, err = parseBool(text)
	case v.Kind() == reflect.Int64, v.Kind() == reflect.Int:
		value, err = parseInt(text)
	default:
		value = text
	}
	if err != nil {
		l.fail(at, path, "%s: %w", path, err)
		return
	}
	v.Set(reflect.ValueOf(value).Convert(v.Type()))
}

func parseBool(text string) (bool, error) {
	switch strings.ToLower(text) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, fmt.Errorf("%q is neither true nor false", clip(text))
}

func parseInt(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%q is not a whole number of 0 or more", clip(text))
	}
	return n, nil
}

func parseBuiltin(text string) (Builtin, error) {
	if all, err := parseBool(text); err == nil {
		return Builtin{All: all}, nil
	}
	return Builtin{Only: splitList(text)}, nil
}

// splitList splits a list in a variable or a flag: entries between commas.
func splitList(text string) []string {
	out := []string{}
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

// settable finds an entry of a section by its name in the file, and says whether it is a constant that cannot be set. If there is none, it lists all
// names for a suggestion.
func settable(t reflect.Type, name string) (e entry, constant bool, names []string) {
	if e, ok := entryNamed(t, name); ok {
		return e, e.constant && SettableConstants == "" && isScalar(e.read), nil
	}
	for _, e := range entriesOf(t) {
		if !e.constant {
			names = append(names, e.name)
		}
	}
	return entry{}, false, names
}

// Variable returns the environment variable that overrides the scalar at a path: WEIR_ and the path in capitals, with _ instead of dots.
func Variable(path string) string {
	return "WEIR_" + strings.ToUpper(strings.ReplaceAll(path, ".", "_"))
}

// replaced maps removed keys to their replacement.
var replaced = map[string]string{
	"server.http_server":   "there is one HTTP server; remove this key",
	"server.timeouts.busy": "no call is refused because processors are busy; remove this key",
	"fetch.allow": "this list became three: allow_provider_media (files that providers name), allow_client_media (files that clients name), " +
		"allow_callbacks (receivers of events); write to each what it needs",
}

// environment applies the variables for scalars and lists of texts, except those in providers and models.
func (l *loader) environment(v reflect.Value) {
	eachVariable(v, "", func(path string, field reflect.Value) {
		if text, _ := l.env(Variable(path)); text != "" { // many deployments set variables to "" instead of leaving them out
			l.replace(position{by: Variable(path)}, path, field, text)
		}
	})
	eachConstant(v, func(path string, field reflect.Value) {
		switch text, _ := l.env(Variable(path)); {
		case text == "":
		case SettableConstants != "":
			l.override(position{by: Variable(path)}, path, field, text)
		default:
			l.constant(position{by: Variable(path)}, path, field)
		}
	})
}

// eachVariable finds all that a variable can set.
func eachVariable(v reflect.Value, path string, found func(path string, field reflect.Value)) {
	for _, e := range entriesOf(v.Type()) {
		if e.constant {
			continue
		}
		inner := e.name
		if path != "" {
			inner = path + "." + e.name
		}
		switch field := e.of(v); {
		case isScalar(e.read), e.read == reflect.TypeFor[[]string](), e.read == amountsType:
			found(inner, field)
		case field.Kind() == reflect.Struct:
			eachVariable(field, inner, found)
		}
	}
}

// replace is override for a variable, which may have been set long ago and elsewhere: that it wins over another value of the file is said.
func (l *loader) replace(at position, path string, field reflect.Value, text string) {
	written, before := l.places[path], fmt.Sprint(revealed(field))
	l.override(at, path, field, text)
	if written.line > 0 && fmt.Sprint(revealed(field)) != before {
		l.warnings = append(l.warnings, Warning{fmt.Sprintf("%s: %s has another value there, and %s is used", written, path, at.by),
			"remove one of the two"})
	}
}

// revealed is a value that can be compared: secrets print as one word.
func revealed(v reflect.Value) any {
	if s, ok := v.Interface().(interface{ Reveal() string }); ok {
		return s.Reveal()
	}
	return v.Interface()
}

func (l *loader) override(at position, path string, field reflect.Value, text string) {
	switch {
	case isScalar(field.Type()):
		l.places[path] = at
		l.set(at, path, field, text)
	case field.Type() == reflect.TypeFor[[]string]():
		l.places[path] = at
		field.Set(reflect.ValueOf(splitList(text)))
	case field.Type() == amountsType:
		l.places[path] = at
		parts := splitList(text)
		list := reflect.MakeSlice(amountsType, len(parts), len(parts))
		for i, part := range parts {
			l.set(at, path+"["+strconv.Itoa(i)+"]", element(list, i), part)
		}
		field.Set(list)
	}
}

func (l *loader) overlay(c *Config, path, text string) {
	v := reflect.ValueOf(c).Elem()
	for name := range strings.SplitSeq(path, ".") {
		var e entry
		var names []string
		var constant bool
		if isSection(v.Type()) {
			e, constant, names = settable(v.Type(), name)
		}
		if e.name == "" || constant {
			l.fail(position{by: flagSet}, path, "there is no setting %q%s", path, suggestion(name, names))
			return
		}
		v = e.of(v)
	}
	l.override(position{by: flagSet}, path, v, text)
}

// suggestion returns the known key nearest to a mistyped one, if one is near.
func suggestion(name string, known []string) string {
	best := nearestOf(name, known)
	if best == "" {
		if len(known) > 0 && len(known) <= 12 {
			return "; known here: " + strings.Join(known, ", ")
		}
		return ""
	}
	return "; did you mean " + best + "?"
}

func nearestOf(name string, known []string) string {
	best, least := "", 1+len(name)/3
	for _, k := range known {
		if d := distance(strings.ToLower(name), k); d <= least {
			best, least = k, d-1
		}
	}
	return best
}

// distance returns the number of letters to insert, remove, replace or swap to get from a to b.
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			d := min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, rows[i-2][j-2]+1)
			}
			rows[i][j] = d
		}
	}
	return rows[len(a)][len(b)]
}
