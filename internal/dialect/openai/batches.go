package openai

import (
	"bytes"
	"mime/multipart"
	"net/http"
	"net/url"

	"weir/internal/batch"
	"weir/internal/catalog"
	"weir/internal/dialect"
	"weir/internal/rawjson"
)

var _ dialect.Batcher = (*Dialect)(nil)

// MostBatched is 0: the provider's bound is above that of a part.
func (d *Dialect) MostBatched() int { return 0 }

// partKey is the member of a batch's metadata with the name of its part.
const partKey = "weir_part"

// SubmitBatch uploads the requests as a file and makes a batch of it (OpenAI, API reference, Upload file and Create batch). Only the second
// can make a batch.
func (d *Dialect) SubmitBatch(ask dialect.Ask, ep *catalog.Endpoint, s *batch.Submission) (string, error) {
	var lines bytes.Buffer
	for _, r := range s.Requests {
		var w rawjson.Writer
		w.Object()
		w.Name("custom_id").Text(dialect.BatchName(s.Part, r.Line))
		w.Name("method").Text("POST")
		w.Name("url").Text("/v1" + s.Part.Path)
		w.Name("body").Raw(rawjson.AppendOneLine(nil, r.Body))
		w.EndObject()
		lines.Write(append(w.B, '\n'))
	}
	var form bytes.Buffer
	m := multipart.NewWriter(&form)
	_ = m.WriteField("purpose", "batch") // a buffer never fails
	file, _ := m.CreateFormFile("file", uploadName(s.Part))
	_, _ = file.Write(lines.Bytes())
	_ = m.Close()
	body, err := dialect.Object(ask, dialect.Call{Path: "/files", Body: form.Bytes(), Header: http.Header{"Content-Type": {m.FormDataContentType()}}})
	if err != nil {
		return "", notBegun(err)
	}
	input, err := dialect.BatchID(ep, rawjson.TextAt(body, "id"))
	if err != nil {
		return "", notBegun(err)
	}
	var w rawjson.Writer
	w.Object()
	w.Name("input_file_id").Text(input)
	w.Name("endpoint").Text("/v1" + s.Part.Path)
	w.Name("completion_window").Text("24h")
	w.Name("metadata").Object()
	w.Name(partKey).Text(s.Part.ID)
	w.EndObject()
	w.EndObject()
	if body, err = dialect.Object(ask, dialect.Call{Path: "/batches", Body: w.B}); err != nil {
		return "", err
	}
	return dialect.BatchID(ep, rawjson.TextAt(body, "id"))
}

// uploadName is the name of the file with the requests of a part, by which it is found when nothing else is known.
func uploadName(p *batch.Part) string { return p.ID + ".jsonl" }

// notBegun is the error of a submission that failed before it could make a batch.
func notBegun(err error) error { return &batch.NotSubmitted{Err: err} }

// listMargin is by how many seconds clocks may differ.
const listMargin = 600

// listed asks for the pages of a list, as long as they may have what was made for a part. each gets its members until it has seen enough.
func listed(ask dialect.Ask, path string, p *batch.Part, each func(v []byte) (enough bool, err error)) (whole bool, err error) {
	return dialect.BatchPages(ask, func(after string) string {
		if after == "" {
			return path
		}
		return path + "&after=" + url.QueryEscape(after)
	}, func(body []byte) (after string, more bool, err error) {
		older := false
		for e := rawjson.ElementsOf(rawjson.Find(body, "data")); e.Next(); {
			if enough, err := each(e.Value); enough || err != nil {
				return "", false, err
			}
			after = rawjson.TextAt(e.Value, "id")
			made, _ := rawjson.Int(rawjson.Find(e.Value, "created_at"))
			older = made > 0 && made < p.CreatedAt.Unix()-listMargin
		}
		more, _ = rawjson.Bool(rawjson.Find(body, "has_more"))
		return after, more && !older, nil
	})
}

// FindBatch searches the list of batches, the newest first, for the name of the part in their metadata (List batches).
func (d *Dialect) FindBatch(ask dialect.Ask, ep *catalog.Endpoint, p *batch.Part) (found batch.Found, err error) {
	whole, err := listed(ask, "/batches?limit=100", p, func(v []byte) (enough bool, err error) {
		if rawjson.Text(rawjson.FindPath(v, "metadata", partKey)) != p.ID {
			return false, nil
		}
		found.Fate = batch.Adopted
		found.ID, err = dialect.BatchID(ep, rawjson.TextAt(v, "id"))
		return true, err
	})
	if err == nil && whole && found.Fate == batch.Unknown {
		found.Fate = batch.Absent
	}
	return found, err
}

