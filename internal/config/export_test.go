package config

import "time"

// Parse loads a configuration from data instead of a file.
func Parse(data []byte, env Lookup) (Config, error) {
	return parse("fuzz.yaml", data, time.Time{}, env, nil)
}
