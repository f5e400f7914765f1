package catalog

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Facts are how a model takes what requests ask for, beyond which parameters it has. They are data: what the catalog knows of families of
// models and of providers, and what operators declare. A field that is empty is unknown, and what is unknown is passed on as it is.
type Facts struct {
	Efforts          []string `yaml:"efforts"`           // words of effort that it takes; any other becomes the nearest
	BudgetLeast      int      `yaml:"budget_least"`      // tokens: the smallest budget of its reasoning
	BudgetMost       int      `yaml:"budget_most"`       // tokens: the largest
	ReasoningOff     string   `yaml:"reasoning_off"`     // "refused": it always reasons; "allowed"
	ReasoningWhole   string   `yaml:"reasoning_whole"`   // "refused": it reasons in streams only, and must be asked not to for a whole answer; "allowed"
	ReasoningRequest string   `yaml:"reasoning_request"` // how it is asked to reason, in place of the provider's quirk
	ReasoningBack    string   `yaml:"reasoning_back"`    // "with_calls": messages with tool calls must have their reasoning, at least an empty one; "optional"
	Excludes         []string `yaml:"excludes"`          // pairs like "temperature/top_p": of two parameters that exclude each other the second is left out; tool_choice is one that requires a call
	JSONSchema       string   `yaml:"json_schema"`       // "described": it has JSON mode only, so that the schema goes into the instructions; "native"
	CallIDs          string   `yaml:"call_ids"`          // "alphanumeric9": ids of tool calls are nine letters and digits; "any"
	CustomTools      string   `yaml:"custom_tools"`      // "functions": its tools are functions, so that one that takes free text becomes a function with one text; "native"
	SystemMessages   string   `yaml:"system_messages"`   // "first": it takes one system message, at the beginning; "anywhere"
	InputType        string   `yaml:"input_type"`        // "prefix": it reads the purpose of a text from its beginning; "field"
	ImageRatios      []string `yaml:"image_ratios"`      // aspect ratios of its images, where it takes these and no sizes in pixels
	ImageResolutions []string `yaml:"image_resolutions"` // its words for resolutions: "512", "1k", "2k" or "4k"
	Source           string   `yaml:"source"`            // where this was read

	FirstByteTimeout time.Duration `yaml:"first_byte_timeout"` // how long it may be silent before it answers; 0: as usual
	LeaveAfter       time.Duration `yaml:"leave_after"`        // the same while another endpoint can be asked
}

// The values of facts.
const (
	Refused       = "refused"
	WithCalls     = "with_calls"
	Described     = "described"
	Alphanumeric9 = "alphanumeric9"
	Functions     = "functions"
	First         = "first"
	Prefix        = "prefix"
)

// Family has the facts of all models whose names begin with certain words. A name is the maker's id of a model, or its slug: "gpt-5" fits
// openai/gpt-5-mini, gpt-5-2025-08-07 and global.openai.gpt-5, and not gpt-50. Points and hyphens are the same. A later family counts
// before an earlier one, for each field that it has.
type Family struct {
	Providers []string `yaml:"providers"` // ids of providers, or of the known servers that they are like; none: any
	Models    []string `yaml:"models"`    // words with which the names begin; none: every model of the providers
	But       []string `yaml:"but"`       // words with which names begin that do not fit
	Facts     Facts    `yaml:"facts"`
}

// FactWords are the values that a fact may have, by its name in files; none: it is free.
func FactWords(name string) []string {
	switch name {
	case "reasoning_off", "reasoning_whole":
		return []string{Refused, "allowed"}
	case "reasoning_request":
		return slices.Clone(reasoningRequests)
	case "reasoning_back":
		return []string{WithCalls, "optional"}
	case "json_schema":
		return []string{Described, "native"}
	case "call_ids":
		return []string{Alphanumeric9, "any"}
	case "custom_tools":
		return []string{Functions, "native"}
	case "system_messages":
		return []string{First, "anywhere"}
	case "input_type":
		return []string{Prefix, "field"}
	}
	return nil
}

