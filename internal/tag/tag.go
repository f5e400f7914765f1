// Package tag is the words by which an account sorts its calls: "name=value", or a name alone. It says which words may be tags, and how many a call may
// have. A call has at most one tag of each name, so that the sum over one name counts each call once.
package tag

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of the tags of one call; lengths are in bytes.
const (
	Most      = 16
	MaxName   = 64
	MaxLength = 200 // of a whole tag
)

// Words that reports have in place of a value. No value of a tag is one of them.
const (
	Alone = "(alone)" // the tag is a name without a value
	None  = "(none)"  // the call has no tag of that name
	Other = "(other)" // the values of a day that are beyond the bound
)

// Split parts a tag into its name and its value; a name alone has the value Alone.
func Split(tag string) (name, value string) {
	name, value, ok := strings.Cut(tag, "=")
	if !ok {
		return name, Alone
	}
	return name, value
}

// Join is the tag with that name and value.
func Join(name, value string) string {
	if value == Alone {
		return name
	}
	return name + "=" + value
}

// Wrong says why a text is no tag; "" when it is one.
func Wrong(tag string) string {
	name, value, has := strings.Cut(tag, "=")
	switch {
	case name == "":
		return "it has no name"
	case has && value == "":
		return "it has no value after the equals sign"
	case len(name) > MaxName:
		return fmt.Sprintf("its name is longer than %d bytes", MaxName)
	case len(tag) > MaxLength:
		return fmt.Sprintf("it is longer than %d bytes", MaxLength)
	case name != strings.TrimSpace(name) || value != strings.TrimSpace(value):
		return "it has blanks beside its name or value"
	case strings.HasPrefix(name, "(") || strings.HasPrefix(value, "("):
		return "its name or value begins with a parenthesis"
	case !utf8.ValidString(tag) || strings.ContainsFunc(tag, unicode.IsControl):
		return "it has characters that are no text"
	}
	return ""
}

// Set collects the tags of a call. The first tag of a name stays.
type Set struct{ tags []string }

// Add adds a tag unless it is none, there is one of its name, or there are Most.
func (s *Set) Add(tag string) {
	if len(s.tags) < Most && Wrong(tag) == "" && !s.has(tag) {
		s.tags = append(s.tags, tag)
	}
}

// has reports whether there is a tag of the same name.
func (s *Set) has(tag string) bool {
	name, _ := Split(tag)
	return slices.ContainsFunc(s.tags, func(t string) bool { n, _ := Split(t); return n == name })
}

// List is the tags in order; nil without any.
func (s *Set) List() []string {
	slices.SortFunc(s.tags, cmp.Compare[string])
	return s.tags
}

// Parse reads the tags of a comma-separated list that a client has written for this gateway. wrong says in words which of them is none, or why the list
// is too long; it is "" when all are tags.
func (s *Set) Parse(list string) (wrong string) {
	for part := range strings.SplitSeq(list, ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		switch why := Wrong(part); {
		case why != "":
			return fmt.Sprintf("%q is no tag: %s", cut(part), why)
		case s.has(part):
			name, _ := Split(part)
			return fmt.Sprintf("the name %q is there twice", name)
		case len(s.tags) == Most:
			return fmt.Sprintf("there are more than %d tags", Most)
		}
		s.tags = append(s.tags, part)
	}
	return ""
}

// Foreign adds a tag as other gateways write it: "name:value" is read as "name=value".
func (s *Set) Foreign(text string) {
	text = strings.TrimSpace(text)
	if name, value, ok := strings.Cut(text, ":"); ok && !strings.Contains(name, "=") {
		text = strings.TrimSpace(name) + "=" + strings.TrimSpace(value)
	}
	s.Add(text)
}

func cut(text string) string {
	const most = 80
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
