package httpapi

import (
	"encoding/binary"
	"io"
	"iter"
	"net/http"

	"weir/internal/catalog"
	"weir/internal/fault"
	"weir/internal/task"
	"weir/internal/wire"
	"weir/internal/wire/transcriptions"
)

// postTranscriptions serves POST /v1/audio/transcriptions, whole in one of six formats or as a stream of events.
func (x *request) postTranscriptions() error {
	if err := x.hasCredit(""); err != nil {
		return err
	}
	recording, err := x.newSpool()
	if err != nil {
		return err
	}
	defer recording.Close()
	form, err := x.readRecording(recording)
	if err != nil {
		return err
	}
	req, err := transcriptions.Decode(form)
	if err != nil {
		return err
	}
	if err := x.admitTask(req); err != nil {
		return err
	}
	t := req.Task.(*task.Transcription)
	call := x.newCall(req, "audio.transcriptions", textOf(t.Prompt))
	if req.Stream {
		return x.performStream(call, ErrorObject, func(w *frameWriter) frames { return transcriptions.NewStream(w, t) })
	}
	return x.perform(call, transcriptions.NewWhole(typedWriter{x, []string{transcriptions.ContentType(t.Response)}}, t, x.strict()))
}

// hasCredit refuses an upload whose user has no money for any transcription, before it is read. model is "" while it is not known.
func (x *request) hasCredit(model string) error {
	return x.api.quotas.Credit(x.context(), x.at, x.caller.Wallet, x.api.Catalog(), catalog.TypeTranscription, model)
}

// readRecording reads the body as a form whose file goes to recording.
func (x *request) readRecording(recording *spool) (*wire.Form, error) {
	contentType := ""
	if types := x.r.Header["Content-Type"]; len(types) > 0 {
		contentType = types[0]
	}
	if packed, err := x.packed(); err != nil {
		return nil, err
	} else if packed {
		return nil, fault.New(fault.UnsupportedMediaType, "httpapi.readRecording", "A form must not be gzip-encoded. Send it without Content-Encoding.")
	}
	if err := x.charge(formMemory); err != nil {
		return nil, err
	}
	guard := x.guardBody()
	most := x.route.body(&x.api.cfg)
	limited := &limitedBody{r: guard, left: most, most: most}
	begin := func(fields []task.Field) error { return x.hasCredit(valueOf(fields, "model")) }
	form, err := transcriptions.ReadForm(limited, contentType, wire.Room{File: recording, MaxFile: maxRecording, Take: x.charge, Begin: begin})
	if err != nil {
		return nil, guard.explain(err)
	}
	if err := limited.rest(); err != nil {
		return nil, guard.explain(err)
	}
	x.bodyDone = true
	guard.done()
	form.File = recording.File()
	if x.named != nil {
		return form, x.claim(digestOf(form, recording))
	}
	return form, nil
}

// valueOf is the value of a field of a form, "" when it is missing.
func valueOf(fields []task.Field, name string) string {
	for i := range fields {
		if fields[i].Name == name {
			return fields[i].Value
		}
	}
	return ""
}

// formMemory is what reading a form takes, in bytes: the parser's buffers.
const formMemory = 64 << 10

// digestOf is what two tries of one request have in common, whatever divides the parts of their forms.
func digestOf(form *wire.Form, recording *spool) []byte {
	var b []byte
	for _, f := range append([]task.Field{{Name: form.FileName, Value: form.FileType}}, form.Fields...) {
		b = append(binary.AppendUvarint(b, uint64(len(f.Name))), f.Name...)
		b = append(binary.AppendUvarint(b, uint64(len(f.Value))), f.Value...)
	}
	return recording.digest.Sum(b)
}

// textOf yields one text.
func textOf(text string) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) { yield([]byte(text)) }
}

// typedWriter writes a whole answer of a type, head and body, with its one Write.
type typedWriter struct {
	x    *request
	kind []string
}

// Write sends the answer.
func (w typedWriter) Write(body []byte) (int, error) {
	if err := w.x.r.Context().Err(); err != nil && w.x.named == nil { // a named answer is for the client's next try, too
		return 0, err
	}
	w.x.writeBody(http.StatusOK, w.kind, body)
	return len(body), nil
}

// limitedBody is a body of which no more than so many bytes are read.
type limitedBody struct {
	r    io.Reader
	left int64
	most int64
}

func (l *limitedBody) Read(p []byte) (int, error) {
	n, err := l.r.Read(p[:min(int64(len(p)), l.left+1)])
	if l.left -= int64(n); l.left < 0 {
		return 0, tooLarge(l.most)
	}
	return n, err
}

// rest reads what follows the form's end, so that the connection can serve again: nothing, or a line's end.
func (l *limitedBody) rest() error {
	n, err := io.CopyN(io.Discard, l, maxEpilogue+1)
	switch {
	case err == io.EOF:
		return nil
	case err == nil && n > maxEpilogue:
		return fault.New(fault.Invalid, "httpapi.readRecording", "The body has data after the end of the form.")
	}
	return err
}

const maxEpilogue = 4 << 10 // bytes after the last boundary
