package accountapi

import (
	"cmp"
	"context"
	"maps"
	"strings"

	"weir/internal/audit"
	"weir/internal/catalog"
	"weir/internal/fault"
	"weir/internal/operation"
	"weir/internal/preset"
	"weir/internal/rawjson"
	"weir/internal/resource"
)

// StateItem is something that is kept as files.
type StateItem struct {
	ID      string            `json:"id"`
	Version int64             `json:"version"` // of its last change
	Fields  map[string]string `json:"fields"`  // what the database says, with points in the names of what is nested; never a secret
	Where   *string           `json:"where"`   // the position in the configuration that owns it, so that it cannot be set
	HasKey  bool              `json:"has_key"` // it has a secret that the database holds encrypted
	Last4   *string           `json:"last4"`   // the last characters of that
	Builtin bool              `json:"builtin"` // without these fields it is as the program has it
}

// StatePage is a page of a kind of what is kept as files.
type StatePage struct {
	Data  []StateItem `json:"data"`
	Notes []string    `json:"notes"` // sentences about what is not among them
	Next  *string     `json:"next"`  // value of after for the next page
}

// StatePageOf is the page of a listing that comes after an id, with limit rows; 100 where limit is 0.
func StatePageOf(l *resource.Listing, after string, limit int) StatePage {
	out := StatePage{Data: []StateItem{}, Notes: append([]string{}, l.Notes...)}
	rows := cmp.Or(limit, 100)
	for i := range l.Items {
		x := &l.Items[i]
		if x.ID <= after {
			continue
		}
		if len(out.Data) == rows {
			out.Next = &out.Data[rows-1].ID
			break
		}
		fields := x.Fields
		if fields == nil {
			fields = resource.Fields{}
		}
		out.Data = append(out.Data, StateItem{ID: x.ID, Version: x.Version, Fields: fields, Where: OrNull(x.Where), HasKey: x.HasKey, Last4: OrNull(x.Last4), Builtin: x.Builtin})
	}
	return out
}

// Put is something as it is after it was put.
type Put[T any] struct {
	Result string `json:"result" enum:"created,changed,unchanged"` // unchanged: it was so already, and nothing is in the history
	Data   T      `json:"data"`
}

const presetStatePath = "/api/state/presets"

// PresetState are the presets of an account as they are kept as files. With none of its arguments it says how files say them.
func PresetState(m *preset.Manager, user string, models func(context.Context) (*catalog.Snapshot, error)) resource.Source {
	s := resource.Source{Kind: resource.Kind{Name: "presets", One: "preset", Path: "/api/presets/{id}", Lists: presetStatePath, JSON: presetJSON,
		Check: func(id string, f resource.Fields) error {
			if err := preset.CheckName(id); err != nil {
				return err
			}
			_, err := contentFrom(f, nil)
			return err
		},
		Plain: func(_ string, f resource.Fields) resource.Fields {
			if f["description"] != "" {
				return f
			}
			f = maps.Clone(f)
			f["description"] = "" // so that one which says nothing is something, too
			return f
		},
		Tree: presetTree,
	}}
	s.List = func(ctx context.Context) (l resource.Listing, err error) {
		if user == "" {
			return l, fault.New(fault.Invalid, "accountapi.PresetState", "Presets belong to an account: name it with --user.")
		}
		all, err := m.All(ctx, user)
		for i := range all {
			l.Items = append(l.Items, resource.Item{ID: all[i].Name, Version: all[i].Version, Fields: presetFields(&all[i])})
		}
		return l, err
	}
	s.Put = func(ctx context.Context, id string, f resource.Fields, _ *string, only resource.Condition, by audit.Actor) (resource.Outcome, error) {
		c, err := models(ctx)
		if err != nil {
			return "", err
		}
		content, err := contentFrom(f, c)
		if err != nil {
			return "", err
		}
		is, was, err := m.Put(ctx, preset.Save{User: user, Name: id, Description: f["description"], Content: content, New: only.New, From: only.Version}, by)
		return presetOutcome(&is, &was), err
	}
	s.Delete = func(ctx context.Context, id string, only resource.Condition, by audit.Actor) error {
		return m.Delete(ctx, user, id, only.Version, by)
	}
	return s
}

func presetOutcome(is, was *preset.Preset) resource.Outcome {
	switch {
	case was.Version == 0:
		return resource.Created
	case is.Content == was.Content && is.Description == was.Description:
		return resource.Unchanged
	}
	return resource.Changed
}

// presetJSON reports whether a field of a preset is kept as JSON.
func presetJSON(name string) bool {
	switch name {
	case "models", "tools", "plugins":
		return true
	}
	return strings.HasPrefix(name, "parameters.") || strings.HasPrefix(name, "provider.")
}

func presetFields(p *preset.Preset) resource.Fields {
	f := resource.Fields{}
	if p.Description != "" {
		f["description"] = p.Description
	}
	for m := rawjson.MembersOf([]byte(p.Content)); m.Next(); {
		switch name := string(m.Name); {
		case presetJSON(name):
			f[name] = string(rawjson.Compact(m.Value))
		case rawjson.KindOf(m.Value) == rawjson.Object:
			for inner := rawjson.MembersOf(m.Value); inner.Next(); {
				f[name+"."+string(inner.Name)] = string(rawjson.Compact(inner.Value))
			}
		default:
			f[name] = rawjson.Text(m.Value)
		}
	}
	return f
}

// presetTree is the body that saves a preset.
func presetTree(f resource.Fields) map[string]any {
	out := map[string]any{}
	for name, text := range f {
		group, inner, nested := strings.Cut(name, ".")
		switch {
		case !presetJSON(name):
			out[name] = text
		case nested:
			members, _ := out[group].(map[string]any)
			if members == nil {
				members = map[string]any{}
				out[group] = members
			}
			members[inner] = operation.Raw(text)
		default:
			out[name] = operation.Raw(text)
		}
	}
	return out
}

// contentFrom is what fields say, checked; without a catalog its models may be any.
func contentFrom(f resource.Fields, c *catalog.Snapshot) (string, error) {
	tree := presetTree(f)
	delete(tree, "description")
	content, err := operation.JSON(tree)
	if err != nil {
		return "", err
	}
	return PresetChecker(c)(content)
}

func stateOperations(d Deps) []operation.Operation {
	return []operation.Operation{operation.Of(operation.Operation{
		Method: "GET", Path: presetStatePath, ID: "listPresetState", Org: operation.Leaders, Access: operation.Management, Tag: "presets",
		Summary: "List the presets of the account as they are kept as files", Answer: "The presets by name, with what they say as fields",
		Description: "This is what `weir state` keeps as files. `PUT /api/presets/{name}` takes them with their nested names.",
	}, func(ctx context.Context, c *operation.Call, in *struct {
		After string `json:"-" query:"after"`            // next of the page before
		Limit int    `json:"-" query:"limit" most:"200"` // rows of the page; 100 without it
	}) (StatePage, error) {
		l, err := PresetState(d.Presets, c.User, nil).List(ctx)
		if err != nil {
			return StatePage{}, err
		}
		return StatePageOf(&l, in.After, in.Limit), nil
	})}
}
