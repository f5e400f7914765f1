package edit

import (
	"context"
	"slices"
	"strings"
	"time"

	"weir/internal/audit"
	"weir/internal/fault"
)

// settable are the settings that operators may change for a while on all nodes, with the values that they may have. Others that a running node
// applies have a place of their own: rate, margin, providers and prices.
var settable = map[string][]string{"log.level": {"debug", "info", "warn", "error"}}

var settingFields = map[string]Type{"value": Text, "until": Text, "by": Text}

// LongestSetting is how long a setting may differ from the configuration, so that a node never has another one for ever than its file says.
const LongestSetting = 24 * time.Hour

// Temporary is a setting that differs from the configuration for a while.
type Temporary struct {
	Key, Value string
	Until      time.Time
	By         string
}

// Settable are the values that a setting may be given for a while, nil for one that may not.
func Settable(key string) []string { return slices.Clone(settable[key]) }

// Temporary is what a setting is for now, nil where the configuration holds.
func (b *Built) Temporary(key string, now time.Time) *Temporary {
	row := b.BesideOf(Setting, key)
	if row == nil {
		return nil
	}
	until, err := time.Parse(time.RFC3339, row.Spec["until"])
	if err != nil || !now.Before(until) {
		return nil
	}
	return &Temporary{Key: key, Value: row.Spec["value"], Until: until, By: row.Spec["by"]}
}

// SetFor gives a setting another value on all nodes for a while.
func (e *Editor) SetFor(ctx context.Context, key, value string, long time.Duration, by audit.Actor) (*Built, error) {
	const op = "edit.SetFor"
	values := settable[key]
	switch {
	case values == nil:
		return nil, fault.Newf(fault.NotFound, op, "%s cannot be changed here. Change it in the configuration.", clip(key)).Coded("setting_fixed", "key", clip(key))
	case !slices.Contains(values, value):
		return nil, fault.Field(op, "value", "%s must be one of %s.", key, strings.Join(values, ", ")).Coded("setting_value", "values", strings.Join(values, ", "))
	case long < time.Second || long > LongestSetting:
		return nil, fault.Field(op, "seconds", "seconds must be from 1 to %d: a day.", int(LongestSetting.Seconds())).Coded("setting_long", "most", int(LongestSetting.Seconds()))
	}
	until := e.now().UTC().Add(long).Truncate(time.Second)
	b, _, err := e.putBeside(ctx, &Put{Kind: Setting, ID: key, Set: Spec{"value": value, "until": until.Format(time.RFC3339), "by": by.Name}}, by)
	return b, err
}

// Reset has the configuration hold again for a setting. It fails with fault.NotFound where it does.
func (e *Editor) Reset(ctx context.Context, key string, by audit.Actor) (*Built, error) {
	return e.removeBeside(ctx, &Change{Kind: Setting, ID: key, Remove: true}, by)
}
