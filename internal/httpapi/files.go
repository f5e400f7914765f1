package httpapi

import (
	"context"
	"io"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"

	"weir/internal/batch"
	"weir/internal/fault"
	"weir/internal/httpserver"
	"weir/internal/routing"
	"weir/internal/wire"
	"weir/internal/wire/batches"
)

// Batches keeps files and batches. *batch.Service is one.
type Batches interface {
	Limits() (fileBytes, lineBytes, lines int64)
	AddFile(ctx context.Context, n batch.NewFile) (*batch.File, error)
	File(ctx context.Context, user, id string) (*batch.File, error)
	Files(ctx context.Context, q batch.FileQuery) (files []batch.File, more bool, err error)
	OpenFile(ctx context.Context, user, id string) (io.ReadCloser, *batch.File, error)
	DeleteFile(ctx context.Context, user, id string) error

	Add(ctx context.Context, n *batch.NewBatch) (*batch.Batch, error)
	Get(ctx context.Context, user, id string, shape batch.Shape) (*batch.Batch, error)
	List(ctx context.Context, q batch.Query) (list []batch.Batch, more bool, err error)
	Cancel(ctx context.Context, user, id string, shape batch.Shape) (*batch.Batch, error)
	Delete(ctx context.Context, user, id string, shape batch.Shape) error
	Results(ctx context.Context, user, id string) (io.ReadCloser, error)
}

// formRoom is what a form has in addition to its file, in bytes.
const formRoom = 1 << 20

// postFile serves POST /v1/files: a form with the requests of a batch.
func (x *request) postFile() error {
	if err := x.keeps("a file"); err != nil {
		return err
	}
	x.mayKeep(&routing.Preferences{})
	upload, err := x.newSpool()
	if err != nil {
		return err
	}
	defer upload.Close()
	form, err := x.readUpload(upload)
	if err != nil {
		return err
	}
	fields, err := batches.DecodeUpload(form.Fields)
	if err != nil {
		return err
	}
	f, err := x.api.Batches.AddFile(x.context(), batch.NewFile{User: x.caller.User, Key: x.caller.Key, Name: fileName(form.FileName), Purpose: fields.Purpose, Keep: fields.Keep,
		Content: io.NewSectionReader(form.File, 0, form.File.Size())})
	if err != nil {
		return err
	}
	x.writeBody(http.StatusOK, jsonType, batches.AppendFile(nil, f))
	return nil
}

// readUpload reads the body as a form whose file goes to upload.
func (x *request) readUpload(upload *httpserver.Spool) (form *wire.Form, err error) {
	err = x.body.ReadForm(x.route.body(&x.api.cfg), func(body io.Reader) (err error) {
		most, _, _ := x.api.Batches.Limits()
		form, err = wire.ReadForm(body, x.header("Content-Type"), wire.Room{File: upload, MaxFile: most, Take: x.memory.Charge})
		return err
	})
	return x.claimForm(form, upload, err)
}

const maxFileName = 255 // bytes

