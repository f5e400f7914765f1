package httpapi

import (
	"encoding/binary"
	"io"
	"iter"
	"net/http"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/httpserver"
	"weir/internal/task"
	"weir/internal/wire"
	"weir/internal/wire/transcriptions"
)

// postTranscriptions serves POST /v1/audio/transcriptions, whole in one of six formats or as a stream of events.
func (x *request) postTranscriptions() error {
	return x.transcribe("audio.transcriptions", transcriptions.Decode)
}

// postTranslations serves POST /v1/audio/translations, whole in one of five formats.
func (x *request) postTranslations() error {
	return x.transcribe("audio.translations", transcriptions.DecodeTranslation)
}

// transcribe answers with the text of a recording, by the style api.
func (x *request) transcribe(api string, decode func(*wire.Form) (*completion.Request, error)) error {
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
	req, err := decode(form)
	if err != nil {
		return err
	}
	if err := x.admitTask(req); err != nil {
		return err
	}
	t := req.Task.(*task.Transcription)
	call := x.newCall(req, api, textOf(t.Prompt))
	if req.Stream {
		return x.performStream(call, httpserver.ErrorObject, func(w *frameWriter) frames { return transcriptions.NewStream(w, t) })
	}
	return x.perform(call, transcriptions.NewWhole(typedWriter{x, []string{transcriptions.ContentType(t.Response)}}, t, x.strict()))
}

// hasCredit refuses an upload whose user has no money for any transcription, before it is read. model is "" while it is not known.
func (x *request) hasCredit(model string) error {
	return x.api.quotas.Credit(x.context(), x.at, x.caller.Wallet, x.api.Catalog(), catalog.TypeTranscription, model)
}

// readRecording reads the body as a form whose file goes to recording.
func (x *request) readRecording(recording *httpserver.Spool) (form *wire.Form, err error) {
	begin := func(fields []task.Field) error { return x.hasCredit(valueOf(fields, "model")) }
	err = x.body.ReadForm(x.route.body(&x.api.cfg), func(body io.Reader) (err error) {
		form, err = transcriptions.ReadForm(body, x.header("Content-Type"), wire.Room{File: recording, MaxFile: maxRecording, Take: x.memory.Charge, Begin: begin})
		return err
	})
	return x.claimForm(form, recording, err)
}

// newSpool makes room for the file of an upload, which must be closed.
func (x *request) newSpool() (*httpserver.Spool, error) {
	return x.api.disk.NewSpool(x.caller.User, &x.memory, x.named != nil)
}

// claimForm is claim for a form that was read with its file, unless that failed.
func (x *request) claimForm(form *wire.Form, file *httpserver.Spool, err error) (*wire.Form, error) {
	if err != nil {
		return nil, err
	}
	form.File = file.File()
	if x.named != nil {
		return form, x.claim(digestOf(form, file))
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

// digestOf is what two tries of one request have in common, whatever divides the parts of their forms.
func digestOf(form *wire.Form, recording *httpserver.Spool) []byte {
	var b []byte
	for _, f := range append([]task.Field{{Name: form.FileName, Value: form.FileType}}, form.Fields...) {
		b = append(binary.AppendUvarint(b, uint64(len(f.Name))), f.Name...)
		b = append(binary.AppendUvarint(b, uint64(len(f.Value))), f.Value...)
	}
	return recording.Sum(b)
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
