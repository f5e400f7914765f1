package world_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// paths are one JSON pointer or a list of them. "*" stands for all items, "-" for the last, "[name=value]" for the items that have it.
type paths []string

func (p *paths) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		*p = make([]string, 1)
		return json.Unmarshal(b, &(*p)[0])
	}
	return json.Unmarshal(b, (*[]string)(p))
}

// check holds for every value at a place. Without a word: a value is there.
type check struct {
	At          paths           `json:"at"`
	Is          json.RawMessage `json:"is"`
	In          []any           `json:"in"`
	Not         []any           `json:"not"`
	Min         *float64        `json:"min"`
	Max         *float64        `json:"max"`
	Matches     string          `json:"matches"`
	Excludes    string          `json:"excludes"` // a regular expression that must not match
	Has         []any           `json:"has"`
	Lacks       []any           `json:"lacks"`
	Items       []int           `json:"items"`
	SameAs      string          `json:"same_as"`
	DiffersFrom string          `json:"differs_from"`
	Sorted      *struct {
		By    string `json:"by"`
		Order string `json:"order"`
	} `json:"sorted"`
	Absent   bool `json:"absent"`
	Optional bool `json:"optional"`
}

// steps are the parts of a pointer. The value of a choice of items may have slashes.
var steps = regexp.MustCompile(`/\[[^\]]*=[^\]]*\]|/[^/]*`)

// at returns the values at a pointer.
func at(v any, pointer string) []any {
	if pointer == "" {
		return []any{v}
	}
	list := []any{v}
	for _, step := range steps.FindAllString(pointer, -1) {
		step = step[1:]
		step = strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
		var next []any
		for _, v := range list {
			next = append(next, into(v, step)...)
		}
		list = next
	}
	return list
}

func into(v any, step string) []any {
	switch v := v.(type) {
	case map[string]any:
		if step == "*" {
			var all []any
			for _, x := range v {
				all = append(all, x)
			}
			return all
		}
		if x, ok := v[step]; ok {
			return []any{x}
		}
	case []any:
		name, value, found := strings.Cut(strings.Trim(step, "[]"), "=")
		switch {
		case step == "*":
			return v
		case step == "-" && len(v) > 0:
			return v[len(v)-1:]
		case strings.HasPrefix(step, "[") && found:
			return slices.DeleteFunc(slices.Clone(v), func(x any) bool {
				m, _ := x.(map[string]any)
				return fmt.Sprint(m[name]) != value
			})
		default:
			if i, err := strconv.Atoi(step); err == nil && i < len(v) {
				return v[i : i+1]
			}
		}
	}
	return nil
}

func number(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case string:
		n, err := strconv.ParseFloat(v, 64)
		return n, err == nil
	}
	return 0, false
}

func text(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func among(list []any, v any) bool {
	return slices.ContainsFunc(list, func(x any) bool { return reflect.DeepEqual(x, v) })
}

func contains(v, part any) bool {
	if s, ok := v.(string); ok {
		return strings.Contains(s, text(part))
	}
	list, _ := v.([]any)
	return among(list, part)
}

// complaints are what of a check does not hold for a document. A value must be at one of its pointers.
func (c *check) complaints(doc any) (out []string) {
	some := slices.ContainsFunc(c.At, func(pointer string) bool { return len(at(doc, pointer)) > 0 })
	for _, pointer := range c.At {
		values := at(doc, pointer)
		switch {
		case c.Absent && len(values) > 0:
			out = append(out, fmt.Sprintf("%s is %.200s and must be absent", pointer, text(values[0])))
			continue
		case !some && !c.Optional && !c.Absent:
			out = append(out, pointer+" is absent")
		}
		for _, v := range values {
			if why := c.wrong(doc, v); why != "" {
				out = append(out, fmt.Sprintf("%s is %.300s, %s", pointer, text(v), why))
			}
		}
	}
	return out
}

func (c *check) wrong(doc, v any) string {
	n, isNumber := number(v)
	switch {
	case c.Is != nil:
		var want any
		if err := json.Unmarshal(c.Is, &want); err != nil {
			return err.Error()
		}
		if !reflect.DeepEqual(want, v) {
			return "want " + string(c.Is)
		}
	case c.In != nil && !among(c.In, v):
		return "want one of " + text(c.In)
	case c.Not != nil && among(c.Not, v):
		return "want none of " + text(c.Not)
	case c.Min != nil && (!isNumber || n < *c.Min):
		return fmt.Sprintf("want at least %g", *c.Min)
	case c.Max != nil && (!isNumber || n > *c.Max):
		return fmt.Sprintf("want at most %g", *c.Max)
	case c.Matches != "" && !regexp.MustCompile(c.Matches).MatchString(text(v)):
		return "want a match of " + c.Matches
	case c.Excludes != "" && regexp.MustCompile(c.Excludes).MatchString(text(v)):
		return "want no match of " + c.Excludes
	case c.SameAs != "" && !reflect.DeepEqual(at(doc, c.SameAs), []any{v}):
		return "want the same as " + c.SameAs
	case c.DiffersFrom != "" && reflect.DeepEqual(at(doc, c.DiffersFrom), []any{v}):
		return "want another value than " + c.DiffersFrom
	}
	for _, part := range c.Has {
		if !contains(v, part) {
			return "want " + text(part) + " in it"
		}
	}
	for _, part := range c.Lacks {
		if contains(v, part) {
			return "want no " + text(part) + " in it"
		}
	}
	list, _ := v.([]any)
	if c.Items != nil && (len(list) < c.Items[0] || len(list) > c.Items[1]) {
		return fmt.Sprintf("has %d items, want %v", len(list), c.Items)
	}
	if c.Sorted != nil {
		sign := 1.0
		if c.Sorted.Order == "desc" {
			sign = -1
		}
		last := math.Inf(-1)
		for i, x := range list {
			by := at(x, c.Sorted.By)
			if len(by) != 1 {
				return fmt.Sprintf("item %d has no %s", i, c.Sorted.By)
			}
			n, ok := number(by[0])
			if !ok || sign*n < last {
				return fmt.Sprintf("item %d is out of order by %s", i, c.Sorted.By)
			}
			last = sign * n
		}
	}
	return ""
}

// strictJSON reads JSON in which no object has a member twice.
func strictJSON(b []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	v, err := strictValue(d)
	if err != nil {
		return nil, err
	}
	if d.More() {
		return nil, fmt.Errorf("something follows the JSON value")
	}
	return v, nil
}

func strictValue(d *json.Decoder) (any, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		m := map[string]any{}
		for d.More() {
			name, err := d.Token()
			if err != nil {
				return nil, err
			}
			if _, twice := m[name.(string)]; twice {
				return nil, fmt.Errorf("the member %q is there twice", name)
			}
			if m[name.(string)], err = strictValue(d); err != nil {
				return nil, err
			}
		}
		_, err = d.Token()
		return m, err
	case json.Delim('['):
		list := []any{}
		for d.More() {
			v, err := strictValue(d)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err = d.Token()
		return list, err
	}
	return token, nil
}

// hasMember reports whether an object inside v has a member of that name.
func hasMember(v any, name string) bool {
	switch v := v.(type) {
	case map[string]any:
		if _, ok := v[name]; ok {
			return true
		}
		for _, x := range v {
			if hasMember(x, name) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, func(x any) bool { return hasMember(x, name) })
	}
	return false
}
