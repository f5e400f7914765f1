package gemini

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"weir/internal/batch"
	"weir/internal/catalog"
	"weir/internal/dialect"
	"weir/internal/rawjson"
)

var _ dialect.Batcher = (*Dialect)(nil)

// MostBatched keeps the answers to a batch, which are all in one object, below the bound of an answer.
func (d *Dialect) MostBatched() int { return 200 }

// SubmitBatch enqueues the requests in the body of one request (Gemini API, Batch API, models.batchGenerateContent).
func (d *Dialect) SubmitBatch(ask dialect.Ask, ep *catalog.Endpoint, s *batch.Submission) (string, error) {
	model, ok := strings.CutSuffix(s.Part.Path, ":generateContent")
	if !ok {
		return "", &batch.NotSubmitted{Err: dialect.Unsupported(ep, "The provider of this model does not take requests of this kind in batches.")}
	}
	var w rawjson.Writer
	w.Object()
	w.Name("batch").Object()
	w.Name("displayName").Text(s.Part.ID)
	w.Name("inputConfig").Object()
	w.Name("requests").Object()
	w.Name("requests").Array()
	for _, r := range s.Requests {
		w.Object()
		w.Name("request").Raw(r.Body)
		w.Name("metadata").Object()
		w.Name("key").Text(dialect.BatchName(s.Part, r.Line))
		w.EndObject()
		w.EndObject()
	}
	w.EndArray()
	for range 4 {
		w.EndObject()
	}
	body, err := dialect.Object(ask, dialect.Call{Path: model + ":batchGenerateContent", Body: w.B, Header: s.Header})
	if err != nil {
		return "", err
	}
	return batchName(ep, rawjson.TextAt(body, "name"))
}

// batchName checks the name of a batch, which becomes a part of addresses.
func batchName(ep *catalog.Endpoint, name string) (string, error) {
	if !strings.HasPrefix(name, "batches/") || !operation(name) {
		return "", dialect.Unavailable(ep, "The provider accepted the batch without a name.", nil)
	}
	return dialect.BatchID(ep, name)
}

// FindBatch searches the list of batches for the display name (Batch API, batches.list).
func (d *Dialect) FindBatch(ask dialect.Ask, ep *catalog.Endpoint, p *batch.Part) (found batch.Found, err error) {
	whole, err := dialect.BatchPages(ask, func(token string) string {
		if token == "" {
			return "/batches?pageSize=100"
		}
		return "/batches?pageSize=100&pageToken=" + url.QueryEscape(token)
	}, func(body []byte) (token string, more bool, err error) {
		for e := rawjson.ElementsOf(rawjson.Find(body, "operations")); e.Next(); {
			if rawjson.Text(rawjson.FindPath(e.Value, "metadata", "displayName")) == p.ID {
				found.Fate = batch.Adopted
				found.ID, err = batchName(ep, rawjson.TextAt(e.Value, "name"))
				return "", false, err
			}
		}
		token = rawjson.TextAt(body, "nextPageToken")
		return token, token != "", nil
	})
	if err == nil && whole && found.Fate == batch.Unknown {
		found.Fate = batch.Absent
	}
	return found, err
}

func (d *Dialect) batch(ask dialect.Ask, p *batch.Part) ([]byte, error) {
	return dialect.Whole(ask, dialect.Call{Method: http.MethodGet, Path: "/" + p.Upstream})
}

// LookBatch asks for the operation (Batch API, batches.get). One that failed has done, and an error.
func (d *Dialect) LookBatch(ask dialect.Ask, _ *catalog.Endpoint, p *batch.Part) (batch.Progress, error) {
	body, err := d.batch(ask, p)
	if err != nil {
		return batch.Progress{}, err
	}
	done, _ := rawjson.Bool(rawjson.Find(body, "done"))
	return batch.Progress{Ended: done}, nil
}

// codeStatus is the HTTP status of a google.rpc.Code, where it is not a server's error.
var codeStatus = map[int64]int{3: 400, 5: 404, 7: 403, 8: 429, 9: 400, 11: 400, 14: 503, 16: 401}

// BatchResults reads the answers out of the operation. They are in the order of the requests; where they have the metadata of their requests,
// that decides.
func (d *Dialect) BatchResults(ask dialect.Ask, ep *catalog.Endpoint, p *batch.Part, each func(*batch.Result) error) error {
	body, err := d.batch(ask, p)
	if err != nil {
		return err
	}
	list := rawjson.FindPath(body, "response", "inlinedResponses", "inlinedResponses")
	if list == nil {
		if list = rawjson.FindPath(body, "metadata", "output", "inlinedResponses", "inlinedResponses"); list == nil {
			return nil // it failed as a whole, or ended without an answer
		}
	}
	if rawjson.KindOf(list) != rawjson.Array {
		return dialect.Broken(ep, errors.New("the answers of the batch are no list"))
	}
	for e := rawjson.ElementsOf(list); e.Next(); {
		r := batch.Result{Line: dialect.BatchLine(p, rawjson.Text(rawjson.FindPath(e.Value, "metadata", "key")))}
		if answer := rawjson.Find(e.Value, "response"); rawjson.KindOf(answer) == rawjson.Object {
			r.Status, r.Body = http.StatusOK, answer
		} else if failure := rawjson.Find(e.Value, "error"); rawjson.KindOf(failure) == rawjson.Object {
			code, _ := rawjson.Int(rawjson.Find(failure, "code"))
			if r.Status = codeStatus[code]; r.Status == 0 {
				r.Status = http.StatusInternalServerError
			}
			var w rawjson.Writer
			w.Object()
			w.Name("error").Raw(failure)
			w.EndObject()
			r.Body = w.B
		}
		if err := each(&r); err != nil {
			return err
		}
	}
	return nil
}

// ClearBatch deletes the operation, which has requests and answers (Batch API, batches.delete), and a file with the answers if there is one.
func (d *Dialect) ClearBatch(ask dialect.Ask, ep *catalog.Endpoint, p *batch.Part) error {
	if p.Upstream == "" {
		return nil
	}
	body, err := d.batch(ask, p)
	switch {
	case dialect.Gone(err):
		return nil
	case err != nil:
		return err
	}
	if done, _ := rawjson.Bool(rawjson.Find(body, "done")); !done {
		_ = d.CancelBatch(ask, ep, p)
		return dialect.StillWorking(ep)
	}
	for _, at := range [][]string{{"response", "responsesFile"}, {"metadata", "output", "responsesFile"}} {
		if file := rawjson.Text(rawjson.FindPath(body, at...)); strings.HasPrefix(file, "files/") && operation(file) {
			if err := dialect.Delete(ask, "/"+file); err != nil {
				return err
			}
		}
	}
	return dialect.Delete(ask, "/"+p.Upstream)
}

// CancelBatch asks for the end (Batch API, batches.cancel).
func (d *Dialect) CancelBatch(ask dialect.Ask, _ *catalog.Endpoint, p *batch.Part) error {
	_, err := dialect.Whole(ask, dialect.Call{Path: "/" + p.Upstream + ":cancel"})
	return err
}