// fits reports whether a model is of the family.
func (f *Family) fits(p *Provider, names []string) bool {
	if len(f.Providers) > 0 && !slices.Contains(f.Providers, p.ID) && (p.Like == "" || !slices.Contains(f.Providers, p.Like)) {
		return false
	}
	begins := func(words []string) bool {
		for _, word := range words {
			for _, name := range names {
				if nameBegins(name, word) {
					return true
				}
			}
		}
		return false
	}
	return (len(f.Models) == 0 || begins(f.Models)) && !begins(f.But)
}

// plainName is a model's name in one spelling.
func plainName(s string) string { return strings.ReplaceAll(strings.ToLower(s), "_", "-") }

// nameBegins reports whether a word begins the name, or what follows a vendor, region or folder in it, and ends where a part of the name does.
func nameBegins(name, word string) bool {
	for len(word) <= len(name) {
		if sameName(name[:len(word)], word) && (len(name) == len(word) || !alphanumeric(name[len(word)])) {
			return true
		}
		next := strings.IndexAny(name, "/.:@")
		if next < 0 {
			return false
		}
		name = name[next+1:]
	}
	return false
}

func alphanumeric(c byte) bool { return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' }

// sameName compares two texts of the same length, in which points and hyphens are the same.
func sameName(a, b string) bool {
	for i := range len(a) {
		x, y := a[i], b[i]
		if x == '.' {
			x = '-'
		}
		if y == '.' {
			y = '-'
		}
		if x != y {
			return false
		}
	}
	return true
}

// Over is f with the fields that o has in place of its own.
func (f Facts) Over(o *Facts) Facts {
	source := f.Source
	to, from := reflect.ValueOf(&f).Elem(), reflect.ValueOf(o).Elem()
	for i := range to.NumField() {
		if !from.Field(i).IsZero() {
			to.Field(i).Set(from.Field(i))
		}
	}
	if source != "" && o.Source != "" && !strings.Contains(source, o.Source) {
		f.Source = source + "; " + o.Source
	}
	return f
}

// facts are those of an endpoint: what its price list says, what is known of its family, of its provider, and what its own declaration says.
func (b *builder) facts(ep *Endpoint, o *Offer) Facts {
	names := []string{plainName(ep.MakersID()), plainName(ep.Model.Slug)}
	out := o.Listed
	for i := range b.families {
		if b.families[i].fits(ep.Provider, names) {
			out = out.Over(&b.families[i].Facts)
		}
	}
	return out.Over(&ep.Provider.Facts).Over(&o.Facts)
}

// ladder are the words of effort in their order. Their numbers say how near they are: "max" is far from all others. "default", as some servers say
// for reasoning without degrees, is in the middle.
var ladder = map[string]int{"none": 0, "minimal": 1, "low": 2, "medium": 3, "default": 3, "high": 4, "xhigh": 5, "max": 7}

// IsEffort reports whether a word of effort is known.
func IsEffort(word string) bool {
	_, known := ladder[word]
	return known
}

// Effort is the word that the model takes and that is nearest to the given one: of two, the higher. A word that asks for reasoning never
// becomes "none", and "none" becomes the least word, or "" where no word is known, of a model that always reasons. A word that is unknown,
// or for a model of which nothing is known, is returned as it is.
func (f *Facts) Effort(word string) string {
	rank, known := ladder[word]
	if word == "none" && f.CanStop() || !known || len(f.Efforts) == 0 && word != "none" || word != "none" && slices.Contains(f.Efforts, word) {
		return word
	}
	best, distance := "", 0
	for _, has := range f.Efforts {
		if has == "none" {
			continue
		}
		d := max(ladder[has]-rank, rank-ladder[has])
		if best == "" || d < distance || d == distance && ladder[has] > ladder[best] {
			best, distance = has, d
		}
	}
	return best
}

// CanStop reports whether the model's reasoning can be switched off, as far as is known.
func (f *Facts) CanStop() bool { return f.ReasoningOff != Refused }

// Budget is a budget of reasoning within the range that the model has.
func (f *Facts) Budget(tokens int64) int64 {
	if f.BudgetMost > 0 {
		tokens = min(tokens, int64(f.BudgetMost))
	}
	return max(tokens, int64(f.BudgetLeast))
}

// Excluded are the parameters that must be left out of a request that has the given ones.
func (f *Facts) Excluded(has Params) (out Params) {
	for _, pair := range f.Excludes {
		stays, goes, _ := strings.Cut(pair, "/")
		first, second := ParamNamed(stays), ParamNamed(goes)
		if has&^out&first != 0 && has&second != 0 {
			out |= second
		}
	}
	return out
}

// ReasoningRequest is how the model is asked to reason, one of the values of the quirk; "" as usual on its wire.
func (ep *Endpoint) ReasoningRequest() string {
	if ep.Facts.ReasoningRequest != "" {
		return ep.Facts.ReasoningRequest
	}
	return ep.Provider.Quirks.ReasoningRequest
}

// known takes the families, with their names in one spelling.
func (b *builder) known(families []Family) {
	b.families = slices.Clone(families)
	for i := range b.families {
		f := &b.families[i]
		for _, words := range []*[]string{&f.Models, &f.But} {
			*words = slices.Clone(*words)
			for j := range *words {
				(*words)[j] = plainName((*words)[j])
			}
		}
		what := fmt.Sprintf("families[%d]", i)
		if len(f.Models)+len(f.Providers) == 0 {
			b.fail(what, "it names no models and no providers")
		}
		for _, word := range slices.Concat(f.Models, f.But, f.Providers) {
			if strings.TrimSpace(word) == "" {
				b.fail(what, "a name in it is empty")
			}
		}
		b.checkFacts(what, &f.Facts)
	}
}

// checkFacts refuses values that nothing can follow.
func (b *builder) checkFacts(where string, f *Facts) {
	v := reflect.ValueOf(f).Elem()
	for i := range v.NumField() {
		if name := v.Type().Field(i).Tag.Get("yaml"); v.Field(i).Kind() == reflect.String {
			if words := FactWords(name); words != nil {
				b.oneOf(where, name, v.Field(i).String(), words)
			}
		}
	}
	for _, word := range f.Efforts {
		if !IsEffort(word) {
			b.fail(where, "the effort %q is not one of none, minimal, low, medium, high, xhigh, max, default", word)
		}
	}
	if f.BudgetLeast < 0 || f.BudgetMost < 0 || f.BudgetMost > 0 && f.BudgetMost < f.BudgetLeast {
		b.fail(where, "budget_least %d and budget_most %d are no range of tokens", f.BudgetLeast, f.BudgetMost)
	}
	if f.FirstByteTimeout < 0 || f.LeaveAfter < 0 {
		b.fail(where, "first_byte_timeout and leave_after must not be negative")
	}
	if longest := max(f.FirstByteTimeout, f.LeaveAfter); b.budget > 0 && longest >= b.budget {
		b.fail(where, "first_byte_timeout and leave_after must be shorter than relay.attempt_budget (%s), or no other provider is asked after one that is silent; %s is not", b.budget, longest)
	}
	for _, pair := range f.Excludes {
		stays, goes, _ := strings.Cut(pair, "/")
		if pair != "none" && (ParamNamed(stays) == 0 || ParamNamed(goes) == 0 || stays == goes) {
			b.fail(where, "excludes has %q, but must have pairs of parameters like temperature/top_p, or none", pair)
		}
	}
	for _, ratio := range f.ImageRatios {
		if !pairOf(strings.Replace(ratio, ".", "", 1), ":") && ratio != "auto" {
			b.fail(where, "the aspect ratio %q is not written like 16:9", ratio)
		}
	}
	for _, word := range f.ImageResolutions {
		b.oneOf(where, "image resolution", cmp.Or(strings.ToLower(word), " "), imageResolutions)
	}
}
