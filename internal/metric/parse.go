package metric

import (
	"fmt"
	"strconv"
	"strings"
)

// Sample is one line of the text format.
type Sample struct {
	Name   string
	Labels map[string]string // nil: none
	Value  float64
}

// Parse reads what Append writes, and what other programs write in the text format. Comments, times and exemplars are passed over. It fails at
// the first line that is none.
func Parse(text string) (all []Sample, err error) {
	for n := 1; text != ""; n++ {
		var line string
		line, text, _ = strings.Cut(text, "\n")
		if line = strings.Trim(line, " \t\r"); line == "" || line[0] == '#' {
			continue
		}
		s, ok := parseSample(line)
		if !ok {
			return nil, fmt.Errorf("line %d is not a metric", n)
		}
		all = append(all, s)
	}
	return all, nil
}

func parseSample(line string) (s Sample, ok bool) {
	end := strings.IndexAny(line, "{ \t")
	if end < 0 || !validName(line[:end]) {
		return s, false
	}
	s.Name = line[:end]
	rest := line[end:]
	if rest[0] == '{' {
		if s.Labels, rest, ok = parseLabels(rest[1:]); !ok {
			return s, false
		}
	}
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return s, false
	}
	v, err := strconv.ParseFloat(fields[0], 64)
	s.Value = v
	return s, err == nil
}

// parseLabels reads pairs up to the closing brace.
func parseLabels(text string) (labels map[string]string, rest string, ok bool) {
	for {
		text = strings.TrimLeft(text, " ,")
		if rest, ok = strings.CutPrefix(text, "}"); ok {
			return labels, rest, true
		}
		name, after, ok := strings.Cut(text, `="`)
		if !ok || !validName(name) {
			return nil, "", false
		}
		var value []byte
		i := 0
		for ; i < len(after) && after[i] != '"'; i++ {
			c := after[i]
			if c == '\\' && i+1 < len(after) {
				if i++; after[i] == 'n' {
					c = '\n'
				} else {
					c = after[i]
				}
			}
			value = append(value, c)
		}
		if i == len(after) {
			return nil, "", false
		}
		if labels == nil {
			labels = map[string]string{}
		}
		labels[name] = string(value)
		text = after[i+1:]
	}
}
