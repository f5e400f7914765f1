package alert

import (
	"slices"
	"strings"

	"weir/internal/catalog/edit"
	"weir/internal/console"
)

// Severity is how soon somebody must act.
type Severity string

// The severities. What is critical costs calls or money now; a warning can wait until the morning.
const (
	Warning  Severity = "warning"
	Critical Severity = "critical"
)

const fullDisk = 98 // percent, from which on a node is about to refuse calls

// Severity is that of an incident as it was last found: it may rise while the incident lasts.
func (i *Incident) Severity() Severity {
	critical := false
	switch i.Kind {
	case Ejected:
		critical = i.Failed > 0
	case Money:
		critical = i.Subject != console.AsideCheck // calls go on, and the charge is kept
	case Certificate:
		critical = i.Value < 1
	case Disk:
		critical = i.Value >= fullDisk
	case Journal:
		critical = true
	case Nodes:
		critical = i.Detail == "" // it is gone
	}
	if critical {
		return Critical
	}
	return Warning
}

// Wants reports whether a channel has chosen incidents like this one.
func (c *Channel) Wants(i *Incident) bool {
	return (len(c.Kinds) == 0 || slices.Contains(c.Kinds, i.Kind)) && (c.Least != Critical || i.Severity() == Critical)
}

// byHand reports whether the subject of an Ejected incident is what an operator took out of service. Ids of endpoints have no colon before their first slash.
func byHand(subject string) bool {
	head, _, _ := strings.Cut(subject, "/")
	return strings.Contains(head, ":")
}

// Ejection is the subject of what is ejected, as package edit names it.
func Ejection(subject string) string {
	if byHand(subject) {
		return subject
	}
	return edit.TargetOfEndpoint(subject)
}