// fileName is the name that is kept of an upload: the last part of what the client says, without what no header may have.
func fileName(name string) string {
	name = strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f || c == utf8.RuneError {
			return -1
		}
		return c
	}, path.Base(strings.ReplaceAll(name, `\`, "/")))
	for len(name) > maxFileName {
		_, size := utf8.DecodeLastRuneInString(name)
		name = name[:len(name)-size]
	}
	if name == "" || name == "." || name == "/" {
		return "requests.jsonl"
	}
	return name
}

// file finds a file that the caller sees.
func (x *request) file(id string) (*batch.File, error) {
	f, err := x.api.Batches.File(x.context(), x.caller.User, id)
	if err == nil {
		err = x.sees(f.Key, batch.NoFile("httpapi.file"))
	}
	return f, err
}

func (x *request) getFile() error {
	f, err := x.file(x.values[0])
	if err != nil {
		return err
	}
	return x.replyStoredJSON(batches.AppendFile(nil, f))
}

func (x *request) replyStoredJSON(body []byte) error {
	x.w.Header()["Cache-Control"] = noStore
	x.writeBody(http.StatusOK, jsonType, body)
	return nil
}

func (x *request) deleteFile() error {
	if _, err := x.file(x.values[0]); err != nil {
		return err
	}
	if err := x.api.Batches.DeleteFile(x.context(), x.caller.User, x.values[0]); err != nil {
		return err
	}
	return x.replyStoredJSON(batches.AppendDeleted(nil, x.values[0]))
}

const (
	filesPage   = 100
	filesMost   = 1000
	batchesPage = 20
	batchesMost = 100
)

// limitOf reads the number of entries that a client wants.
func (x *request) limitOf(usual, most int) (int, error) {
	text := x.r.URL.Query().Get("limit")
	if text == "" {
		return usual, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		return 0, fault.Field("httpapi.limitOf", "limit", "limit must be a whole number from 1 to %d.", most)
	}
	return n, nil
}

func (x *request) listFiles() error {
	query := x.r.URL.Query()
	limit, err := x.limitOf(filesPage, filesMost)
	if err != nil {
		return err
	}
	q := batch.FileQuery{User: x.caller.User, Sees: x.caller.Sees, Purpose: query.Get("purpose"), After: query.Get("after"), Limit: limit}
	switch query.Get("order") {
	case "", "desc":
	case "asc":
		q.Ascending = true
	default:
		return fault.Field("httpapi.listFiles", "order", "order must be asc or desc.")
	}
	files, more, err := x.api.Batches.Files(x.context(), q)
	if err != nil {
		return err
	}
	return x.replyStoredJSON(batches.AppendList(nil, len(files), more, func(to []byte, i int) ([]byte, string) { return batches.AppendFile(to, &files[i]), files[i].ID }))
}

// getFileContent serves the lines of a file.
func (x *request) getFileContent() error {
	if _, err := x.file(x.values[0]); err != nil {
		return err
	}
	r, f, err := x.api.Batches.OpenFile(x.context(), x.caller.User, x.values[0])
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	x.w.Header()["Content-Disposition"] = []string{mime.FormatMediaType("attachment", map[string]string{"filename": f.Name})}
	return x.sendLines(r, f.Bytes)
}

var linesType = []string{"application/x-ndjson"}

// sendLines sends a file of lines as it is read. size is -1 where it is not known.
func (x *request) sendLines(r io.Reader, size int64) error {
	h := x.w.Header()
	h["Content-Type"], h["Cache-Control"] = linesType, noStore
	if size >= 0 {
		h["Content-Length"] = []string{strconv.FormatInt(size, 10)}
	}
	if x.r.Method == http.MethodHead {
		x.w.WriteHeader(http.StatusOK)
		return nil
	}
	buf := contentBuffers.Get().(*[contentBuffer]byte)
	defer contentBuffers.Put(buf)
	for {
		n, err := r.Read(buf[:])
		if n > 0 || err == io.EOF {
			if werr := x.sendPiece(http.StatusOK, buf[:n]); werr != nil {
				return fault.New(fault.Canceled, "httpapi.sendLines", "The client closed the connection.").Because(werr)
			}
		}
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return x.unreadable(err)
		}
	}
}

// unreadable is the fault of a file that cannot be read to its end. What the head would have said of it goes.
func (x *request) unreadable(err error) error {
	if x.r.Context().Err() != nil {
		return fault.New(fault.Canceled, "httpapi.sendLines", "The client closed the connection.").Because(err)
	}
	if x.w.Status() == 0 {
		h := x.w.Header()
		delete(h, "Content-Disposition")
		delete(h, "Content-Length")
	}
	return fault.New(fault.StorageUnavailable, "httpapi.sendLines", "The file could not be read.").Because(err)
}
