package wire

import (
	"bytes"
	"strings"

	"weir/internal/rawjson"
	"weir/internal/routing"
)

// KeepStoring is what to store of new defaults of an account: what was said of storing stays, unless text says it, too. It fails where all
// together are too long.
func KeepStoring(was, text string) (string, error) {
	if MemberOf(text, StoringOfAccount) != "" {
		return text, nil
	}
	after := WithMember(text, StoringOfAccount, MemberOf(was, StoringOfAccount))
	if after != "" {
		if _, err := Defaults([]byte(after)); err != nil {
			return "", err
		}
	}
	return after, nil
}

// MemberOf is a member of the defaults of an account, "" for none.
func MemberOf(defaults, name string) string {
	if defaults == "" {
		return ""
	}
	return string(rawjson.Find([]byte(defaults), name))
}

// PreferencesText is what is kept of preferences that somebody gives, "" for null and for an object without members. It fails with
// fault.Invalid or another kind for what is not JSON.
func PreferencesText(v []byte) (string, error) { return preferencesText(v, DefaultPreferences) }

// DefaultsText is the same of what holds for an account, plugins among it.
func DefaultsText(v []byte) (string, error) { return preferencesText(v, Defaults) }

func preferencesText(v []byte, read func([]byte) (routing.Preferences, error)) (string, error) {
	if rawjson.KindOf(v) == rawjson.Null {
		return "", nil
	}
	if _, err := read(v); err != nil {
		return "", err
	}
	if m := rawjson.MembersOf(v); !m.Next() {
		return "", nil
	}
	return string(bytes.TrimSpace(v)), nil
}

// WithPlugins is what is stored of the preferences of an account: its plugins, and its preferences for providers.
func WithPlugins(provider string, plugins []byte) string {
	switch {
	case len(bytes.TrimSpace(bytes.Trim(plugins, "[] \t\r\n"))) == 0:
		return provider
	case provider == "":
		return `{"plugins":` + string(plugins) + "}"
	}
	return strings.TrimSuffix(provider, "}") + `,"plugins":` + string(plugins) + "}"
}
