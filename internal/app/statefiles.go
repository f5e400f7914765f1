package app

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"weir/internal/rawjson"
	"weir/internal/resource"
)

// What files say of a secret that is not in them.
const (
	keptSecret = "kept" // the one that the gateway has stays
	noSecret   = "none"
)

// maxStateFile bounds a file: thousands of endpoints are a few MiB.
const maxStateFile = 16 << 20

// StateFiles reads what an operator sets from files.
type StateFiles struct {
	Kinds []resource.Kind
	Env   func(name string) (string, bool) // finds the secrets that files refer to; nil: they are not looked up
	Stdin io.Reader

	sets map[string]*resource.Set
	refs map[string]string // kind and id -> what the files say of its secret
}

// References are what the files of the last Read say of secrets, by kind and id.
func (s *StateFiles) References() map[string]string { return s.refs }

// Read reads all YAML files of a folder, or one file, or with "-" standard input. The sets are in the order of the kinds; a kind that no file
// names has none.
func (s *StateFiles) Read(path string) ([]resource.Set, error) {
	s.sets, s.refs = map[string]*resource.Set{}, map[string]string{}
	files := []string{path}
	if info, err := os.Stat(path); path != "-" && err != nil {
		return nil, err
	} else if path != "-" && info.IsDir() {
		files = nil
		entries, err := os.ReadDir(path)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if ext := filepath.Ext(e.Name()); !e.IsDir() && (ext == ".yaml" || ext == ".yml") {
				files = append(files, filepath.Join(path, e.Name()))
			}
		}
		if files == nil {
			return nil, fmt.Errorf("%s has no YAML file; make them with: weir state export %s", path, path)
		}
	}
	for _, name := range files {
		if err := s.file(name); err != nil {
			return nil, err
		}
	}
	var out []resource.Set
	for i := range s.Kinds {
		if set := s.sets[s.Kinds[i].Name]; set != nil {
			out = append(out, *set)
		}
	}
	return out, nil
}

func (s *StateFiles) file(name string) error {
	in, at := s.Stdin, "standard input"
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		in, at = f, name
	}
	data, err := io.ReadAll(io.LimitReader(in, maxStateFile+1))
	if err != nil {
		return err
	}
	if len(data) > maxStateFile {
		return fmt.Errorf("%s is larger than %d MiB", at, maxStateFile>>20)
	}
	for d := yaml.NewDecoder(bytes.NewReader(data)); ; {
		var doc yaml.Node
		if err := d.Decode(&doc); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
		if len(doc.Content) == 1 && doc.Content[0].Tag == "!!null" {
			continue // only comments
		}
		if err := s.document(at, name, &doc); err != nil {
			return err
		}
	}
}

func (s *StateFiles) document(at, name string, doc *yaml.Node) error {
	return members(at, doc.Content[0], func(key string, where string, v *yaml.Node) error {
		i := slices.IndexFunc(s.Kinds, func(k resource.Kind) bool { return k.Name == key })
		if i < 0 {
			names := make([]string, len(s.Kinds))
			for j := range s.Kinds {
				names[j] = s.Kinds[j].Name
			}
			return fmt.Errorf("%s: %q is no kind of resources; there are %s", where, key, strings.Join(names, ", "))
		}
		k := &s.Kinds[i]
		set := s.sets[key]
		if set == nil {
			set = &resource.Set{Kind: *k}
			s.sets[key] = set
		}
		if k.Lone != "" {
			return s.item(set, k.Lone, name, where, v)
		}
		if v.Tag == "!!null" {
			return nil
		}
		return members(at, v, func(id, where string, v *yaml.Node) error { return s.item(set, id, name, where, v) })
	})
}