// LookBatch asks for the status (Retrieve batch).
func (d *Dialect) LookBatch(ask dialect.Ask, _ *catalog.Endpoint, p *batch.Part) (batch.Progress, error) {
	body, err := d.batch(ask, p)
	if err != nil {
		return batch.Progress{}, err
	}
	return batch.Progress{Ended: ended(body)}, nil
}

func ended(body []byte) bool {
	switch rawjson.TextAt(body, "status") {
	case "completed", "failed", "expired", "cancelled":
		return true
	}
	return false
}

func (d *Dialect) batch(ask dialect.Ask, p *batch.Part) ([]byte, error) {
	return dialect.Whole(ask, dialect.Call{Method: http.MethodGet, Path: "/batches/" + url.PathEscape(p.Upstream)})
}

// BatchResults reads the files of a batch: the answers, and the errors (API reference, The request output object). Either may be missing.
func (d *Dialect) BatchResults(ask dialect.Ask, ep *catalog.Endpoint, p *batch.Part, each func(*batch.Result) error) error {
	body, err := d.batch(ask, p)
	if err != nil {
		return err
	}
	for _, name := range []string{"output_file_id", "error_file_id"} {
		id := rawjson.TextAt(body, name)
		if id == "" {
			continue
		}
		if id, err = dialect.BatchID(ep, id); err != nil {
			return err
		}
		err = dialect.BatchLines(ask, dialect.Call{Method: http.MethodGet, Path: "/files/" + url.PathEscape(id) + "/content", Stream: true}, func(line []byte) error {
			r := batch.Result{Line: dialect.BatchLine(p, rawjson.TextAt(line, "custom_id"))}
			status, _ := rawjson.Int(rawjson.FindPath(line, "response", "status_code"))
			if answer := rawjson.FindPath(line, "response", "body"); status >= 100 && status <= 599 && rawjson.KindOf(answer) == rawjson.Object {
				r.Status, r.Body = int(status), answer
			}
			return each(&r)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// ClearBatch deletes the files of a batch: requests, answers and errors (Delete file). The batch itself has no content, and cannot be deleted.
func (d *Dialect) ClearBatch(ask dialect.Ask, ep *catalog.Endpoint, p *batch.Part) error {
	if p.Upstream == "" {
		return clearUpload(ask, ep, p)
	}
	body, err := d.batch(ask, p)
	switch {
	case dialect.Gone(err):
		return clearUpload(ask, ep, p)
	case err != nil:
		return err
	case !ended(body):
		_ = d.CancelBatch(ask, ep, p)
		return dialect.StillWorking(ep)
	}
	var failed error
	for _, name := range []string{"output_file_id", "error_file_id", "input_file_id"} {
		if id := rawjson.TextAt(body, name); id != "" {
			if err := deleteFile(ask, ep, id); err != nil {
				failed = err
			}
		}
	}
	return failed
}

func deleteFile(ask dialect.Ask, ep *catalog.Endpoint, id string) error {
	id, err := dialect.BatchID(ep, id)
	if err != nil {
		return err
	}
	return dialect.Delete(ask, "/files/"+url.PathEscape(id))
}

// clearUpload deletes the file of requests that no batch was made of. It is searched for by its name in the list of files, the newest first
// (List files).
func clearUpload(ask dialect.Ask, ep *catalog.Endpoint, p *batch.Part) error {
	_, err := listed(ask, "/files?purpose=batch&limit=100&order=desc", p, func(v []byte) (enough bool, err error) {
		if rawjson.TextAt(v, "filename") == uploadName(p) {
			err = deleteFile(ask, ep, rawjson.TextAt(v, "id"))
		}
		return false, err
	})
	return err
}

// CancelBatch asks for the end (Cancel batch). The provider refuses it for a batch that has ended.
func (d *Dialect) CancelBatch(ask dialect.Ask, _ *catalog.Endpoint, p *batch.Part) error {
	_, err := dialect.Whole(ask, dialect.Call{Path: "/batches/" + url.PathEscape(p.Upstream) + "/cancel"})
	return err
}
