package adminapi

import (
	"cmp"
	"context"
	"time"

	"weir/internal/accountapi"
	"weir/internal/audit"
	"weir/internal/catalog/edit"
	"weir/internal/console"
	"weir/internal/operation"
)

// Absence is something that an operator took out of service.
type Absence struct {
	Target string     `json:"target"` // endpoint: and an endpoint's id; provider: and a provider's id; model: and provider/vendor/model, for all endpoints of a model at a provider
	Mode   string     `json:"mode" enum:"drain,eject"`
	Until  *time.Time `json:"until"` // when it comes back by itself; null: when somebody returns it
	Since  *time.Time `json:"since"`
	By     string     `json:"by"`
	Reason *string    `json:"reason"`
}

func absenceOf(o *edit.Out) *Absence {
	if o == nil {
		return nil
	}
	return &Absence{Target: o.Target, Mode: string(o.Mode), Until: accountapi.Moment(o.Until), Since: accountapi.Moment(o.Since), By: o.By, Reason: accountapi.OrNull(o.Reason)}
}

// AbsenceEffect is what taking something out of service does, by the calls of the last two hours.
type AbsenceEffect struct {
	Target    string        `json:"target"`
	Endpoints int           `json:"endpoints"`        // that serve now and would serve no more
	Running   int64         `json:"running"`          // attempts under way, which may end
	PerHour   float64       `json:"calls_per_hour"`   // that it serves
	Moved     float64       `json:"moved_per_hour"`   // of them, that go to others
	Failing   float64       `json:"failing_per_hour"` // of them, that no other endpoint is left for: they get 503
	To        []AbsenceMove `json:"goes_to"`          // those that get most first, at most 20
	Others    int           `json:"goes_to_count"`    // how many get some
	Alone     []string      `json:"models_alone"`     // models that no other endpoint serves, at most 20
	Models    int           `json:"models_alone_count"`
}

// AbsenceMove is an endpoint that would get calls of another.
type AbsenceMove struct {
	ID       string   `json:"id"`
	Provider string   `json:"provider"` // name
	Model    string   `json:"model"`
	PerHour  float64  `json:"calls_per_hour"` // now
	After    float64  `json:"after_per_hour"`
	InFlight int64    `json:"in_flight"`
	Limit    int64    `json:"max_in_flight"` // attempts at a time, of all nodes
	Dearer   *float64 `json:"price_percent"` // by how much a token costs customers more there; null: prices that cannot be compared
}

const mostMoves = 20

func effectOf(target string, b *edit.Built, e *console.Effect) AbsenceEffect {
	out := AbsenceEffect{
		Target: target, Endpoints: e.Endpoints, Running: e.Running, PerHour: rounded(e.PerHour), Moved: rounded(e.Moved), Failing: rounded(e.Failing), To: []AbsenceMove{}, Others: len(e.To),
		Alone: append([]string{}, e.Alone[:min(len(e.Alone), mostMoves)]...), Models: len(e.Alone),
	}
	for i := range e.To[:min(len(e.To), mostMoves)] {
		d := &e.To[i]
		m := AbsenceMove{ID: d.View.ID, Provider: d.View.Provider, Model: d.View.Model, PerHour: rounded(d.PerHour), After: rounded(d.After), InFlight: d.InFlight, Limit: d.Limit}
		if p := b.Provider(d.View.Provider); p != nil {
			m.Provider = cmp.Or(p.Name, p.ID)
		}
		if d.Dearer != nil {
			percent := rounded(*d.Dearer)
			m.Dearer = &percent
		}
		out.To = append(out.To, m)
	}
	return out
}

// Absences take endpoints, models and providers out of service and bring them back. *edit.Editor is one.
type Absences interface {
	TakeOut(ctx context.Context, target string, mode edit.Mode, away time.Duration, reason string, by audit.Actor) (*edit.Built, error)
	Return(ctx context.Context, target string, by audit.Actor) (*edit.Built, error)
}

