package dialect

import (
	"slices"
	"strings"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/fault"
)

// Sent collects what of a request a dialect has written into its call. What it has not written is named in a notice or, where the client
// requires that every parameter is supported, refused: see Left.
type Sent struct {
	fields    Fields
	names     []string // left out, by name
	explained []explained
	sentences []string
}

// explained is a field that is left out, with a sentence of its own about it.
type explained struct {
	field Fields
	name  string
}

// Has records fields that the call has, or that are the same without.
func (s *Sent) Has(f Fields) { s.fields |= f }

// Hasnt takes back what Has recorded.
func (s *Sent) Hasnt(f Fields) { s.fields &^= f }

// Note adds a sentence for the client.
func (s *Sent) Note(sentence string) {
	if sentence != "" {
		s.sentences = append(s.sentences, sentence)
	}
}

// Explain records that a field is left out, with a sentence for the client that says why. name is the name of the member that it is a part of,
// where no member is the field itself.
func (s *Sent) Explain(f Fields, name, sentence string) {
	s.explained = append(s.explained, explained{f, name})
	s.Note(sentence)
}

// Drop records that a part of the request is left out.
func (s *Sent) Drop(name string) { s.names = append(s.names, name) }

// Member records that a member of the client's own body is left out.
func (s *Sent) Member(req *completion.Request, m *completion.Member) {
	if asked[req.Style][m.Name].asks(req.Body[m.Value:m.End]) {
		s.Drop(m.Name)
	}
}

// Translated compares a request with what was written of it.
func (s *Sent) Translated(ep *catalog.Endpoint, req *completion.Request) {
	s.Advisor(req)
	has := s.fields
	if r := &req.Reasoning; !r.Chosen() || r.Off() && ep.Params&(catalog.ParamReasoning|catalog.ParamReasoningEffort) == 0 {
		has |= FieldReasoning
	}
	if req.Needs.Output&catalog.Audio == 0 {
		has |= FieldAudio
	}
	if req.Revised&completion.RevisedFormat != 0 { // by a plugin that has done it another way
		has |= FieldFormat
	}
	for name, f := range settingsOf(req) {
		at := slices.IndexFunc(s.explained, func(x explained) bool { return x.field == f })
		switch {
		case at >= 0:
			s.explained[at].name = name.String()
		case f == 0 || f&^has != 0:
			s.Drop(name.String())
		}
	}
}

// Left is the notice about what is not in the call, "" when everything is. It fails where the client requires all of it.
func (s *Sent) Left(req *completion.Request) (notice string, err error) {
	if req.Preferences.RequireParameters {
		for _, x := range s.explained {
			s.Drop(x.name)
		}
	}
	sentence, err := Unsent(req, s.names)
	if err != nil {
		return "", err
	}
	s.Note(sentence)
	return strings.Join(s.sentences, " "), nil
}

// Bounds of a notice: clients choose the names in it.
const (
	maxNames = 20
	maxName  = 64
)

// Unsent is the notice about parameters of a request that the provider does not get, "" when it gets all. It fails with provider.require_parameters; then
// another endpoint may be tried.
func Unsent(req *completion.Request, names []string) (notice string, err error) {
	if len(names) == 0 {
		return "", nil
	}
	slices.Sort(names)
	names = slices.Compact(names)
	list := shown(names)
	if req.Preferences.RequireParameters {
		f := fault.Field("dialect.Unsent", shown(names[:1]),
			"The provider of this model does not support %s, and provider.require_parameters is set. Leave out one of the two, or choose another model.", list)
		f.Next = fault.NextEndpoint
		return "", f
	}
	return "The provider of this model does not take " + list + ": the answer was made without.", nil
}

func shown(names []string) string {
	var b strings.Builder
	for i, name := range names {
		if i == maxNames {
			b.WriteString(" and others")
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		if len(name) > maxName {
			name = strings.ToValidUTF8(name[:maxName], "") + "..."
		}
		b.WriteString(name)
	}
	return b.String()
}
