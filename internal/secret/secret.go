// Package secret keeps credentials of settings from being printed.
package secret

import (
	"encoding"
	"fmt"
	"log/slog"
)

const masked = "***"

// Text is a credential. When it is printed, encoded or logged, it shows as ***; only Reveal returns it.
type Text struct {
	text    string
	missing bool
}

// New makes a Text of what it hides.
func New(text string) Text { return Text{text: text} }

// Absent is a placeholder for a secret that could not be read, for commands that do not need it.
func Absent(placeholder string) Text { return Text{placeholder, true} }

// Missing reports whether the secret could not be read.
func (t Text) Missing() bool { return t.missing }

// Reveal returns the secret, or "".
func (t Text) Reveal() string { return t.text }

// Format prints *** for every verb, or nothing if there is no secret.
func (t Text) Format(f fmt.State, _ rune) { fmt.Fprint(f, t.String()) }

func (t Text) String() string {
	if t.text == "" {
		return ""
	}
	return masked
}

// MarshalText returns the masked secret, for JSON and other text encoders.
func (t Text) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// MarshalYAML returns the masked secret.
func (t Text) MarshalYAML() (any, error) { return t.String(), nil }

// LogValue returns the masked secret, for slog.
func (t Text) LogValue() slog.Value { return slog.StringValue(t.String()) }

var (
	_ fmt.Formatter          = Text{}
	_ encoding.TextMarshaler = Text{}
	_ slog.LogValuer         = Text{}
)
