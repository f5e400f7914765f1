package config

import (
	"reflect"
	"slices"
)

// NeedRestart lists the keys in which two configurations differ and which need a restart.
func NeedRestart(before, after *Config) []string {
	var keys []string
	settings(reflect.TypeFor[Config](), func(s option) {
		if s.reload != "live" && !reflect.DeepEqual(reflect.ValueOf(before).Elem().FieldByIndex(s.index).Interface(), reflect.ValueOf(after).Elem().FieldByIndex(s.index).Interface()) {
			keys = append(keys, s.key)
		}
	})
	return keys
}

// option is a key with a value, or with a list or map of values.
type option struct {
	key    string
	index  []int
	reload string // the tag of the field, or of the nearest field around it; "" if none has one
}

func settings(t reflect.Type, found func(option)) { settingsIn(t, option{}, found) }

func settingsIn(t reflect.Type, at option, found func(option)) {
	for i := range t.NumField() {
		f := t.Field(i)
		name := f.Tag.Get("yaml")
		if name == "" {
			continue
		}
		s := option{key: name, index: append(slices.Clone(at.index), i), reload: at.reload}
		if at.key != "" {
			s.key = at.key + "." + name
		}
		if tag := f.Tag.Get("reload"); tag != "" {
			s.reload = tag
		}
		if f.Type.Kind() == reflect.Struct && hasKeys(f.Type) {
			settingsIn(f.Type, s, found)
			continue
		}
		found(s)
	}
}

// hasKeys reports whether a struct is a section, and not a value such as Secret.
func hasKeys(t reflect.Type) bool {
	for i := range t.NumField() {
		if t.Field(i).Tag.Get("yaml") != "" {
			return true
		}
	}
	return false
}
