package httpapi

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"weir/internal/catalog"
	"weir/internal/catalog/edit"
	"weir/internal/fault"
	"weir/internal/rate"
)

// Editor changes the catalog at run time. *edit.Editor is one.
type Editor interface {
	Built(ctx context.Context) (*edit.Built, error)
	Change(ctx context.Context, c edit.Change, by Actor) (*edit.Built, error)
	History(ctx context.Context, before int64, count int) ([]edit.Entry, error)
	Rates(ctx context.Context) ([]rate.Record, error)
	SetRate(ctx context.Context, r rate.Record, by Actor) error
	DeclaredRate() rate.Declared
}

var _ Editor = (*edit.Editor)(nil)

func (x *exchange) getAdminCatalog() error {
	b, err := x.api.Editor.Built(x.context())
	if err != nil {
		return err
	}
	var o object
	o.Object()
	o.integer("version", b.Version)
	o.text("snapshot", b.Snapshot.Version)
	o.Name("rate")
	appendEffective(&o, &b.Rate)
	o.Name("prices")
	if asOf := b.Snapshot.PricesAsOf; asOf.IsZero() {
		o.Null()
	} else {
		o.Object()
		o.text("as_of", asOf.Format(time.DateOnly))
		o.integer("days", int64(x.api.Now().Sub(asOf).Hours()/24))
		o.EndObject()
	}
	o.Name("providers").Array()
	for i := range b.Providers {
		v := &b.Providers[i]
		o.Object()
		o.text("id", v.ID)
		appendOrigin(&o, v.Origin, v.Where, v.On, v.Row)
		o.EndObject()
	}
	o.EndArray()
	o.Name("endpoints").Array()
	for i := range b.Endpoints {
		v := &b.Endpoints[i]
		o.Object()
		o.text("id", v.ID)
		appendOrigin(&o, v.Origin, v.Where, v.On, v.Row)
		o.EndObject()
	}
	o.EndArray()
	o.texts("left_out", b.Left)
	o.EndObject()
	return x.reply(&o)
}

// appendOrigin writes who owns a row, whether it takes part, and at which version the database changed it last.
func appendOrigin(o *object, origin edit.Origin, where string, on bool, row *edit.Row) {
	o.text("origin", string(origin))
	o.textOrNull("where", where)
	o.boolean("on", on)
	if row == nil {
		o.null("version")
		return
	}
	o.integer("version", row.Version)
}

// Lists are cut into pages of pageDefault unless a limit of at most pageMax is asked for.
const (
	pageDefault = 50
	pageMax     = 200
)

func (x *exchange) page(q url.Values) (int, error) {
	if !q.Has("limit") {
		return pageDefault, nil
	}
	return queryInt(q, "limit", pageMax)
}

func (x *exchange) getAdminHistory() error {
	q, err := x.query()
	if err != nil {
		return err
	}
	count, err := x.page(q)
	if err != nil {
		return err
	}
	before := 0
	if q.Has("before") {
		if before, err = queryInt(q, "before", 1<<53); err != nil {
			return err
		}
	}
	entries, err := x.api.Editor.History(x.context(), int64(before), count+1)
	if err != nil {
		return err
	}
	more := len(entries) > count
	entries = entries[:min(count, len(entries))]
	var o object
	o.Object()
	o.Name("data").Array()
	for i := range entries {
		appendEntry(&o, &entries[i])
	}
	o.EndArray()
	if more {
		o.integer("next", entries[len(entries)-1].Version)
	} else {
		o.null("next")
	}
	o.EndObject()
	return x.reply(&o)
}

func appendEntry(o *object, e *edit.Entry) {
	o.Object()
	o.integer("version", e.Version)
	o.moment("at", e.At)
	o.text("actor", e.Name)
	o.textOrNull("from", e.From)
	o.text("action", e.Action)
	o.text("kind", string(e.Kind))
	o.textOrNull("id", e.ID)
	o.Name("before")
	appendSpec(o, e.Kind, e.Before)
	o.Name("after")
	appendSpec(o, e.Kind, e.After)
	o.EndObject()
}

func (x *exchange) listAdminProviders() error {
	b, err := x.api.Editor.Built(x.context())
	if err != nil {
		return err
	}
	var o object
	o.Object()
	o.Name("data").Array()
	for i := range b.Providers {
		appendProviderView(&o, &b.Providers[i])
	}
	o.EndArray()
	o.EndObject()
	return x.reply(&o)
}

func appendProviderView(o *object, v *edit.ProviderView) {
	o.Object()
	o.text("id", v.ID)
	appendOrigin(o, v.Origin, v.Where, v.On, v.Row)
	o.textOrNull("reason", v.Reason)
	o.text("name", cmp.Or(v.Name, v.ID))
	o.text("dialect", v.Dialect)
	o.textOrNull("base_url", v.BaseURL)
	o.text("data_policy", string(cmp.Or(v.DataPolicy, catalog.PolicyUnknown)))
	o.Name("api_key")
	appendCredential(o, v)
	appendWritten(o, v.Row)
	o.EndObject()
}

// appendCredential writes where a provider's key comes from and, for one that was stored here, its last characters.
func appendCredential(o *object, v *edit.ProviderView) {
	source, last4 := "", ""
	switch {
	case v.Row != nil && v.Row.Sealed != nil:
		source, last4 = "database", v.Row.Last4
	case v.Row != nil && v.Row.Spec["api_key_env"] != "":
		source = "variable"
	case v.Key != "":
		source = "configuration"
	}
	if source == "" {
		o.Null()
		return
	}
	o.Object()
	o.text("source", source)
	o.textOrNull("last4", last4)
	o.EndObject()
}

