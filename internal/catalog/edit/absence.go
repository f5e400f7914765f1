package edit

import (
	"context"
	"slices"
	"strings"
	"time"

	"weir/internal/audit"
	"weir/internal/fault"
)

// Mode is how something is out of service.
type Mode string

// The modes.
const (
	Drain Mode = "drain" // it gets no new calls; those under way may still try it
	Eject Mode = "eject" // it gets nothing, not even another attempt of a call under way; what is running may end
)

// Out is something that an operator took out of service. It stands beside the rows of the catalog, so that what the configuration declares can be
// taken out, too.
type Out struct {
	Target string // see Targets
	Mode   Mode
	Until  time.Time // when it comes back by itself; zero: when an operator says so
	Since  time.Time
	By     string
	Reason string // "" none was given
}

// Over reports whether it is back.
func (o *Out) Over(now time.Time) bool { return !o.Until.IsZero() && !now.Before(o.Until) }

// Targets of an Out are "endpoint:" with an endpoint's id, "provider:" with a provider's, and "model:provider/vendor/model" for all endpoints of a
// model at a provider, whatever their region, tier and variant.
const (
	endpointTarget = "endpoint:"
	modelTarget    = "model:"
	providerTarget = "provider:"
)

// TargetOfEndpoint is the target of an endpoint.
func TargetOfEndpoint(id string) string { return endpointTarget + id }

// TargetOfProvider is the target of a provider.
func TargetOfProvider(id string) string { return providerTarget + id }

// TargetOfModel is the target of a model at a provider.
func TargetOfModel(provider, model string) string { return modelTarget + provider + "/" + model }

// Of reports whether the endpoint belongs to what is out.
func (o *Out) Of(v *EndpointView) bool { return targets(o.Target, v) }

func targets(target string, v *EndpointView) bool {
	return target == TargetOfEndpoint(v.ID) || target == TargetOfProvider(v.Provider) || target == TargetOfModel(v.Provider, v.Model)
}

// Targeted are the endpoints that a target names. It fails with fault.NotFound for a target that names nothing.
func (b *Built) Targeted(target string) (found []*EndpointView, err error) {
	for i := range b.Endpoints {
		if targets(target, &b.Endpoints[i]) {
			found = append(found, &b.Endpoints[i])
		}
	}
	if id, ok := strings.CutPrefix(target, providerTarget); found == nil && (!ok || b.Provider(id) == nil) {
		return nil, fault.Field("edit.Targeted", "target", "There is nothing called %q: write endpoint: and the id of an endpoint, provider: and the id of a provider, or model: and provider/vendor/model.", clip(target)).Coded("no_target")
	}
	return found, nil
}

// OutOf is why an endpoint is out of service, nil when it is not: an ejection before a drain, and then the one that lasts longest.
func (b *Built) OutOf(v *EndpointView, now time.Time) (why *Out) {
	for i := range b.Out {
		o := &b.Out[i]
		if !o.Over(now) && o.Of(v) && (why == nil || o.stronger(why)) {
			why = o
		}
	}
	return why
}

func (o *Out) stronger(than *Out) bool {
	switch {
	case o.Mode != than.Mode:
		return o.Mode == Eject
	case than.Until.IsZero():
		return false
	}
	return o.Until.IsZero() || o.Until.After(than.Until)
}

// OutTarget is what was taken out under that very target, nil when it was not.
func (b *Built) OutTarget(target string, now time.Time) *Out {
	i := slices.IndexFunc(b.Out, func(o Out) bool { return o.Target == target && !o.Over(now) })
	if i < 0 {
		return nil
	}
	return &b.Out[i]
}

// out is what the rows of a state say.
func (s *State) out() (all []Out) {
	for i := range s.Rows {
		if r := &s.Rows[i]; r.Kind == Absence {
			all = append(all, outOf(r))
		}
	}
	return all
}

