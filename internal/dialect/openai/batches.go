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
	file, _ := m.CreateFormFile("file", s.Part.ID+".jsonl")
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

// notBegun is the error of a submission that failed before it could make a batch.
func notBegun(err error) error { return &batch.NotSubmitted{Err: err} }

const listPages = 20 // of 100 batches

// FindBatch searches the list of batches, the newest first, for the name of the part in their metadata (List batches).
func (d *Dialect) FindBatch(ask dialect.Ask, ep *catalog.Endpoint, p *batch.Part) (batch.Found, error) {
	after := ""
	for range listPages {
		path := "/batches?limit=100"
		if after != "" {
			path += "&after=" + url.QueryEscape(after)
		}
		body, err := dialect.Object(ask, dialect.Call{Method: http.MethodGet, Path: path})
		if err != nil {
			return batch.Found{}, err
		}
		older := false
		for e := rawjson.ElementsOf(rawjson.Find(body, "data")); e.Next(); {
			id := rawjson.TextAt(e.Value, "id")
			if rawjson.Text(rawjson.FindPath(e.Value, "metadata", partKey)) == p.ID {
				id, err := dialect.BatchID(ep, id)
				return batch.Found{Fate: batch.Adopted, ID: id}, err
			}
			after = id
			made, _ := rawjson.Int(rawjson.Find(e.Value, "created_at"))
			older = made > 0 && made < p.CreatedAt.Unix()-listMargin
		}
		if more, _ := rawjson.Bool(rawjson.Find(body, "has_more")); !more || older || after == "" {
			return batch.Found{Fate: batch.Absent}, nil
		}
	}
	return batch.Found{}, nil
}

const listMargin = 600 // seconds by which clocks may differ

// LookBatch asks for the status (Retrieve batch).
func (d *Dialect) LookBatch(ask dialect.Ask, _ *catalog.Endpoint, p *batch.Part) (batch.Progress, error) {
	body, err := d.batch(ask, p)
	if err != nil {
		return batch.Progress{}, err
	}
	switch rawjson.TextAt(body, "status") {
	case "completed", "failed", "expired", "cancelled":
		return batch.Progress{Ended: true}, nil
	}
	return batch.Progress{}, nil
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

// CancelBatch asks for the end (Cancel batch). The provider refuses it for a batch that has ended.
func (d *Dialect) CancelBatch(ask dialect.Ask, _ *catalog.Endpoint, p *batch.Part) error {
	_, err := dialect.Whole(ask, dialect.Call{Path: "/batches/" + url.PathEscape(p.Upstream) + "/cancel"})
	return err
}
