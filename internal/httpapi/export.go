package httpapi

import (
	"net/http"
	"time"

	"weir/internal/fault"
	"weir/internal/limit/quota"
	"weir/internal/report"
)

const (
	// maxExports is how many files one user may read at a time: each holds a connection and asks the store again and again.
	maxExports = 2
	exportRoom = 32 << 10
)

// exporting sends a table as it is written.
type exporting struct {
	report.Sheet
	x   *exchange
	err error // of the client's connection
}

// export answers with a file. Errors before the first bytes are error answers; a later one cuts the connection, so that a part is not taken
// for the whole.
func (x *exchange) export(name, extension string, from, to time.Time, write func(*exporting) error) error {
	return x.exportAs("weir-"+name+"-"+from.Format(time.DateOnly)+"-"+to.Add(-time.Microsecond).Format(time.DateOnly)+"."+extension, extension, write)
}

// exportAs is export under a name for the file.
func (x *exchange) exportAs(file, extension string, write func(*exporting) error) error {
	if !x.api.exports.Enter(x.caller.User, maxExports) {
		return quota.Crowded(maxExports, "max_files_per_user", "This user is reading as many files as one may at a time. Wait for one to end.")
	}
	defer x.api.exports.Leave(x.caller.User)
	media := "text/csv; charset=utf-8"
	switch extension {
	case "pdf":
		media = "application/pdf"
	case "json":
		media = "application/json"
	}
	h := x.w.Header()
	h["Content-Type"], h["Cache-Control"] = []string{media}, noStore
	h["Content-Disposition"] = []string{`attachment; filename="` + file + `"`}
	e := &exporting{x: x}
	if x.r.Method == http.MethodHead {
		x.beforeWrite()
		x.writeHead(http.StatusOK)
		return nil
	}
	err := write(e)
	if err == nil && e.err == nil {
		e.flush()
	}
	if e.err != nil {
		return fault.New(fault.Canceled, "httpapi.export", "The client closed the connection.").Because(e.err)
	}
	if err != nil && x.status == 0 {
		delete(h, "Content-Disposition")
	}
	return err
}

func (e *exporting) flush() {
	if e.err == nil {
		e.err = e.x.sendPiece(http.StatusOK, e.Bytes)
	}
	e.Bytes = e.Bytes[:0]
}

// end ends a row, and reports whether the client still reads.
func (e *exporting) end() bool {
	if e.End(); len(e.Bytes) >= exportRoom {
		e.flush()
	}
	return e.err == nil
}

func (e *exporting) row(list ...string) {
	e.Texts(list...)
	e.end()
}
