package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"go.yaml.in/yaml/v3"
)

// TakeEnvironment sets the variables of the file that environment_file names, as systemd does for the service, so that commands beside the service
// know what it knows. Variables that env has are left as they are. A file that this account may not read is passed over: the service itself gets
// the variables from systemd. What is wrong with the configuration at path is left to Load.
func TakeEnvironment(path string, env Lookup, set func(name, value string) error) error {
	name, _ := env(Variable("environment_file"))
	if name == "" && path != "" {
		data, _, err := readFile(path)
		var c struct {
			File string `yaml:"environment_file"`
		}
		if err != nil || !mayName(data, "environment_file") || yaml.Unmarshal(data, &c) != nil {
			return nil
		}
		name = c.File
	}
	if name == "" {
		return nil
	}
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrPermission) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("environment_file: %w", err)
	}
	all, err := parseEnvironment(text)
	if err != nil {
		return fmt.Errorf("environment_file: %s: %w", name, err)
	}
	for _, v := range all {
		if _, there := env(v.name); there {
			continue
		}
		if err := set(v.name, v.value); err != nil {
			return fmt.Errorf("environment_file: %s: %s: %w", name, v.name, err)
		}
	}
	return nil
}

// mayName reports whether a field of a YAML document can have this name. Most documents need not be parsed to tell: one with thousands of models
// takes some ten milliseconds. A name can also be spelled with escapes, or in UTF-16.
func mayName(document []byte, field string) bool {
	return bytes.Contains(document, []byte(field)) || bytes.ContainsAny(document, "\\\x00")
}

type given struct{ name, value string }

// parseEnvironment reads NAME=value, one a line, also with quotes around the value. Of what systemd reads besides, it refuses what it would take
// for something else: lines that go on, and escapes. Errors tell lines, never values.
func parseEnvironment(text []byte) (all []given, err error) {
	at := 0
	for line := range bytes.Lines(text) {
		at++
		s := strings.TrimSpace(string(line))
		if s == "" || s[0] == '#' || s[0] == ';' {
			continue
		}
		name, value, ok := strings.Cut(s, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		switch {
		case !ok || !validName(name):
			return nil, fmt.Errorf("line %d is not NAME=value", at)
		case strings.ContainsAny(value, "\\\x00"):
			return nil, fmt.Errorf("line %d, %s: backslashes have a meaning for systemd that Weir does not know; leave them out", at, name)
		}
		if q := value; len(q) >= 2 && (q[0] == '"' || q[0] == '\'') && q[len(q)-1] == q[0] {
			value = q[1 : len(q)-1]
		}
		if strings.ContainsAny(value, `"'`) {
			return nil, fmt.Errorf("line %d, %s: quotes belong around the whole value", at, name)
		}
		all = append(all, given{name, value})
	}
	return all, nil
}

func validName(name string) bool {
	for i, r := range name {
		if letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '_'; !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return name != ""
}
