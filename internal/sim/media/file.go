package media

import (
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"weir/internal/sim/kit"
)

// mediaFile is a result: what was made, and after it as much filler as was asked for, which is in no memory. Readers of all the
// formats ignore what follows their end.
type mediaFile struct {
	mime string
	head []byte
	size int64
	at   int64
}

var mimes = map[string]string{
	"png": "image/png", "jpeg": "image/jpeg", "webp": "image/webp", "svg": "image/svg+xml", "mp4": "video/mp4",
}

// extension returns the file name extension, without a dot.
func (a *mediaRequest) extension() string {
	if a.video {
		return "mp4"
	}
	return a.imageFormat()
}

func (a *mediaRequest) imageFormat() string {
	if a.format == "" {
		return "png"
	}
	return a.format
}

// file makes result i.
func (a *mediaRequest) file(i int) *mediaFile {
	f := &mediaFile{mime: mimes[a.extension()]}
	if a.video {
		f.head = encodeMP4(a.width, a.height, a.seconds, a.digest(i))
	} else {
		f.head = kit.EncodeImage(a.imageFormat(), a.width, a.height, a.clear, a.digest(i))
	}
	if f.size = int64(len(f.head)); a.knobs.Bytes > f.size+8 {
		if f.size = a.knobs.Bytes; a.video {
			f.head = append(f.head, freeBox(f.size-int64(len(f.head)))...)
		}
	}
	return f
}

// freeBox returns the head of a box of the given size in bytes, which players skip.
func freeBox(size int64) []byte {
	if size < 1<<32 {
		return append(be32(int(size)), "free"...)
	}
	return append(append(be32(1), "free"...), append(be32(int(size>>32)), be32(int(size&0xffffffff))...)...)
}

// filler repeats, so that any part of a file of any size is quick to make.
var filler = func() (b [64 << 10]byte) {
	rnd := kit.Random(1)
	for i := range b {
		b[i] = byte(rnd.Next())
	}
	return b
}()

func (f *mediaFile) Read(p []byte) (int, error) {
	if f.at >= f.size {
		return 0, io.EOF
	}
	p = p[:min(int64(len(p)), f.size-f.at)]
	from := filler[f.at%int64(len(filler)):]
	if f.at < int64(len(f.head)) {
		from = f.head[f.at:]
	}
	n := copy(p, from)
	f.at += int64(n)
	return n, nil
}

func (f *mediaFile) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += f.at
	case io.SeekEnd:
		offset += f.size
	}
	if offset < 0 {
		return 0, errors.New("sim: a position before the beginning")
	}
	f.at = offset
	return offset, nil
}

// Results inside JSON, and those that a fault has in hand, are of this size at most.
const inlineBytes = 64 << 20

// all returns the bytes of a result.
func (f *mediaFile) all() []byte {
	f.at = 0
	b, err := io.ReadAll(io.LimitReader(f, inlineBytes))
	if err != nil {
		panic("sim: a file in memory cannot fail: " + err.Error())
	}
	return b
}

func (a *mediaRequest) base64(i int) string {
	return base64.StdEncoding.EncodeToString(a.file(i).all())
}

// results serves /sim/media/{id}/{name}, which needs no key.
func (s *Wires) results(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		s.storeError(w, 405, "MethodNotAllowed", "The specified method is not allowed against this resource.")
		return
	}
	j, found := s.jobs.fetch(r.PathValue("id"))
	n, _, _ := strings.Cut(r.PathValue("name"), ".")
	i, err := strconv.Atoi(n)
	switch {
	case !found || err != nil || i < 0 || i >= j.outputs():
		s.storeError(w, 404, "NoSuchKey", "The specified key does not exist.")
	case !s.Config.Now().Before(j.expires()):
		s.storeError(w, 403, "AccessDenied", "Request has expired")
	default:
		s.sendFile(w, r, &j, j.spec.file(i))
	}
}

// storeError returns an error in the form of object stores.
func (s *Wires) storeError(w http.ResponseWriter, status int, code, message string) {
	s.Stats.Of("").Refused.Add(1)
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	io.WriteString(w, `<?xml version="1.0" encoding="UTF-8"?>`+"\n<Error><Code>"+code+"</Code><Message>"+message+"</Message></Error>") //nolint:errcheck // a client that has gone needs no answer
}

// sendFile serves a result with all that HTTP has for parts of it, or with a fault, or from another address.
func (s *Wires) sendFile(w http.ResponseWriter, r *http.Request, j *mediaJob, f *mediaFile) {
	k := j.spec.knobs.AtStep(kit.StepContent)
	query := r.URL.Query()
	if hop, _ := strconv.Atoi(query.Get("hop")); hop < k.Job.Hops {
		query.Set("hop", strconv.Itoa(hop+1))
		w.Header().Set("Location", "http://"+r.Host+r.URL.Path+"?"+query.Encode())
		w.WriteHeader(http.StatusFound)
		return
	}
	if k.Fault != "" {
		out := &kit.Reply{Wire: j.on, Kind: []string{f.mime}, Body: f.all}
		s.playMedia(out, w, r, time.Now(), &j.spec, kit.StepContent)
		return
	}
	x := s.Exchange(j.on, w, r, j.spec.name, false, k, time.Now())
	defer x.End()
	if !x.Wait(k.Delay) {
		return
	}
	h := w.Header()
	h.Set("Content-Type", f.mime)
	if !k.Job.Bare {
		h.Set("Etag", `"`+j.id+"-"+kit.HexOf(j.spec.digest(0))[:8]+`"`)
		http.ServeContent(w, r, "", j.ended, f)
		return
	}
	x.FlushNow() // then net/http cannot announce a length
	if r.Method != http.MethodHead {
		io.Copy(w, f) //nolint:errcheck // a client that has gone needs no answer
	}
}
