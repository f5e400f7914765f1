package gatewayimport

import (
	"context"
	"time"

	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/preset"
)

// Keys makes keys. *apikey.Manager does.
type Keys interface {
	// MaxPerUser is how many keys a user may have.
	MaxPerUser() int
	Create(ctx context.Context, n apikey.NewKey, by audit.Actor) (apikey.Key, string, error)
	List(ctx context.Context, f apikey.Filter) ([]apikey.Key, error)
}

// Presets makes presets. *preset.Manager does.
type Presets interface {
	Save(ctx context.Context, s preset.Save, by audit.Actor) (preset.Preset, error)
	List(ctx context.Context, user string) ([]preset.Preset, error)
}

// Account is whom things are made for.
type Account struct {
	User    string // "usr_..."
	Keys    Keys
	Presets Presets
	// Check checks the content of a preset as when it is saved, and returns it in the form in which it is kept.
	Check func(content []byte) (string, error)
	Actor audit.Actor
	Now   time.Time

	Org *Org // nil: it is a person's own, which has no teams, users and budgets of tags
}

// Outcome is what happened to a key or preset of a plan.
type Outcome string

// The outcomes.
const (
	New     Outcome = "new"     // it would be made
	Made    Outcome = "made"    // it was made
	Exists  Outcome = "exists"  // there is one of this name, which stays as it is
	Refused Outcome = "refused" // it is not made, for a reason
)

// Item is a key or a preset of a plan, and what happened to it.
type Item struct {
	Key     *Key    // nil for a preset
	Preset  *Preset // nil for a key
	Group   *Group  // of a team, a user or a tag
	Outcome Outcome
	Reason  Reason // of a refused one
	Why     string // the sentence of one that is refused as invalid
	Secret  string // of a key that was made, or the link of an invitation: shown this once
}

// Result is what became of a plan.
type Result struct {
	Groups, Keys, Presets []Item
}

// Made counts the teams, users and tags with an outcome.
func (r *Result) Made(o Outcome) (n int) {
	for i := range r.Groups {
		if r.Groups[i].Outcome == o {
			n++
		}
	}
	return n
}

// Count counts the keys and presets with an outcome.
func (r *Result) Count(o Outcome) (keys, presets int) {
	for i := range r.Keys {
		if r.Keys[i].Outcome == o {
			keys++
		}
	}
	for i := range r.Presets {
		if r.Presets[i].Outcome == o {
			presets++
		}
	}
	return keys, presets
}

// Apply makes what a plan has, or with dry only says what would be made. What has a name that the account has already is left as it is, so
// that a second import changes nothing. It fails before anything is made; afterwards each failure is that of its item.
func (p *Plan) Apply(ctx context.Context, a *Account, dry bool) (*Result, error) {
	keys, err := a.Keys.List(ctx, apikey.Filter{User: a.User, IncludeDisabled: true, Count: apikey.MostPerUser})
	if err != nil {
		return nil, err
	}
	presets, err := a.Presets.List(ctx, a.User)
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for i := range keys {
		names[keys[i].Name] = true
	}
	r := &Result{}
	if r.Groups, err = a.groups(ctx, p.Groups, dry); err != nil {
		return nil, err
	}
	room := a.Keys.MaxPerUser() - len(keys)
	for i := range p.Keys {
		item := a.key(ctx, &p.Keys[i], names, &room, dry)
		r.Keys = append(r.Keys, item)
	}
	clear(names)
	for i := range presets {
		names[presets[i].Name] = true
	}
	room = preset.MaxPerUser - len(presets)
	for i := range p.Presets {
		r.Presets = append(r.Presets, a.preset(ctx, &p.Presets[i], names, &room, dry))
	}
	return r, nil
}

func (a *Account) key(ctx context.Context, k *Key, names map[string]bool, room *int, dry bool) Item {
	item := Item{Key: k, Outcome: New}
	n := apikey.NewKey{Name: k.Name, User: a.User, Creator: a.User, Limit: k.Limit, Rates: k.Rates, Models: k.Models, Addresses: k.Addresses, ExpiresAt: k.ExpiresAt, Disabled: k.Disabled}
	switch err := n.Check(a.Now); {
	case k.Refused != "":
		item.refuse(k.Refused, nil)
	case names[k.Name]:
		item.Outcome = Exists
	case err != nil:
		item.refuse(Invalid, err)
	case *room <= 0:
		item.refuse(NoRoom, nil)
	default:
		*room--
		names[k.Name] = true
		if dry {
			return item
		}
		if n.Member, err = a.Org.worksFor(ctx, k, a.Actor); err != nil {
			item.refuse(Invalid, err)
			return item
		}
		if _, item.Secret, err = a.Keys.Create(ctx, n, a.Actor); err != nil {
			item.refuse(Invalid, err)
		} else {
			item.Outcome = Made
		}
	}
	return item
}

func (i *Item) refuse(why Reason, err error) {
	i.Outcome, i.Reason = Refused, why
	if err != nil {
		if i.Why = fault.From(err).Public; i.Why == "" {
			i.Why = "It could not be stored. Import again."
		}
	}
}

func (a *Account) preset(ctx context.Context, p *Preset, names map[string]bool, room *int, dry bool) Item {
	item := Item{Preset: p, Outcome: New}
	switch {
	case p.Refused != "":
		item.refuse(p.Refused, nil)
		return item
	case names[p.Name]:
		item.Outcome = Exists
		return item
	}
	content, err := a.Check(p.Content)
	switch {
	case err != nil:
		item.refuse(Invalid, err)
	case *room <= 0:
		item.refuse(NoRoom, nil)
	default:
		p.Content = []byte(content)
		*room--
		names[p.Name] = true
		if dry {
			return item
		}
		if _, err = a.Presets.Save(ctx, preset.Save{User: a.User, Name: p.Name, Description: p.Description, Content: content, New: true}, a.Actor); err != nil {
			item.refuse(Invalid, err)
		} else {
			item.Outcome = Made
		}
	}
	return item
}
