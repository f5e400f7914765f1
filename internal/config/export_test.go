package config

import (
	"io/fs"
	"iter"
	"reflect"
)

// Parse loads a configuration from data instead of a file.
func Parse(data []byte, env Lookup) (Config, error) {
	return Default().parse("fuzz.yaml", data, env, nil)
}

// Private reports whether a secret file may be used.
func Private(path string, mode fs.FileMode, readOnly, memory bool) bool {
	return private(path, mode, mount{readOnly, memory})
}

// ReadOnly reports whether a file is on a read-only mount.
func ReadOnly(path string) bool { return mountOf(path).readOnly }

// Settings are the names of a section that can be set, with their types.
func Settings(section reflect.Type) iter.Seq2[string, reflect.Type] {
	return func(yield func(string, reflect.Type) bool) {
		for _, e := range entriesOf(section) {
			if !e.constant && !yield(e.name, e.read) {
				return
			}
		}
	}
}
