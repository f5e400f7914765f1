package webui

import (
	"fmt"
	"strings"
)

// need is what a page of the interface asks for besides what every page does. The build writes it, and the document names it, so that it is on
// its way before the code that asks for it.
type need struct {
	path []string // segments, such as models, $vendor, $model; $ alone at the end is any rest
	data []string // paths of the API
	code map[string][]string
	open int // segments that may be anything
}

// parseNeeds reads a list of lines: "page PATH", and for it "data PATH", "en FILE" and "ru FILE".
func parseNeeds(content []byte) ([]need, error) {
	var all []need
	for line := range strings.Lines(string(content)) {
		what, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if what == "page" {
			all = append(all, need{path: strings.Split(value, "/"), code: map[string][]string{}, open: strings.Count(value, "$")})
			continue
		}
		if len(all) == 0 {
			return nil, fmt.Errorf("pages.txt: %q is of no page", line)
		}
		switch n := &all[len(all)-1]; what {
		case "data":
			n.data = append(n.data, value)
		case "en", "ru":
			n.code[what] = append(n.code[what], value)
		default:
			return nil, fmt.Errorf("pages.txt: a line is not known: %q", line)
		}
	}
	return all, nil
}

// needOf finds the page of a path, or returns nil. A page whose path has a name where another has any segment is preferred.
func needOf(all []need, path string) *need {
	segments := strings.Split(path, "/")
	var best *need
	for i := range all {
		if n := &all[i]; n.fits(segments) && (best == nil || n.open < best.open) {
			best = n
		}
	}
	return best
}

func (n *need) fits(segments []string) bool {
	path := n.path
	if last := len(path) - 1; path[last] == "$" && len(segments) > last { // any rest, of several segments
		path, segments = path[:last], segments[:last]
	}
	if len(path) != len(segments) {
		return false
	}
	for i, s := range path {
		if s != segments[i] && (!strings.HasPrefix(s, "$") || segments[i] == "") {
			return false
		}
	}
	return true
}

// links are elements for the head of a page. Names of files and paths come from the build; none has a character that HTML would escape.
func (n *need) links(lang string) string {
	if n == nil {
		return ""
	}
	var b strings.Builder
	for _, path := range n.data { // first: an answer takes longer than a file
		b.WriteString(`<link rel="preload" as="fetch" crossorigin href="` + path + `">` + "\n")
	}
	for _, file := range n.code[lang] {
		b.WriteString(`<link rel="modulepreload" crossorigin href="/` + file + `">` + "\n")
	}
	return b.String()
}
