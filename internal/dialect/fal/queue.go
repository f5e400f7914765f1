package fal

import (
	"net/http"
	"net/url"

	"weir/internal/catalog"
	"weir/internal/dialect"
	"weir/internal/rawjson"
	"weir/internal/video"
)

// job is a request in the queue, with the addresses that the provider returned for it (fal documentation, Queue API). Addresses outside
// the provider's domain are not called.
type job struct {
	id                       string
	status, response, cancel string
}

// submit puts a request for an app, such as "fal-ai/flux/dev", into the queue.
func submit(ask dialect.Ask, ep *catalog.Endpoint, app string, body []byte, unsent []string) (job, error) {
	answer, err := dialect.Object(ask, dialect.Call{Path: path(app), Body: body, Unsent: unsent})
	if err != nil {
		return job{}, err
	}
	word := func(name string) string { return rawjson.TextAt(answer, name) }
	j := job{id: word("request_id"), status: word("status_url"), response: word("response_url"), cancel: word("cancel_url")}
	if j.id == "" || j.status == "" || j.response == "" {
		return j, dialect.Empty(ep)
	}
	return j, nil
}

// path returns an app's name as a path.
func path(app string) string { return (&url.URL{Path: "/" + app}).EscapedPath() }

// look polls the request, and reports whether it is complete. A failed request is an error: one that the answer has, or the state itself.
func (j *job) look(ask dialect.Ask) (complete bool, err error) {
	answer, err := dialect.Object(ask, dialect.Call{Method: http.MethodGet, URL: j.status})
	if err != nil {
		return false, err
	}
	switch dialect.StateOf(rawjson.TextAt(answer, "status")) {
	case video.Completed:
		return true, nil
	case video.Failed, video.Cancelled, video.Expired:
		return false, ask.Failure(http.StatusOK, nil, answer)
	}
	return false, nil
}

// result reads the result of the request.
func (j *job) result(ask dialect.Ask) ([]byte, error) {
	return dialect.Object(ask, dialect.Call{Method: http.MethodGet, URL: j.response})
}

// takeBack cancels the request at the provider and ignores the answer.
func (j *job) takeBack(ask dialect.Ask) {
	if j.cancel == "" {
		return
	}
	behind, done := ask.AfterClient()
	defer done()
	_, _ = dialect.Whole(behind, dialect.Call{Method: http.MethodPut, URL: j.cancel})
}