// members calls each for the members of a mapping.
func members(at string, v *yaml.Node, each func(name, where string, v *yaml.Node) error) error {
	where := func(n *yaml.Node) string { return fmt.Sprintf("%s:%d", at, n.Line) }
	if v.Kind != yaml.MappingNode {
		return fmt.Errorf("%s: names with values are expected here", where(v))
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(v.Content); i += 2 {
		key := v.Content[i]
		switch {
		case key.Kind != yaml.ScalarNode || key.Tag == "!!merge" || v.Content[i+1].Kind == yaml.AliasNode:
			return fmt.Errorf("%s: write it out: anchors and references are not read", where(key))
		case seen[key.Value]:
			return fmt.Errorf("%s: %s is here twice", where(key), key.Value)
		}
		seen[key.Value] = true
		if err := each(key.Value, where(key), v.Content[i+1]); err != nil {
			return err
		}
	}
	return nil
}

func (s *StateFiles) item(set *resource.Set, id, file, where string, v *yaml.Node) error {
	if i := slices.IndexFunc(set.Items, func(w resource.Wanted) bool { return w.ID == id }); i >= 0 {
		return fmt.Errorf("%s: the %s %q is at %s, too", where, set.One, id, set.Items[i].At)
	}
	w := resource.Wanted{ID: id, At: where, Fields: resource.Fields{}}
	at := where[:strings.LastIndexByte(where, ':')]
	if v.Tag != "!!null" {
		if err := members(at, v, func(name, where string, v *yaml.Node) (err error) {
			if set.Key != "" && name == set.Key {
				s.refs[set.Name+" "+id], w.Kept = v.Value, v.Value == keptSecret
				w.Secret, err = s.secret(name, file, where, v)
				return err
			}
			return flatten(&set.Kind, w.Fields, at, name, where, v)
		}); err != nil {
			return err
		}
	}
	if set.Check != nil {
		if err := set.Check(id, w.Fields); err != nil {
			return resource.Within(fmt.Sprintf("%s: %s %q", where, set.One, id), err)
		}
	}
	set.Items = append(set.Items, w)
	return nil
}

// flatten writes a value as fields: names with points, the numbers of a list's objects, words with commas, and JSON where the kind has that.
func flatten(k *resource.Kind, f resource.Fields, at, name, where string, v *yaml.Node) error {
	if k.JSON != nil && k.JSON(name) && v.Tag != "!!null" {
		w := rawjson.Writer{}
		err := writeJSON(&w, at, v)
		f[name] = string(w.B)
		return err
	}
	switch v.Kind {
	case yaml.MappingNode:
		return members(at, v, func(inner, where string, v *yaml.Node) error { return flatten(k, f, at, name+"."+inner, where, v) })
	case yaml.SequenceNode:
		var words []string
		for i, e := range v.Content {
			if e.Kind == yaml.MappingNode {
				if err := flatten(k, f, at, fmt.Sprintf("%s.%d", name, i), where, e); err != nil {
					return err
				}
				continue
			}
			if e.Kind != yaml.ScalarNode || strings.Contains(e.Value, ",") {
				return fmt.Errorf("%s: %s is a list of words, or of names with values", where, name)
			}
			words = append(words, e.Value)
		}
		if len(words) > 0 && len(words) < len(v.Content) {
			return fmt.Errorf("%s: %s is a list of words, or of names with values, and not of both", where, name)
		}
		if len(words) > 0 || len(v.Content) == 0 {
			f[name] = strings.Join(words, ",")
		}
		return nil
	case yaml.ScalarNode:
		switch v.Tag {
		case "!!null":
		case "!!bool":
			f[name] = strings.ToLower(v.Value)
		default:
			f[name] = v.Value
		}
		return nil
	}
	return fmt.Errorf("%s: write it out: anchors and references are not read", where)
}

// writeJSON writes a value as JSON, its names in the order of the file.
func writeJSON(w *rawjson.Writer, at string, v *yaml.Node) error {
	switch v.Kind {
	case yaml.MappingNode:
		w.Object()
		err := members(at, v, func(name, _ string, v *yaml.Node) error {
			w.Name(name)
			return writeJSON(w, at, v)
		})
		w.EndObject()
		return err
	case yaml.SequenceNode:
		w.Array()
		for _, e := range v.Content {
			if err := writeJSON(w, at, e); err != nil {
				return err
			}
		}
		w.EndArray()
		return nil
	case yaml.ScalarNode:
		switch v.Tag {
		case "!!null":
			w.Null()
		case "!!bool":
			w.Bool(strings.EqualFold(v.Value, "true"))
		case "!!int", "!!float":
			if !rawjson.IsNumber([]byte(v.Value)) {
				return fmt.Errorf("%s:%d: write the number %s as JSON does, such as 10 or 0.5, or in quotes if it is a text", at, v.Line, v.Value)
			}
			w.Raw([]byte(v.Value))
		default:
			w.Text(v.Value)
		}
		return nil
	}
	return fmt.Errorf("%s:%d: write it out: anchors and references are not read", at, v.Line)
}

// secret finds a secret by what a file says of it. A secret itself is refused: these files are shared.
func (s *StateFiles) secret(name, file, where string, v *yaml.Node) (*resource.Secret, error) {
	if s.Env == nil || v.Value == keptSecret || v.Tag == "!!null" {
		return nil, nil
	}
	if v.Value == noSecret {
		return &resource.Secret{From: noSecret}, nil
	}
	if variable, ok := strings.CutPrefix(v.Value, "${"); ok && strings.HasSuffix(variable, "}") {
		variable = strings.TrimSuffix(variable, "}")
		value, set := s.Env(variable)
		if !set || value == "" {
			return nil, fmt.Errorf("%s: the environment variable %s is not set here", where, variable)
		}
		return &resource.Secret{From: variable, Value: value}, nil
	}
	if path, ok := strings.CutPrefix(v.Value, "file:"); ok {
		if !filepath.IsAbs(path) {
			path = filepath.Join(filepath.Dir(file), path)
		}
		value, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", where, err)
		}
		if text := strings.TrimSpace(string(value)); text != "" {
			return &resource.Secret{From: v.Value, Value: text}, nil
		}
		return nil, fmt.Errorf("%s: %s is empty", where, path)
	}
	return nil, fmt.Errorf("%s: %s must not be in a file that others read: write ${NAME} for a variable of the environment, file:PATH, %s or %s", where, name, keptSecret, noSecret)
}
