package httpapi

import (
	"context"
	"net/http"

	"weir/internal/completion"
	"weir/internal/explain"
	"weir/internal/fault"
	"weir/internal/httpserver"
	"weir/internal/operation"
	"weir/internal/relay"
)

// Explainer plans calls without carrying them. *relay.Relay is one.
type Explainer interface {
	// Explain fails as a call would that has not even a candidate; see relay.Relay.
	Explain(ctx context.Context, c *relay.Call) (*relay.Explanation, error)
}

// postRouteExplain serves POST /v1/route/explain: the body is that of a chat request, and nothing is called, held or charged.
func (x *request) postRouteExplain() error {
	req, err := x.readChat()
	if err != nil {
		return err
	}
	e, err := x.api.Explainer.Explain(x.context(), x.newCall(req, "completions", nil))
	if err != nil {
		return err
	}
	b, err := Explanation(req, e)
	if err != nil {
		return err
	}
	x.writeBody(http.StatusOK, jsonType, b)
	return nil
}

// Explanation is the answer of POST /v1/route/explain: {"data":{...}}.
func Explanation(req *completion.Request, e *relay.Explanation) ([]byte, error) {
	return operation.JSON(explain.Explain(req, e, func(f *fault.Error) []byte { return httpserver.ErrorObject(f, "") }))
}

var _ Explainer = (*relay.Relay)(nil)
