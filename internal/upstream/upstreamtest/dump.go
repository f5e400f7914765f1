package upstreamtest

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"weir/internal/completion"
	"weir/internal/completion/calls"
	"weir/internal/fault"
	"weir/internal/usage"
)

// Dump writes an event on one line, fields that are empty left out.
func Dump(ev *completion.Event) string {
	var s strings.Builder
	fmt.Fprintf(&s, "[%d]", ev.Choice)
	if h := ev.Head; h != nil {
		fmt.Fprintf(&s, " head{%s %s %s %s}", h.ID, h.Model, h.Fingerprint, h.Tier)
	}
	quoted := func(name string, b []byte) {
		if len(b) > 0 {
			fmt.Fprintf(&s, " %s=%q", name, b)
		}
	}
	raw := func(name string, b []byte) {
		if len(b) > 0 {
			fmt.Fprintf(&s, " %s=%s", name, b)
		}
	}
	quoted("text", ev.Text)
	quoted("reasoning", ev.Reasoning)
	quoted("refusal", ev.Refusal)
	raw("details", ev.ReasoningDetails)
	for _, c := range ev.ToolCalls {
		fmt.Fprintf(&s, " call%d{%s %s %q", c.Index, c.ID, c.Name, c.Arguments)
		if c.Signature != "" {
			fmt.Fprintf(&s, " signature=%s", c.Signature)
		}
		if c.Custom {
			s.WriteString(" custom")
		}
		if c.Last {
			s.WriteString(" last")
		}
		if len(c.Extra) > 0 {
			fmt.Fprintf(&s, " extra=%s", c.Extra)
		}
		s.WriteString("}")
	}
	raw(fmt.Sprintf("images(%d)", ev.ImageCount), ev.Images)
	raw("audio", ev.Audio)
	raw("annotations", ev.Annotations)
	raw("logprobs", ev.Logprobs)
	if ev.Finish != "" {
		fmt.Fprintf(&s, " finish=%s/%s", ev.Finish, ev.NativeFinish)
	}
	if ev.Usage != nil {
		fmt.Fprintf(&s, " usage{%s}", DumpUsage(ev.Usage))
	}
	raw("frame+", ev.FrameExtra)
	raw("choice+", ev.ChoiceExtra)
	raw("delta+", ev.DeltaExtra)
	if ev.Done {
		s.WriteString(" done")
	}
	return s.String()
}

// DumpUsage writes the counts that were reported.
func DumpUsage(u *usage.Usage) string {
	var parts []string
	count := func(name string, c usage.Count) {
		if c.Reported {
			parts = append(parts, fmt.Sprintf("%s=%d", name, c.N))
		}
	}
	count("prompt", u.Prompt)
	count("cached", u.CacheRead)
	count("written", u.CacheWrite)
	count("completion", u.Completion)
	count("reasoning", u.Reasoning)
	if u.UpstreamCost != "" {
		parts = append(parts, "cost="+u.UpstreamCost)
	}
	if u.Tier != "" {
		parts = append(parts, "tier="+u.Tier)
	}
	return strings.Join(parts, " ")
}

// DumpFault writes the parts of a fault that others act on.
func DumpFault(err error) string {
	f := fault.From(err)
	return fmt.Sprintf("fault %s next=%d: %s", f.Kind, f.Next, f.Public)
}

// DumpAll writes a sequence, one event a line, with the fault that ended it if one did.
func DumpAll(events iter.Seq2[*completion.Event, error]) string {
	var s strings.Builder
	for ev, err := range events {
		if err != nil {
			s.WriteString(DumpFault(err) + "\n")
			break
		}
		s.WriteString(Dump(ev) + "\n")
	}
	return s.String()
}

// Sum is an answer put together from its events, for comparing streams that were cut differently.
type Sum struct {
	Text, Reasoning, Refusal string
	Calls                    []completion.ToolCall // arguments joined
	Finish                   completion.FinishReason
	Usage                    *usage.Usage
	Done                     bool
	Err                      *fault.Error
}

// Collect reads a sequence of an answer with one choice to its end.
func Collect(events iter.Seq2[*completion.Event, error]) Sum {
	var s Sum
	all := calls.Assembler{Order: calls.Whole}
	for ev, err := range events {
		if err != nil {
			s.Err = fault.From(err)
			break
		}
		if ev.Choice < 0 {
			s.add(ev)
		} else {
			all.Event(ev, s.add)
		}
	}
	all.End(s.add)
	return s
}

// given is the id of a call, "" where it is made.
func given(id string) string {
	if strings.HasPrefix(id, "call__") {
		return ""
	}
	return id
}

func (s *Sum) add(ev *completion.Event) {
	s.Text += string(ev.Text)
	s.Reasoning += string(ev.Reasoning)
	s.Refusal += string(ev.Refusal)
	for _, c := range ev.ToolCalls {
		s.Calls = append(s.Calls, completion.ToolCall{Index: c.Index, ID: given(c.ID), Name: c.Name, Custom: c.Custom, Signature: c.Signature, Arguments: slices.Clone(c.Arguments)})
	}
	if ev.Finish != "" {
		s.Finish = ev.Finish
	}
	if ev.Usage != nil {
		u := *ev.Usage
		s.Usage = &u
	}
	s.Done = s.Done || ev.Done
}
