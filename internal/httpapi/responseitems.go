package httpapi

import (
	"slices"
	"strconv"

	"weir/internal/fault"
	"weir/internal/wire/responses"
)

const (
	defaultItems = 20
	mostItems    = 100
)

// getInputItems serves GET /v1/responses/{id}/input_items: all that the model was given, page by page.
func (x *request) getInputItems() error {
	items, err := x.inputItems()
	if err != nil {
		return err
	}
	query := x.r.URL.Query()
	limit := defaultItems
	if v := query.Get("limit"); v != "" {
		if limit, err = strconv.Atoi(v); err != nil || limit < 1 || limit > mostItems {
			return fault.Field("httpapi.getInputItems", "limit", "limit must be an integer from 1 to %d.", mostItems)
		}
	}
	switch query.Get("order") {
	case "", "desc":
		slices.Reverse(items)
	case "asc":
	default:
		return fault.Field("httpapi.getInputItems", "order", "order must be asc or desc.")
	}
	if after := query.Get("after"); after != "" {
		at := slices.IndexFunc(items, func(v []byte) bool { return responses.Pick([][]byte{v}, after) != nil })
		if at < 0 {
			return fault.Field("httpapi.getInputItems", "after", "There is no item %q in this response.", after[:min(len(after), 64)])
		}
		items = items[at+1:]
	}
	return x.replyItems(items[:min(len(items), limit)], len(items) > limit)
}

// inputItems are the items of a response's input: those of the responses before it, with their answers, and its own.
func (x *request) inputItems() (items [][]byte, err error) {
	r, err := x.stored(x.values[0])
	if err != nil {
		return nil, err
	}
	if err := x.chargeStored(*r); err != nil {
		return nil, err
	}
	if r.Parent != "" {
		chain, err := x.api.History.Chain(x.context(), x.caller.User, r.Parent)
		if err != nil && !fault.Is(err, fault.PreviousNotFound) { // of a broken conversation there is what is left
			return nil, err
		}
		if err := x.chargeStored(chain...); err != nil {
			return nil, err
		}
		for i := range chain {
			items = append(append(items, responses.Listed(chain[i].ID, chain[i].Input)...), responses.Split(chain[i].Output)...)
		}
	}
	return append(items, responses.Listed(r.ID, r.Input)...), nil
}

func (x *request) replyItems(items [][]byte, more bool) error {
	o := object{}
	o.Object()
	o.text("object", "list")
	o.Name("data").Array()
	for _, v := range items {
		o.Raw(v)
	}
	o.EndArray()
	for _, edge := range []struct {
		name string
		at   int
	}{{"first_id", 0}, {"last_id", len(items) - 1}} {
		if len(items) == 0 {
			o.null(edge.name)
		} else {
			o.text(edge.name, responses.IDOf(items[edge.at]))
		}
	}
	o.boolean("has_more", more)
	o.EndObject()
	return x.reply(&o)
}
