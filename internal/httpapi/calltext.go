package httpapi

import (
	"weir/internal/fault"
	"weir/internal/history"
	"weir/internal/rawjson"
	"weir/internal/record"
	"weir/internal/wire/responses"
)

// mostCallText bounds what the text of one call has: of its response, with its answer, and of the conversation before it.
const mostCallText = 4 << 20

// storesText reports whether the text of a call of this account is stored.
func (x *request) storesText(c *record.Call) (bool, error) {
	if c.API != responsesAPI {
		return false, nil
	}
	return x.api.History.Has(x.context(), x.caller.User, responseID(c.Generation))
}

// getCallText serves GET /api/calls/{id}/text: what the model of a call was given, where that is stored. Calls of others and calls that do not
// exist have the answer of GET /api/calls/{id}.
func (x *request) getCallText() error {
	c, _, err := x.api.Ledger.Call(x.context(), x.caller.Wallet, x.values[0])
	if fault.Is(err, fault.NotFound) {
		return x.notRecorded(x.values[0])
	}
	if err != nil {
		return err
	}
	if c.API != responsesAPI {
		return fault.New(fault.NotFound, "httpapi.getCallText", "The text of this call is not stored: only that of calls in the responses style can be.")
	}
	chain, err := x.api.History.Text(x.context(), x.caller.User, responseID(c.Generation), mostCallText)
	if err != nil {
		return err
	}
	if err := x.chargeStored(chain...); err != nil {
		return err
	}
	n := 0
	for i := range chain {
		n += chain[i].Size()
	}
	if err := x.charge(int64(n)); err != nil { // its copy in the answer
		return err
	}
	o := newObject(1024 + n)
	o.Object()
	o.Name("data").Object()
	appendCallText(&o, c.Generation, chain)
	o.EndObject()
	o.EndObject()
	x.w.Header()["Cache-Control"] = noStore
	return x.reply(&o)
}

// appendCallText writes what the last response of a conversation was asked with. Tools and instructions hold for one request, so those of
// earlier ones are left out.
func appendCallText(o *object, call string, chain []history.Response) {
	last := &chain[len(chain)-1]
	o.text("id", call)
	o.text("response_id", last.ID)
	for _, name := range [...]string{"instructions", "tools", "text"} {
		if v := rawjson.Find(last.Object, name); rawjson.IsNull(v) {
			o.null(name)
		} else {
			o.raw(name, string(v))
		}
	}
	o.boolean("whole", chain[0].Parent == "")
	o.Name("input").Array()
	for i := range chain {
		r := &chain[i]
		for _, v := range responses.Listed(r.ID, r.Input) {
			o.Raw(v)
		}
		if r == last {
			break
		}
		for _, v := range responses.Split(r.Output) {
			o.Raw(v)
		}
	}
	o.EndArray()
}
