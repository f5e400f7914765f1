package config

import (
	"io/fs"
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
