package config

import (
	"io/fs"
	"time"
)

// Parse loads a configuration from data instead of a file.
func Parse(data []byte, env Lookup) (Config, error) {
	return parse("fuzz.yaml", data, time.Time{}, env, nil)
}

// Private reports whether a secret file may be used.
func Private(path string, mode fs.FileMode) bool { return private(path, mode) }
