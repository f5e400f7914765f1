package messages

import (
	_ "embed"
	"slices"
	"strings"
)

//go:embed betas.txt
var betasText string

// freeBetas are the features without a price of their own, without their dates.
var freeBetas = func() map[string]bool {
	free := map[string]bool{}
	for line := range strings.Lines(betasText) {
		if words := strings.Fields(line); len(words) > 0 && words[0] != "#" {
			free[words[0]] = true
		}
	}
	return free
}()

// Betas splits the features that a client requests in header fields: kept are those known to be free, left are all others. Lines without
// a change stay as written.
func Betas(lines []string) (kept, left []string) {
	if len(lines) == 0 {
		return nil, nil
	}
	changed := false
	for _, line := range lines {
		var names []string
		for name := range strings.SplitSeq(line, ",") {
			switch name = strings.TrimSpace(name); {
			case name == "":
			case freeBetas[familyOf(name)]:
				names = append(names, name)
			default:
				left = append(left, name)
				changed = true
			}
		}
		if len(names) > 0 {
			kept = append(kept, strings.Join(names, ","))
		}
	}
	if !changed {
		return slices.Clone(lines), nil
	}
	return kept, left
}

// familyOf is a feature without the date at its end: 2025-05-14, or 20250219.
func familyOf(name string) string {
	end := len(name)
	for digits := 0; end > 0; end-- {
		c := name[end-1]
		if c >= '0' && c <= '9' {
			digits++
		} else if c != '-' {
			break
		}
		if c == '-' && digits >= 8 {
			return name[:end-1]
		}
	}
	return name
}
