package config

import "time"

// Parse is Load without a file.
func Parse(data []byte, env Lookup) (Config, error) {
	return parse("fuzz.yaml", data, time.Time{}, env, nil)
}
