package httpapi

import (
	"net/http"

	"weir/internal/fault"
	"weir/internal/limit/quota"
	"weir/internal/operation"
)

const (
	// maxExports is how many files one user may read at a time: each holds a connection and asks the store again and again.
	maxExports = 2
	exportRoom = 32 << 10
)

// sendFile answers with a file.
func (x *request) sendFile(f *operation.File) error {
	if !x.api.exports.Enter(x.caller.User, maxExports) {
		return quota.Crowded(maxExports, "max_files_per_user", "This user is reading as many files as one may at a time. Wait for one to end.")
	}
	defer x.api.exports.Leave(x.caller.User)
	h := x.w.Header()
	h["Content-Type"], h["Cache-Control"] = []string{f.MediaType}, noStore
	name := f.Name
	if x.api.MadeUp != nil && x.api.MadeUp() {
		name = "demo-" + name
	}
	h["Content-Disposition"] = []string{`attachment; filename="` + name + `"`}
	if x.r.Method == http.MethodHead {
		x.w.WriteHeader(http.StatusOK)
		return nil
	}
	p := &pieces{x: x}
	err := f.Write(p)
	if err == nil && p.err == nil {
		p.flush()
	}
	if p.err != nil {
		return fault.New(fault.Canceled, "httpapi.export", "The client closed the connection.").Because(p.err)
	}
	if err != nil && x.w.Status() == 0 {
		delete(h, "Content-Disposition")
	}
	return err
}

// pieces sends what is written to it, in pieces of exportRoom.
type pieces struct {
	x   *request
	b   []byte
	err error // of the client's connection
}

func (p *pieces) Write(b []byte) (int, error) {
	if p.b = append(p.b, b...); len(p.b) >= exportRoom {
		p.flush()
	}
	return len(b), p.err
}

func (p *pieces) flush() {
	if p.err == nil {
		p.err = p.x.sendPiece(http.StatusOK, p.b)
	}
	p.b = p.b[:0]
}
