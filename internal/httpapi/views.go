package httpapi

import (
	"net/http"

	"weir/internal/fault"
	"weir/internal/rawjson"
	"weir/internal/view"
)

// listViews serves GET /api/views: all of them, or those of one page, since there are few.
func (x *exchange) listViews() error {
	q, err := x.query()
	if err != nil {
		return err
	}
	all, err := x.api.Views.List(x.context(), x.caller.User, q.Get("page"))
	if err != nil {
		return err
	}
	o := newObject(256 * (1 + len(all)))
	o.Object()
	o.Name("data").Array()
	for i := range all {
		appendView(&o, &all[i])
	}
	o.EndArray()
	o.integer("most", view.MaxPerUser)
	o.null("next")
	o.EndObject()
	return x.reply(&o)
}

func appendView(o *object, v *view.View) {
	o.Object()
	o.text("id", v.ID)
	o.text("page", v.Page)
	o.text("name", v.Name)
	o.text("query", v.Query)
	o.moment("created_at", v.CreatedAt)
	o.moment("updated_at", v.UpdatedAt)
	o.EndObject()
}

// postView serves POST /api/views.
func (x *exchange) postView() error {
	page, name, query, err := x.readView(true)
	if err != nil {
		return err
	}
	v := view.View{User: x.caller.User}
	for _, f := range []struct {
		name string
		from *string
		to   *string
	}{{"page", page, &v.Page}, {"name", name, &v.Name}, {"query", query, &v.Query}} {
		if f.from == nil {
			return fault.Field("httpapi.postView", f.name, "%s is missing.", f.name)
		}
		*f.to = *f.from
	}
	v, err = x.api.Views.Add(x.context(), v)
	if err != nil {
		return err
	}
	return x.replyView(http.StatusCreated, &v)
}

// readView reads the members of a body; nil is one that is not there.
func (x *exchange) readView(creating bool) (page, name, query *string, err error) {
	body, err := x.readObject()
	if err != nil {
		return nil, nil, nil, err
	}
	places := map[string]**string{"name": &name, "query": &query}
	if creating {
		places["page"] = &page
	}
	for m := rawjson.MembersOf(body); m.Next(); {
		member, kind := string(m.Name), rawjson.KindOf(m.Value)
		place := places[member]
		switch {
		case place == nil:
			return nil, nil, nil, fault.Field("httpapi.readView", clip(member), "This route has no field of this name.")
		case kind != rawjson.String:
			return nil, nil, nil, wrongKind(member, kind)
		}
		text := rawjson.Text(m.Value)
		*place = &text
	}
	return page, name, query, nil
}

func (x *exchange) replyView(status int, v *view.View) error {
	o := newObject(512)
	o.Object()
	o.Name("data")
	appendView(&o, v)
	o.EndObject()
	x.writeBody(status, jsonType, o.B)
	return nil
}

// patchView serves PATCH /api/views/{id}: another name, another query, or both.
func (x *exchange) patchView() error {
	_, name, query, err := x.readView(false)
	if err != nil {
		return err
	}
	v, err := x.api.Views.Change(x.context(), x.caller.User, x.values[0], name, query)
	if err != nil {
		return err
	}
	return x.replyView(http.StatusOK, &v)
}

// deleteView serves DELETE /api/views/{id}.
func (x *exchange) deleteView() error {
	if err := x.api.Views.Delete(x.context(), x.caller.User, x.values[0]); err != nil {
		return err
	}
	var o object
	o.Object()
	o.boolean("deleted", true)
	o.EndObject()
	return x.reply(&o)
}
