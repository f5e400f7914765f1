package reconcile

import (
	"cmp"
	"context"
	"encoding/hex"
	"maps"
	"slices"
	"strings"

	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/usertext"
)

// Elsewhere is what a key of a bill is that another program uses.
const Elsewhere = "-"

// Bounds of what is remembered of the keys in bills.
const (
	mostNames   = 500
	maxBillName = 200 // bytes
	tagSize     = 6   // bytes of catalog.KeyTag
)

// OurKey is one of the gateway's keys of a provider.
type OurKey struct {
	Tag  string // catalog.KeyTag, as records have it
	ID   string // "pkey_...", "" of one that is declared
	Note string
}

// is reports whether a bill means this key by a name. Providers have ids and names of their own, which an operator may note; OpenRouter names keys by their
// SHA-256, of which a tag is the beginning.
func (k *OurKey) is(name string) bool {
	return name == k.Tag || name != "" && (name == k.ID || name == k.Note) || len(name) == 64 && strings.HasPrefix(strings.ToLower(name), k.Tag)
}

// alike is the tag of the one key that a bill means by a name, "" without one.
func alike(name string, ours []OurKey) (tag string) {
	for i := range ours {
		if !ours[i].is(name) {
			continue
		}
		if tag != "" && tag != ours[i].Tag {
			return ""
		}
		tag = ours[i].Tag
	}
	return tag
}

// Names are which of the gateway's keys those of rows are, by their names: what was said of them, and those whose names tell.
func (m *Manager) Names(ctx context.Context, provider string, rows []Row) (map[string]string, error) {
	said, err := m.Store.BilledKeys(ctx, provider)
	if err != nil {
		return nil, err
	}
	var ours []OurKey
	if m.Keys != nil {
		if ours, err = m.Keys(ctx, provider); err != nil {
			return nil, err
		}
	}
	names := map[string]string{}
	for i := range rows {
		name := rows[i].Key
		if tag := cmp.Or(said[name], alike(name, ours)); tag != "" {
			names[name] = tag
		}
	}
	return names, nil
}

// Say remembers which of the gateway's keys those of a provider's bills are: by tag or id, Elsewhere, or "" for not known. It fails with fault.Invalid.
func (m *Manager) Say(ctx context.Context, provider string, names map[string]string, by audit.Actor) error {
	const op = "reconcile.Say"
	if len(names) > mostNames {
		return fault.Field(op, "our_keys", "Say of at most %d keys at once which they are.", mostNames).Coded("bill_keys", "most", mostNames)
	}
	known, err := m.Store.BilledKeys(ctx, provider)
	if err != nil {
		return err
	}
	var ours []OurKey
	if m.Keys != nil {
		if ours, err = m.Keys(ctx, provider); err != nil {
			return err
		}
	}
	changed := map[string]string{}
	var before, after []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		is := names[name]
		if len(name) > maxBillName || name != "" && !usertext.Is(name) {
			return fault.Field(op, "our_keys", "The name of a key in a bill is one line of at most %d bytes.", maxBillName).Coded("bill_key_name", "most", maxBillName)
		}
		if is != "" && is != Elsewhere {
			tag := alike(is, ours)
			if b, err := hex.DecodeString(is); tag == "" && err == nil && len(b) == tagSize {
				tag = is // of a key that is deleted here
			}
			if tag == "" {
				return fault.Field(op, "our_keys", "%q is no key of this provider: give its id or its tag, as the list of its keys has them.", usertext.Cut(is, 64)).Coded("bill_key", "value", usertext.Cut(is, 64))
			}
			is = tag
		}
		if known[name] != is {
			changed[name] = is
			before, after = append(before, name+"="+known[name]), append(after, name+"="+is)
		}
	}
	if len(changed) == 0 {
		return nil
	}
	return m.Store.NameBilledKeys(ctx, provider, changed, m.Now(), audit.Event{Actor: by, Action: audit.BilledKeysNamed, Target: provider, Before: clipped(before), After: clipped(after)})
}

// clipped is a list for the audit log.
func clipped(list []string) string {
	const most = 20
	if len(list) > most {
		return strings.Join(list[:most], ", ") + ", ..."
	}
	return strings.Join(list, ", ")
}

// ofOurKeys puts the gateway's keys in place of those that rows name, and leaves out rows of other programs. Where it is not known of each of them whose it
// is, the rows that are left have no key: then they can only be compared without.
func ofOurKeys(rows []Row, names map[string]string) []Row {
	keyed, costs := false, false // costs: those of all keys together
	for i := range rows {
		keyed = keyed || rows[i].Key != ""
		costs = costs || rows[i].Key == "" && rows[i].costsAlone()
	}
	known := keyed && !costs
	out := make([]Row, 0, len(rows))
	for _, row := range rows {
		if row.Key == "" && (!keyed || row.costsAlone()) {
			out = append(out, row)
			continue
		}
		if row.Key = names[row.Key]; row.Key == Elsewhere {
			continue
		}
		known = known && row.Key != ""
		out = append(out, row)
	}
	if !known {
		for i := range out {
			out[i].Key = ""
		}
	}
	return out
}

// costsAlone reports whether a row has nothing but a cost.
func (r *Row) costsAlone() bool { return r.Calls < 0 && r.Prompt < 0 && r.Completion < 0 }
