package config

import (
	"fmt"
	"reflect"
	"strconv"
	"time"
)

// SettableConstants is not empty in programs that tests build or run: there constants can be set like settings, so that no test waits for minutes.
var SettableConstants string

// Constant is what was a setting once. A file or a variable that still sets it gets a warning and not an error, so that a node starts after an upgrade.
// Such a field has the tag constant in place of yaml, and its value in Default.
type Constant struct {
	Key   string
	Value string
}

// Constants lists them in the order of the configuration.
func Constants() (all []Constant) {
	d := Default()
	eachConstant(reflect.ValueOf(d), func(path string, v reflect.Value) { all = append(all, Constant{path, constantText(v)}) })
	return all
}

// eachConstant finds the constants of a section and of those in it.
func eachConstant(v reflect.Value, found func(path string, v reflect.Value)) {
	constantsIn(v, "", found)
}

func constantsIn(v reflect.Value, path string, found func(path string, v reflect.Value)) {
	for _, e := range entriesOf(v.Type()) {
		switch {
		case isSection(e.read):
			constantsIn(e.of(v), path+e.name+".", found)
		case e.constant:
			found(path+e.name, e.of(v))
		}
	}
}

func constantText(v reflect.Value) string {
	switch x := v.Interface().(type) {
	case time.Duration:
		return shortDuration(x)
	case fmt.Stringer:
		return x.String()
	case Decimal:
		return string(x)
	}
	return strconv.FormatInt(v.Int(), 10)
}

// shortDuration is a duration as the example file writes it: 10m, not 10m0s.
func shortDuration(d time.Duration) string {
	for _, u := range []struct {
		of   time.Duration
		name string
	}{{time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}} {
		if d >= u.of && d%u.of == 0 {
			return strconv.FormatInt(int64(d/u.of), 10) + u.name
		}
	}
	return d.String()
}

// Warning is what should be changed in the configuration, although a node starts with it.
type Warning struct{ Text, Remedy string }

// Warnings are those of the file and the environment.
func (c *Config) Warnings() []Warning { return c.warnings }

func (l *loader) constant(at position, path string, v reflect.Value) {
	l.warnings = append(l.warnings, Warning{
		fmt.Sprintf("%s: %s is a constant now (%s), and what is written there has no effect", at, path, constantText(v)),
		"remove it; docs/configuration.md lists the constants"})
}