func outOf(r *Row) Out {
	o := Out{Target: r.ID, Mode: Mode(r.Spec["mode"]), Since: r.UpdatedAt, By: r.Spec["by"], Reason: r.Spec["reason"]}
	if text := r.Spec["until"]; text != "" {
		o.Until, _ = time.Parse(time.RFC3339, text) // it was written here
	}
	return o
}

var absenceFields = map[string]Type{"mode": Text, "until": Text, "by": Text, "reason": Text}

// Bounds of an absence.
const (
	MostAway  = 30 * 24 * time.Hour
	maxReason = 200
)

// TakeOut takes a target out of service on all nodes, for a time or, with 0, until it is returned. What is out already is out as it is said now.
func (e *Editor) TakeOut(ctx context.Context, target string, mode Mode, away time.Duration, reason string, by audit.Actor) (*Built, error) {
	const op = "edit.TakeOut"
	switch {
	case mode != Drain && mode != Eject:
		return nil, fault.Field(op, "mode", "mode must be drain or eject.").Coded("absence_mode")
	case away < 0 || away > MostAway:
		return nil, fault.Field(op, "seconds", "seconds must be at most %d: 30 days. Leave it out to take something out until it is returned.", int(MostAway.Seconds())).Coded("absence_long", "most", int(MostAway.Seconds()))
	case len(reason) > maxReason || !Text.fits(reason):
		return nil, fault.Field(op, "reason", "reason must be one line of at most %d bytes.", maxReason).Coded("absence_reason", "most", maxReason)
	}
	return e.absence(ctx, target, by, func(old *Row, now time.Time) (*Row, string, error) {
		row := &Row{Kind: Absence, ID: target, Spec: Spec{"mode": string(mode), "by": by.Name}}
		if away > 0 {
			row.Spec["until"] = now.Add(away).Format(time.RFC3339)
		}
		if reason != "" {
			row.Spec["reason"] = reason
		}
		if old != nil && outOf(old).same(outOf(row)) {
			return nil, "", nil
		}
		if mode == Eject {
			return row, audit.ServiceEjected, nil
		}
		return row, audit.ServiceDrained, nil
	})
}

func (o Out) same(as Out) bool {
	return o.Mode == as.Mode && o.Until.Equal(as.Until) && o.Reason == as.Reason
}

// Return puts a target back into service on all nodes. It fails with fault.Conflict for one that was not taken out under that name.
func (e *Editor) Return(ctx context.Context, target string, by audit.Actor) (*Built, error) {
	return e.absence(ctx, target, by, func(old *Row, now time.Time) (*Row, string, error) {
		if old != nil {
			if o := outOf(old); !o.Over(now) {
				return nil, audit.ServiceReturned, nil
			}
		}
		return nil, "", fault.Newf(fault.Conflict, "edit.Return", "%s was not taken out of service, or is back already.", target).Coded("not_out", "target", target)
	})
}

// absence changes the row of a target as decide says, in one change of the catalog. Without an action nothing is changed.
func (e *Editor) absence(ctx context.Context, target string, by audit.Actor, decide func(old *Row, now time.Time) (*Row, string, error)) (*Built, error) {
	var built *Built
	err := e.commit(ctx, func(s *State) (*Commit, error) {
		b, err := e.builder.BuildCatalog(s, false)
		if err != nil {
			return nil, err
		}
		old := s.Row(Absence, target)
		if _, err := b.Targeted(target); err != nil && old == nil {
			return nil, err
		}
		now := e.now().UTC().Truncate(time.Microsecond)
		row, action, err := decide(old, now)
		if built = b; err != nil || action == "" {
			return nil, err
		}
		if row != nil {
			row.Version, row.UpdatedAt = s.Version+1, now
		}
		after := s.with(Absence, target, row)
		b.Out, b.Version = after.out(), after.Version
		return &Commit{Entry: Entry{Kind: Absence, ID: target, Before: old.shown(), After: row.shown(), Action: action}, Row: row}, nil
	}, by)
	if err != nil {
		return nil, err
	}
	return built, nil
}
