package upstream

import (
	"net/http"

	"weir/internal/rawjson"
)

// Object sends one request and reads its whole answer, which must be a JSON object. One that tells an error although its status is 2xx is
// the fault that the dialect makes of it.
func Object(ask Ask, call Call) ([]byte, error) {
	body, _, err := Look(ask, call)
	if err != nil {
		return nil, err
	}
	if !rawjson.IsNull(rawjson.Find(body, "error")) {
		return nil, ask.Failure(http.StatusOK, http.Header{}, body)
	}
	return body, nil
}
