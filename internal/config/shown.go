package config

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"weir/internal/secret"
)

// Where a value comes from.
const (
	FromDefault     = "default"
	FromFile        = "file"
	FromEnvironment = "environment"
	FromFlag        = "flag"
)

// Shown is a setting as it is in use, without anything secret.
type Shown struct {
	Key     string // with dots
	Type    string // in a word or two
	Value   string // as the file would have it; "" for a secret and for a list of sections
	Count   int    // elements of a list of sections; -1: it is not one
	Secret  bool
	Set     bool   // of a secret: there is one
	From    string // FromDefault, FromFile, FromEnvironment or FromFlag
	Where   string // "weir.yaml:12" or the variable's name; "" for others
	Live    bool   // a running node applies a change
	Means   string // what the example file says of it
	Default string // the example file's
}

// userinfo is what may be secret in an address.
var userinfo = regexp.MustCompile(`://[^/@\s]+@`)

// Shown lists all settings in the order of the struct, with what the example file says of them. No text of a secret is in it.
func (c *Config) Shown(example []byte) ([]Shown, error) {
	described, err := Describe(example)
	if err != nil {
		return nil, err
	}
	about := map[string]Described{}
	for _, d := range described {
		about[d.Key] = d
	}
	secrets := c.Secrets()
	var all []Shown
	settings(reflect.TypeFor[Config](), func(s option) {
		v := reflect.ValueOf(c).Elem().FieldByIndex(s.index)
		d := about[s.key]
		one := Shown{Key: s.key, Type: typeWord(s.read), Count: -1, Live: s.reload == "live", Means: d.Means}
		if !d.Example {
			one.Default = d.Value
		}
		one.From, one.Where = c.origin(s.key)
		switch {
		case s.read == secretType:
			one.Secret, one.Set = true, v.Interface().(secret.Text).Reveal() != ""
		case v.Kind() == reflect.Map, v.Kind() == reflect.Slice && v.Type().Elem().Kind() != reflect.String, v.Kind() == reflect.Struct && !isScalar(s.read):
			if one.Count = 0; v.Kind() != reflect.Struct {
				one.Count = v.Len()
			}
		default:
			one.Value = shownValue(v, s.read)
			for _, text := range secrets {
				if text != "" {
					one.Value = strings.ReplaceAll(one.Value, text, masked)
				}
			}
			one.Value = userinfo.ReplaceAllString(one.Value, "://"+masked+"@")
		}
		all = append(all, one)
	})
	return all, nil
}

func shownValue(v reflect.Value, read reflect.Type) string {
	if v.Kind() == reflect.Slice {
		texts := make([]string, v.Len())
		for i := range texts {
			texts[i] = fmt.Sprint(v.Index(i).Interface())
		}
		return strings.Join(texts, ", ")
	}
	if b, ok := v.Interface().(Builtin); ok {
		if len(b.Only) > 0 {
			return strings.Join(b.Only, ", ")
		}
		return fmt.Sprint(b.All)
	}
	if read != v.Type() {
		v = v.Convert(read)
	}
	return fmt.Sprint(v.Interface())
}

// origin is where a setting, or a part of it, was set.
func (c *Config) origin(key string) (from, where string) {
	at, set := c.places[key]
	if !set {
		var parts []string
		for path := range c.places {
			if strings.HasPrefix(path, key+"[") || strings.HasPrefix(path, key+".") {
				parts = append(parts, path)
			}
		}
		if len(parts) == 0 {
			return FromDefault, ""
		}
		at = c.places[slices.Min(parts)]
	}
	switch {
	case at.line > 0:
		return FromFile, at.String()
	case at.by == flagSet:
		return FromFlag, ""
	}
	return FromEnvironment, at.by
}
