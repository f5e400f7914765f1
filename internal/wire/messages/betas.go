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

// freeBetas are the features without a price of their own, without their dates. permitted are the members of a request that they permit, and
// those that need no feature, such as "thinking" and "tools[].strict".
var freeBetas, permitted = func() (free, members map[string]bool) {
	free, members = map[string]bool{}, map[string]bool{}
	for line := range strings.Lines(betasText) {
		words := strings.Fields(line)
		if len(words) < 3 || words[0] == "#" {
			continue
		}
		free[words[0]] = words[0] != anyFeature
		for name := range strings.SplitSeq(words[1], ",") {
			members[name] = true
		}
	}
	return free, members
}()

// Unpermitted has the request go without the members that only features which were left out can permit: a feature and its members go
// together, or neither goes. Without any left out, members that are unknown here are the client's and its provider's business.
func Unpermitted(req *completion.Request, left []string) {
	if len(left) == 0 {
		return
	}
	req.Unpermitted = []string{}
	for i := range req.Members {
		if name := req.Members[i].Name; !permitted[name] && !completion.GatewayOnly(name) {
			req.Unpermitted = append(req.Unpermitted, name)
		}
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
				members = append(members, placed{start: at + in.Start, end: at + in.End, drop: !permitted[m.Name+"[]."+string(in.Name)]})
			}
			list = append(list, removed(members, "")...)
		}
	}
	return list
}

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
