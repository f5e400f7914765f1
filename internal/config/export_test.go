package config

import (
	"io/fs"
)

// Parse loads a configuration from data instead of a file.
func Parse(data []byte, env Lookup) (Config, error) {
	return Default().parse("fuzz.yaml", data, env, nil)
}

// Private reports whether a secret file may be used.
func Private(path string, mode fs.FileMode) bool { return private(path, mode) }
