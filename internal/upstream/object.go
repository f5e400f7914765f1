package upstream

import (
	"net/http"

	"weir/internal/rawjson"
)

// Object sends one request and reads its whole answer, which must be a JSON object. One that tells an error although its status is 2xx is
// the fault that the dialect makes of it.
func (k *Ask) Object(call Call) ([]byte, error) {
	body, _, err := k.Look(call)
	if err != nil {
		return nil, err
	}
	if !rawjson.IsNull(rawjson.Find(body, "error")) {
		return nil, k.target.dialect.Failure(k.ep, http.StatusOK, http.Header{}, body)
	}
	return body, nil
}
