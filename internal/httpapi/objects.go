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

// readBody reads a whole body of JSON, unpacked. Its bytes are valid until the request ends; see httpserver.Body.
//
// It fails with errReplayed for a request that its client has sent before under the same name, and that has been answered by then.
func (x *request) readBody() ([]byte, error) {
	if err := x.body.CheckJSON(); err != nil {
		return nil, err
	}
	body, err := x.readBytes()
	if err == nil && x.named != nil {
		err = x.claim(body)
	}
	x.sent = body
	return body, err
}

// readBytes reads the whole body, unpacked, whatever its type. Its bytes are valid as those of readBody.
func (x *request) readBytes() ([]byte, error) { return x.body.Read(x.route.body(&x.api.cfg)) }
