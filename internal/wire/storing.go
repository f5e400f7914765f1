package wire

import (
	"slices"
	"strings"

	"weir/internal/fault"
	"weir/internal/rawjson"
)

// Storing says which responses an account stores, and whether it keeps its chats.
type Storing struct {
	Responses string // one of StoringModes
	Days      int64  // for how long; 0: as long as the gateway stores them
	Chats     bool   // chats of the playground are kept, too
}

// The modes of storing.
const (
	StoreByDefault = "by_default" // unless the request says store: false
	StoreOnRequest = "on_request" // when the request says store: true
	StoreNever     = "never"
)

// StoringModes lists them.
var StoringModes = []string{StoreByDefault, StoreOnRequest, StoreNever}

// maxStoringDays is the longest time that can be set.
const maxStoringDays = 3650

// ReadStoring reads {"responses":"by_default","days":7,"chats":false}. Nothing at all, a missing member and null mean the default. It fails with a *fault.Error.
func ReadStoring(v []byte) (s Storing, err error) {
	const op = "wire.ReadStoring"
	s.Responses = StoreByDefault
	if v == nil || rawjson.KindOf(v) == rawjson.Null {
		return s, nil
	}
	if rawjson.KindOf(v) != rawjson.Object {
		return s, fault.Field(op, "storing", "storing must be an object, such as {\"responses\":\"never\"}.").Coded("storing_object")
	}
	r := NewReader(v, op)
	r.Object()
	for name, ok := r.Member(); ok; name, ok = r.Member() {
		switch string(name) {
		case "responses":
			if mode, set := r.Enum(StoringModes); set {
				s.Responses = mode
			}
		case "days":
			s.Days, _ = r.Int(1, maxStoringDays)
		case "chats":
			s.Chats, _ = r.Bool()
		default:
			return s, fault.Field(op, clip(name), "%s is not one of responses, days, chats.", clip(name)).Coded("unknown_storing_field")
		}
	}
	if err := r.Err(); err != nil {
		return s, err
	}
	return s, nil
}

// Text is what is stored of it, "" for the default.
func (s Storing) Text() string {
	var w rawjson.Writer
	w.Object()
	if s.Responses != StoreByDefault {
		w.Name("responses").Text(s.Responses)
	}
	if s.Days > 0 {
		w.Name("days").Int(s.Days)
	}
	if s.Chats {
		w.Name("chats").Bool(true)
	}
	w.EndObject()
	if string(w.B) == "{}" {
		return ""
	}
	return string(w.B)
}

// The members of the defaults of an account that are no preferences for providers.
const (
	PluginsOfAccount = "plugins"
	StoringOfAccount = "storing"
)

// ProviderOf takes the members that are no preferences for providers out of the defaults of an account: "" when nothing is left.
func ProviderOf(defaults string) string {
	if defaults == "" {
		return ""
	}
	var b strings.Builder
	for m := rawjson.MembersOf([]byte(defaults)); m.Next(); {
		if slices.Contains([]string{PluginsOfAccount, StoringOfAccount}, string(m.Name)) {
			continue
		}
		b.WriteByte(',')
		b.WriteString(defaults[m.Start:m.End])
	}
	if b.Len() == 0 {
		return ""
	}
	return "{" + b.String()[1:] + "}"
}

// WithMember replaces a member of the defaults of an account, and removes it where value is "".
func WithMember(defaults, name, value string) string {
	var b strings.Builder
	if defaults != "" {
		for m := rawjson.MembersOf([]byte(defaults)); m.Next(); {
			if string(m.Name) != name {
				b.WriteByte(',')
				b.WriteString(defaults[m.Start:m.End])
			}
		}
	}
	if value != "" {
		b.WriteString(`,"` + name + `":` + value)
	}
	if b.Len() == 0 {
		return ""
	}
	return "{" + b.String()[1:] + "}"
}

// KeepDays is for how many days at the most content of an account with these preferences may be kept, 0 not at all; without bound the account
// leaves it to who keeps the content.
func KeepDays(preferences string) (days int64, bound bool, err error) {
	if preferences == "" {
		return 0, false, nil
	}
	s, err := ReadStoring(rawjson.Find([]byte(preferences), StoringOfAccount))
	if err != nil {
		return 0, true, err
	}
	p, err := Defaults([]byte(preferences))
	if err != nil || p.ZDR || s.Responses == StoreNever {
		return 0, true, err
	}
	return s.Days, s.Days > 0, nil
}

// KeepsChats reports whether the chats of an account with these preferences are kept, and for how many days, 0 as long as the gateway keeps them.
func KeepsChats(preferences string) (days int64, keeps bool, err error) {
	if preferences == "" {
		return 0, false, nil
	}
	s, err := ReadStoring(rawjson.Find([]byte(preferences), StoringOfAccount))
	if err != nil || !s.Chats || s.Responses == StoreNever {
		return 0, false, err
	}
	p, err := Defaults([]byte(preferences))
	return s.Days, err == nil && !p.ZDR, err
}
