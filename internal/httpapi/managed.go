package httpapi

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"weir/internal/auth"
	"weir/internal/fault"
	"weir/internal/rawjson"
)

// ManagedSettings are what an operator sets for all Claude Codes: an object as in its managed-settings.json.
type ManagedSettings struct {
	ID       string // of these settings, as a UUID
	JSON     []byte // with its members in order and no space
	Checksum string // "sha256:" and the hex SHA-256 of JSON, as the client computes it of what it holds
}

// AgentSettings are the settings of all people. The first ones count that are for a person, else those for everybody.
type AgentSettings struct {
	For      []SettingsFor
	Everyone *ManagedSettings // nil: none
}

// SettingsFor are settings of some people.
type SettingsFor struct {
	Who      []string // e-mail addresses, "@" and a domain, ids of users, "role:" and a role
	Settings *ManagedSettings
}

// of is what a person has; nil: nothing.
func (a *AgentSettings) of(p *auth.Person) *ManagedSettings {
	email := strings.ToLower(p.Email)
	_, domain, _ := strings.Cut(email, "@")
	for i := range a.For {
		for _, who := range a.For[i].Who {
			switch who = strings.ToLower(who); {
			case who == strings.ToLower(p.ID), who == "role:"+string(p.Role), email != "" && (who == email || who == "@"+domain):
				return a.For[i].Settings
			}
		}
	}
	return a.Everyone
}

// MaxManagedSettings is the largest text of settings in bytes.
const MaxManagedSettings = 256 << 10

// ReadManagedSettings reads an object. It fails with fault.Invalid for what is none.
func ReadManagedSettings(text []byte) (*ManagedSettings, error) {
	const op = "httpapi.ReadManagedSettings"
	if len(text) > MaxManagedSettings {
		return nil, fault.Newf(fault.Invalid, op, "The settings must have at most %d bytes.", MaxManagedSettings)
	}
	if err := rawjson.Check(text, rawjson.Limits{Depth: 30, Keys: 10000, Values: 50000}); err != nil {
		return nil, err
	}
	if rawjson.KindOf(text) != rawjson.Object {
		return nil, fault.New(fault.Invalid, op, "The settings must be a JSON object.")
	}
	var w rawjson.Writer
	inOrder(&w, text)
	sum := sha256.Sum256(w.B)
	digits := hex.EncodeToString(sum[:])
	id := digits[:8] + "-" + digits[8:12] + "-8" + digits[13:16] + "-8" + digits[17:20] + "-" + digits[20:32] // version 8 of RFC 9562
	return &ManagedSettings{ID: id, JSON: w.B, Checksum: "sha256:" + digits}, nil
}

// inOrder writes a value that was checked with the members of its objects in order.
func inOrder(w *rawjson.Writer, v []byte) {
	switch rawjson.KindOf(v) {
	case rawjson.Object:
		type member struct {
			name  string
			value []byte
		}
		var all []member
		for m := rawjson.MembersOf(v); m.Next(); {
			all = append(all, member{string(m.Name), m.Value})
		}
		slices.SortFunc(all, func(a, b member) int {
			if a.name < b.name {
				return -1
			}
			return 1
		})
		w.Object()
		for _, m := range all {
			w.Name(m.name)
			inOrder(w, m.value)
		}
		w.EndObject()
	case rawjson.Array:
		w.Array()
		for e := rawjson.ElementsOf(v); e.Next(); {
			inOrder(w, e.Value)
		}
		w.EndArray()
	case rawjson.String:
		w.Text(rawjson.Text(v))
	case rawjson.Number:
		if f, ok := rawjson.Float(v); ok { // as the client's language writes it
			w.Literal(strconv.FormatFloat(f, 'f', -1, 64))
			return
		}
		w.Raw(v)
	default:
		w.Raw(v)
	}
}
