package httpapi

import (
	"weir/internal/fault"
	"weir/internal/rawjson"
)

// readObject reads a body that must be one JSON object.
func (x *request) readObject(most rawjson.Limits) ([]byte, error) {
	body, err := x.readBody()
	if err != nil {
		return nil, err
	}
	if err := rawjson.Check(body, most); err != nil {
		return nil, err
	}
	if rawjson.KindOf(body) != rawjson.Object {
		return nil, fault.New(fault.Invalid, "httpapi.readObject", "The body must be a JSON object.")
	}
	return body, nil
}

// formLimits bound a small JSON form.
var formLimits = rawjson.Limits{Depth: 8, Keys: 200, Values: 2000}
