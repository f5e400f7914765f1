package anthropic

import (
	"errors"
	"net/http"
	"net/url"
	"time"

	"weir/internal/batch"
	"weir/internal/catalog"
	"weir/internal/dialect"
	"weir/internal/rawjson"
)

var _ dialect.Batcher = (*Dialect)(nil)

const batchesPath = path + "/batches"

// MostBatched is 0: the provider's bound is above that of a part.
func (d *Dialect) MostBatched() int { return 0 }

// SubmitBatch makes a batch (Anthropic, API reference, Create a Message Batch).
func (d *Dialect) SubmitBatch(ask dialect.Ask, ep *catalog.Endpoint, s *batch.Submission) (string, error) {
	var w rawjson.Writer
	w.Object()
	w.Name("requests").Array()
	for _, r := range s.Requests {
		w.Object()
		w.Name("custom_id").Text(dialect.BatchName(s.Part, r.Line))
		w.Name("params").Raw(r.Body)
		w.EndObject()
	}
	w.EndArray()
	w.EndObject()
	body, err := dialect.Object(ask, dialect.Call{Path: batchesPath, Body: w.B, Header: s.Header})
	if err != nil {
		return "", err
	}
	return dialect.BatchID(ep, rawjson.TextAt(body, "id"))
}

// listMargin is by how much clocks may differ.
const listMargin = 10 * time.Minute

// FindBatch searches the list of batches, the newest first. Batches have no field for a name, so those of that time with as many requests are
// looked at: the results of one that has ended have the names of its requests. Until then it may be another's, which must not be cancelled.
func (d *Dialect) FindBatch(ask dialect.Ask, ep *catalog.Endpoint, p *batch.Part) (found batch.Found, err error) {
	open := false
	whole, err := dialect.BatchPages(ask, func(after string) string {
		if after == "" {
			return batchesPath + "?limit=100"
		}
		return batchesPath + "?limit=100&after_id=" + url.QueryEscape(after)
	}, func(body []byte) (after string, more bool, err error) {
		for e := rawjson.ElementsOf(rawjson.Find(body, "data")); e.Next(); {
			if after, err = dialect.BatchID(ep, rawjson.TextAt(e.Value, "id")); err != nil {
				return "", false, err
			}
			made, err := time.Parse(time.RFC3339Nano, rawjson.TextAt(e.Value, "created_at"))
			switch {
			case err == nil && made.Before(p.CreatedAt.Add(-listMargin)):
				return "", false, nil
			case requestsOf(e.Value) != p.Lines:
				continue
			case rawjson.TextAt(e.Value, "processing_status") != "ended":
				open = true
				continue
			}
			switch ours, err := isPart(ask, p, after); {
			case err != nil:
				open = true
			case ours:
				found = batch.Found{Fate: batch.Adopted, ID: after}
				return "", false, nil
			}
		}
		more, _ = rawjson.Bool(rawjson.Find(body, "has_more"))
		return after, more, nil
	})
	if err == nil && whole && !open && found.Fate == batch.Unknown {
		found.Fate = batch.Absent
	}
	return found, err
}

// requestsOf is how many requests a batch has.
func requestsOf(b []byte) (total int64) {
	for _, name := range []string{"processing", "succeeded", "errored", "canceled", "expired"} {
		n, _ := rawjson.Int(rawjson.FindPath(b, "request_counts", name))
		total += n
	}
	return total
}

// errSeen ends the reading of results early.
var errSeen = errors.New("seen")

// isPart reports whether the results of a batch are those of a part, as the first of them says.
func isPart(ask dialect.Ask, p *batch.Part, id string) (ours bool, err error) {
	err = dialect.BatchLines(ask, resultsOf(id), func(line []byte) error {
		ours = dialect.BatchLine(p, rawjson.TextAt(line, "custom_id")) != 0
		return errSeen
	})
	if errors.Is(err, errSeen) {
		err = nil
	}
	return ours, err
}

func resultsOf(id string) dialect.Call {
	return dialect.Call{Method: http.MethodGet, Path: batchesPath + "/" + url.PathEscape(id) + "/results", Stream: true}
}

// LookBatch asks for the processing_status (Retrieve a Message Batch).
func (d *Dialect) LookBatch(ask dialect.Ask, _ *catalog.Endpoint, p *batch.Part) (batch.Progress, error) {
	body, err := dialect.Object(ask, dialect.Call{Method: http.MethodGet, Path: batchesPath + "/" + url.PathEscape(p.Upstream)})
	return batch.Progress{Ended: rawjson.TextAt(body, "processing_status") == "ended"}, err
}

// errorStatus is the status that the type of an error has in answers to single requests (Anthropic, Errors).
var errorStatus = map[string]int{
	"invalid_request_error": 400, "authentication_error": 401, "billing_error": 402, "permission_error": 403, "not_found_error": 404, "request_too_large": 413,
	"rate_limit_error": 429, "api_error": 500, "timeout_error": 504, "overloaded_error": 529,
}

// BatchResults reads the results (Retrieve Message Batch results).
func (d *Dialect) BatchResults(ask dialect.Ask, _ *catalog.Endpoint, p *batch.Part, each func(*batch.Result) error) error {
	return dialect.BatchLines(ask, resultsOf(p.Upstream), func(line []byte) error {
		r := batch.Result{Line: dialect.BatchLine(p, rawjson.TextAt(line, "custom_id"))}
		switch rawjson.Text(rawjson.FindPath(line, "result", "type")) {
		case "succeeded":
			if m := rawjson.FindPath(line, "result", "message"); rawjson.KindOf(m) == rawjson.Object {
				r.Status, r.Body = http.StatusOK, m
			}
		case "errored":
			r.Body = rawjson.FindPath(line, "result", "error")
			if r.Status = errorStatus[rawjson.Text(rawjson.FindPath(r.Body, "error", "type"))]; r.Status == 0 {
				r.Status = http.StatusInternalServerError
			}
		}
		return each(&r)
	})
}

// ClearBatch deletes the batch, and with it requests and results (Delete a Message Batch).
func (d *Dialect) ClearBatch(ask dialect.Ask, ep *catalog.Endpoint, p *batch.Part) error {
	if p.Upstream == "" {
		return nil
	}
	progress, err := d.LookBatch(ask, ep, p)
	switch {
	case dialect.Gone(err):
		return nil
	case err != nil:
		return err
	case !progress.Ended:
		_ = d.CancelBatch(ask, ep, p)
		return dialect.StillWorking(ep)
	}
	return dialect.Delete(ask, batchesPath+"/"+url.PathEscape(p.Upstream))
}

// CancelBatch asks for the end (Cancel a Message Batch).
func (d *Dialect) CancelBatch(ask dialect.Ask, _ *catalog.Endpoint, p *batch.Part) error {
	_, err := dialect.Whole(ask, dialect.Call{Path: batchesPath + "/" + url.PathEscape(p.Upstream) + "/cancel"})
	return err
}
