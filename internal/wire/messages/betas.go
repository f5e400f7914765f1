package messages

import (
	_ "embed"
	"slices"
	"strings"

	"weir/internal/completion"
	"weir/internal/rawjson"
)

//go:embed betas.txt
var betasText string

// anyFeature is the line of the members that need no feature.
const anyFeature = "*"

// Features are the features that clients may ask for: those without a price of their own, without their dates, and the members of a request
// that they permit, beside those that need no feature, such as "thinking" and "tools[].strict".
type Features struct{ free, permitted map[string]bool }

// NewFeatures is the list in betas.txt and what an operator adds: "feature", or "feature=member,tools[].member".
func NewFeatures(more []string) *Features {
	f := &Features{free: map[string]bool{}, permitted: map[string]bool{}}
	for line := range strings.Lines(betasText) {
		if words := strings.Fields(line); len(words) >= 3 && words[0] != "#" {
			f.add(words[0], words[1])
		}
	}
	for _, line := range more {
		name, members, _ := strings.Cut(line, "=")
		f.add(familyOf(strings.TrimSpace(name)), members)
	}
	return f
}

func (f *Features) add(feature, members string) {
	f.free[feature] = feature != anyFeature
	for name := range strings.SplitSeq(members, ",") {
		f.permitted[strings.TrimSpace(name)] = true
	}
}

// Restrict has the request go without the members that only features which were left out can permit: a feature and its members go
// together, or neither goes. Without any left out, members that are unknown here are the client's and its provider's business.
func (f *Features) Restrict(req *completion.Request, left []string) {
	if len(left) > 0 {
		req.Permitted = f.permitted
	}
}

// unpermitted removes the members of messages and tools that no feature permits.
func unpermitted(req *completion.Request) (list []completion.Edit) {
	for i := range req.Members {
		m := &req.Members[i]
		if m.Name != "messages" && m.Name != "tools" {
			continue
		}
		for e := rawjson.ElementsOf(req.Body[m.Value:m.End]); e.Next(); {
			var members []placed
			for in, at := rawjson.MembersOf(e.Value), m.Value+e.At; in.Next(); {
				members = append(members, placed{start: at + in.Start, end: at + in.End, drop: !req.Permitted[m.Name+"[]."+string(in.Name)]})
			}
			list = append(list, removed(members, "")...)
		}
	}
	return list
}

// Betas splits the features that a client requests in header fields: kept are those known to be free, left are all others. Lines without
// a change stay as written.
func (f *Features) Betas(lines []string) (kept, left []string) {
	if len(lines) == 0 {
		return nil, nil
	}
	changed := false
	for _, line := range lines {
		var names []string
		for name := range strings.SplitSeq(line, ",") {
			switch name = strings.TrimSpace(name); {
			case name == "":
			case f.free[familyOf(name)]:
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