type absenceTarget struct {
	Target string `json:"-" path:"target" example:"provider:mill"` // with its slashes encoded, such as endpoint:hut%2Facme%2Ftiny
}

type absenceInput struct {
	Target  string `json:"-" path:"target" example:"provider:mill"` // with its slashes encoded, such as endpoint:hut%2Facme%2Ftiny
	Mode    string `json:"mode" enum:"drain,eject"`
	Seconds int64  `json:"seconds,omitempty" null:"none" minimum:"1" maximum:"2592000"` // after which it comes back by itself; left out: when somebody returns it
	Reason  string `json:"reason,omitempty" null:"none" maxLength:"200"`
}

type absenceOperations struct {
	Editor
	*console.Console
}

func (o absenceOperations) list(ctx context.Context, c *operation.Call, _ *operation.None) (out operation.Data[[]Absence], err error) {
	b, err := o.Editor.Built(ctx)
	if err != nil {
		return out, err
	}
	out.Data = []Absence{}
	for i := range b.Out {
		if a := &b.Out[i]; !a.Over(c.At) {
			out.Data = append(out.Data, *absenceOf(a))
		}
	}
	return out, nil
}

func (o absenceOperations) effect(ctx context.Context, _ *operation.Call, in *absenceTarget) (out operation.Data[AbsenceEffect], err error) {
	b, err := o.Editor.Built(ctx)
	if err != nil {
		return out, err
	}
	targets, err := b.Targeted(in.Target)
	if err != nil {
		return out, err
	}
	e, err := o.Effect(ctx, b, targets)
	if err != nil {
		return out, err
	}
	out.Data = effectOf(in.Target, b, e)
	return out, nil
}

func (o absenceOperations) take(ctx context.Context, c *operation.Call, in *absenceInput) (out operation.Data[Absence], err error) {
	b, err := o.TakeOut(ctx, in.Target, edit.Mode(in.Mode), time.Duration(in.Seconds)*time.Second, in.Reason, c.Actor)
	if err != nil {
		return out, err
	}
	out.Data = *absenceOf(b.OutTarget(in.Target, c.At))
	return out, nil
}

func absenceRoutes(d Deps) []operation.Operation {
	o := absenceOperations{d.Editor, d.Console}
	return []operation.Operation{
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/admin/absences", ID: "listAbsences", Access: operation.Operating, Tag: "administration",
			Summary: "List what operators took out of service", Answer: "The absences by target",
		}, o.list),
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/admin/absences/{target}/effect", ID: "getAbsenceEffect", Access: operation.Operating, Tag: "administration",
			Summary: "Show what taking an endpoint, a model at a provider or a provider out of service would do", Answer: "Where the calls would go, by the figures of the last two hours",
		}, o.effect),
		operation.Of(operation.Operation{
			Method: "PUT", Path: "/api/admin/absences/{target}", ID: "takeOutOfService", Access: operation.Operating, Tag: "administration",
			Summary: "Take an endpoint, a model at a provider or a whole provider out of service", Answer: "It is out of service on all nodes within 5 seconds", Example: `{"mode": "drain", "seconds": 3600, "reason": "maintenance at the provider"}`,
			Description: "What is drained gets no new calls; calls under way may still try it. What is ejected gets nothing, not even another attempt of a call under way. Attempts that are running end as usual in both. What the configuration file declares can be taken out, too. Repeating it with other values replaces them.",
		}, o.take),
		operation.Of(operation.Operation{
			Method: "DELETE", Path: "/api/admin/absences/{target}", ID: "returnToService", Access: operation.Operating, Tag: "administration",
			Summary: "Bring back what was taken out of service", Answer: "It serves again on all nodes within 5 seconds",
		}, func(ctx context.Context, c *operation.Call, in *absenceTarget) (operation.Deleted, error) {
			_, err := o.Return(ctx, in.Target, c.Actor)
			return operation.Deleted{}, err
		}),
	}
}