// appendWritten writes what the database says of a row.
func appendWritten(o *object, row *edit.Row) {
	if row == nil {
		o.null("updated_at")
		o.null("set")
		return
	}
	o.moment("updated_at", row.UpdatedAt)
	o.Name("set")
	appendSpec(o, row.Kind, row.Spec)
}

// rowKind is what the routes of a kind of rows of the catalog differ in.
type rowKind struct {
	kind edit.Kind
	view func(o *object, b *edit.Built, id string) bool // writes a row, and reports whether there is one
}

var (
	providerRows = &rowKind{edit.Provider, func(o *object, b *edit.Built, id string) bool {
		v := b.Provider(id)
		if v != nil {
			appendProviderView(o, v)
		}
		return v != nil
	}}
	endpointRows = &rowKind{edit.Endpoint, func(o *object, b *edit.Built, id string) bool {
		v := b.Endpoint(id)
		if v != nil {
			appendEndpointView(o, v)
		}
		return v != nil
	}}
)

func (k *rowKind) reply(x *exchange, status int, b *edit.Built, id string) error {
	var o object
	o.Object()
	o.Name("data")
	if !k.view(&o, b, id) {
		return fault.New(fault.NotFound, "httpapi."+string(k.kind), "There is no such "+string(k.kind)+".")
	}
	o.EndObject()
	x.writeBody(status, jsonType, o.B)
	return nil
}

func (k *rowKind) get(x *exchange) error {
	b, err := x.api.Editor.Built(x.context())
	if err != nil {
		return err
	}
	return k.reply(x, http.StatusOK, b, x.values[0])
}

func (k *rowKind) post(x *exchange) error { return k.change(x, true, http.StatusCreated) }

func (k *rowKind) patch(x *exchange) error { return k.change(x, false, http.StatusOK) }

func (k *rowKind) change(x *exchange, creating bool, status int) error {
	c, err := x.readChange(k.kind, creating)
	if err != nil {
		return err
	}
	b, err := x.api.Editor.Change(x.context(), *c, x.actor())
	if err != nil {
		return err
	}
	return k.reply(x, status, b, c.ID)
}

func (k *rowKind) remove(x *exchange) error {
	if _, err := x.api.Editor.Change(x.context(), edit.Change{Kind: k.kind, ID: x.values[0], Remove: true}, x.actor()); err != nil {
		return err
	}
	var o object
	o.Object()
	o.boolean("deleted", true)
	o.EndObject()
	return x.reply(&o)
}

func (x *exchange) listAdminEndpoints() error {
	q, err := x.query()
	if err != nil {
		return err
	}
	count, err := x.page(q)
	if err != nil {
		return err
	}
	b, err := x.api.Editor.Built(x.context())
	if err != nil {
		return err
	}
	var o object
	o.Object()
	o.Name("data").Array()
	last, more := "", false
	for i := range b.Endpoints {
		v := &b.Endpoints[i]
		if v.ID <= q.Get("after") || !asked(q, v) {
			continue
		}
		if more = count == 0; more {
			break
		}
		count--
		last = v.ID
		appendEndpointView(&o, v)
	}
	o.EndArray()
	if more {
		o.text("next", last)
	} else {
		o.null("next")
	}
	o.EndObject()
	return x.reply(&o)
}

// asked reports whether an endpoint passes the filters of a list.
func asked(q url.Values, v *edit.EndpointView) bool {
	return (!q.Has("provider") || q.Get("provider") == v.Provider) && (!q.Has("model") || q.Get("model") == v.Model) &&
		(!q.Has("origin") || q.Get("origin") == string(v.Origin))
}

func appendEndpointView(o *object, v *edit.EndpointView) {
	o.Object()
	o.text("id", v.ID)
	appendOrigin(o, v.Origin, v.Where, v.On, v.Row)
	o.text("provider", v.Provider)
	o.text("model", v.Model)
	o.textOrNull("region", v.Region)
	o.text("tier", cmp.Or(v.Tier, "default"))
	o.text("variant", cmp.Or(v.Variant, "standard"))
	upstream := v.UpstreamID
	if upstream == "" {
		_, upstream, _ = strings.Cut(v.Model, "/")
	}
	o.text("upstream_id", upstream)
	o.textOrNull("upstream_model", v.UpstreamModel)
	o.textOrNull("quantization", v.Quantization)
	o.integer("context_length", v.ContextLength)
	o.integer("max_output", v.MaxCompletion)
	o.integer("max_in_flight", v.MaxInFlight)
	p := &v.Pricing
	o.Name("pricing") // rubles that calls are charged by now, and where they come from
	o.Object()
	o.Name("base").Object()
	for _, name := range catalog.PriceNames() {
		if f := p.Base.Field(name); f.Set {
			o.text(name, f.String())
		}
	}
	if p.Minute.Set {
		o.text("minute", p.Minute.String())
	}
	if p.Characters.Set {
		o.text("characters", p.Characters.String())
	}
	o.EndObject()
	o.text("list", p.List)
	o.textOrNull("rate", p.Rate)
	o.textOrNull("source", p.Source)
	o.EndObject()
	appendWritten(o, v.Row)
	o.EndObject()
}
