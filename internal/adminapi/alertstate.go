package adminapi

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"weir/internal/alert"
	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/operation"
	"weir/internal/resource"
)

func alertsKind(m Alerts) resource.Source {
	s := resource.Source{Kind: resource.Kind{Name: "alerts", One: "alert", Path: "/api/admin/alerts/rules/{id}",
		Check: func(id string, f resource.Fields) error {
			_, err := ruleFrom(id, f)
			return err
		},
		Plain: func(id string, f resource.Fields) resource.Fields {
			r, err := ruleFrom(id, f)
			if err != nil {
				return f
			}
			return fieldsOfRule(&r) // what a file leaves out is as usual
		},
		Tree: func(f resource.Fields) map[string]any {
			out := map[string]any{}
			for name, text := range f {
				out[name] = operation.Raw(text) // a number or a truth
			}
			return out
		},
	}}
	s.List = func(ctx context.Context) (l resource.Listing, err error) {
		rules, err := m.Rules(ctx)
		for i := range rules {
			if r := &rules[i]; r.Changed {
				l.Items = append(l.Items, resource.Item{ID: string(r.Kind), Version: r.Version, Fields: fieldsOfRule(r), Builtin: true})
			}
		}
		return l, err
	}
	s.Put = func(ctx context.Context, id string, f resource.Fields, _ *string, only resource.Condition, by audit.Actor) (resource.Outcome, error) {
		r, err := ruleFrom(id, f)
		if err != nil {
			return "", err
		}
		was, err := m.Rule(ctx, r.Kind)
		if err != nil {
			return "", err
		}
		changed, err := m.PutRule(ctx, r, alert.Condition(only), by)
		return resource.Outcome(result(changed, was.Changed)), err
	}
	s.Delete = func(ctx context.Context, id string, only resource.Condition, by audit.Actor) error {
		k, err := alert.ParseKind(id)
		if err != nil {
			return err
		}
		return m.ResetRule(ctx, k, alert.Condition{Version: only.Version, Dry: only.Dry}, by)
	}
	return s
}

// fieldsOfRule are all that a rule of its kind has, so that files say what holds.
func fieldsOfRule(r *alert.Rule) resource.Fields {
	f := resource.Fields{"enabled": strconv.FormatBool(r.On)}
	if r.Kind.Unit() != "" {
		f["limit"] = strconv.Itoa(r.Limit)
	}
	if r.Kind.Counted() {
		f["minutes"], f["calls"] = strconv.Itoa(r.Minutes), strconv.Itoa(r.Calls)
	}
	return f
}

func ruleFrom(id string, f resource.Fields) (r alert.Rule, err error) {
	k, err := alert.ParseKind(id)
	if err != nil {
		return r, err
	}
	r = k.Usual()
	r.On = true
	for name, text := range f {
		to := map[string]*int{"limit": &r.Limit, "minutes": &r.Minutes, "calls": &r.Calls}[name]
		switch {
		case name == "enabled" && (text == "true" || text == "false"):
			r.On = text == "true"
		case to != nil:
			if *to, err = strconv.Atoi(text); err != nil {
				return r, fault.Field("adminapi.ruleFrom", name, "%s must be a whole number.", name).Coded("whole_number", "name", name)
			}
		default:
			return r, operation.UnknownField(name)
		}
	}
	return r, r.Check()
}

func channelsKind(m Alerts) resource.Source {
	s := resource.Source{Kind: resource.Kind{Name: "channels", One: "channel", Path: "/api/admin/alerts/channels/{id}", Key: "secret",
		Check: func(_ string, f resource.Fields) error {
			for name, text := range f {
				if name != "way" && name != "address" && name != "language" && name != "kinds" && name != "severity" && (name != "enabled" || text != "true" && text != "false") {
					return operation.UnknownField(name)
				}
			}
			for _, k := range kindsFrom(f["kinds"]) {
				if _, err := alert.ParseKind(string(k)); err != nil {
					return err
				}
			}
			return nil
		},
		Plain: func(_ string, f resource.Fields) resource.Fields { return fieldsOfChannel(new(channelFrom("", f))) },
		Tree: func(f resource.Fields) map[string]any {
			out := map[string]any{}
			for name, text := range f {
				switch name {
				case "enabled":
					out[name] = operation.Raw(text)
				case "kinds":
					out[name] = kindNames(kindsFrom(text))
				default:
					out[name] = text
				}
			}
			return out
		},
	}}
	s.List = func(ctx context.Context) (l resource.Listing, err error) {
		all, err := m.Channels(ctx)
		for i := range all {
			c := &all[i]
			l.Items = append(l.Items, resource.Item{ID: c.ID, Version: c.Version, Fields: fieldsOfChannel(c), HasKey: len(c.Sealed) > 0, Last4: c.Last4})
		}
		return l, err
	}
	s.Put = func(ctx context.Context, id string, f resource.Fields, key *string, only resource.Condition, by audit.Actor) (resource.Outcome, error) {
		_, missing := m.Channel(ctx, id)
		changed, err := m.PutChannel(ctx, channelFrom(id, f), key, alert.Condition(only), by)
		return resource.Outcome(result(changed, missing == nil)), err
	}
	s.Delete = func(ctx context.Context, id string, only resource.Condition, by audit.Actor) error {
		return m.RemoveChannel(ctx, id, alert.Condition{Version: only.Version, Dry: only.Dry}, by)
	}
	return s
}

func channelFrom(id string, f resource.Fields) alert.Channel {
	return alert.Channel{ID: id, Way: alert.Way(f["way"]), Address: f["address"], Language: cmp.Or(f["language"], "en"), On: f["enabled"] != "false", Kinds: kindsFrom(f["kinds"]), Least: alert.Severity(f["severity"])}
}

// kindsFrom reads a list as files have it, separated by commas or spaces, in its one order. What is no kind comes last, and is refused when it is set.
func kindsFrom(text string) (kinds []alert.Kind) {
	for _, name := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' }) {
		if k := alert.Kind(name); !slices.Contains(kinds, k) {
			kinds = append(kinds, k)
		}
	}
	slices.SortStableFunc(kinds, func(x, y alert.Kind) int {
		return cmp.Compare(uint(slices.Index(alert.Kinds, x)), uint(slices.Index(alert.Kinds, y)))
	})
	return kinds
}

func fieldsOfChannel(c *alert.Channel) resource.Fields {
	f := resource.Fields{"way": string(c.Way), "language": c.Language}
	if c.Address != "" {
		f["address"] = c.Address
	}
	if !c.On {
		f["enabled"] = "false"
	}
	if len(c.Kinds) > 0 {
		f["kinds"] = strings.Join(kindNames(c.Kinds), ",")
	}
	if c.Least == alert.Critical {
		f["severity"] = string(c.Least)
	}
	return f
}
