// Package content says how files are kept that are too large for a database, such as the videos of jobs. It keeps none itself: a folder
// and an S3-compatible store do, each in a package of its own, and it does not know whose a file is.
package blob

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"weir/internal/fault"
)

// Info describes a file.
type Info struct {
	Size      int64
	MediaType string // "" when Put was told none
	ETag      string // without quotes; two files of one key that differ have two
}

// Store keeps files under keys: see CheckKey. It is safe for concurrent use, over several nodes where they share what it stands on. Its
// errors are fault.NotFound for a file that is not there, fault.Invalid for an offset behind its end, and fault.StorageUnavailable.
type Store interface {
	// Put keeps what r holds, as it comes and without holding it in memory. The file is there as a whole or not at all: an error of r, which
	// is returned as it is, leaves what was there before. Putting the same again is harmless.
	Put(ctx context.Context, key, mediaType string, r io.Reader) (size int64, etag string, err error)
	// Open reads length bytes from offset on, or to the end where that comes first or length is negative. With a length of 0 it tells of
	// the file and reads nothing. A file that is replaced or deleted meanwhile is read as it was, or reading fails.
	Open(ctx context.Context, key string, offset, length int64) (io.ReadCloser, Info, error)
	// Delete forgets a file. It is no error that there is none.
	Delete(ctx context.Context, key string) error
	// Sweep forgets at most n files that were put before, and reports how many. It is for what nobody remembers any more.
	Sweep(ctx context.Context, before time.Time, n int) (int, error)
	// Ready fails when nothing can be put at the moment.
	Ready(ctx context.Context) error
}

const (
	maxKeyBytes  = 200
	maxTypeBytes = 100
)

// CheckKey refuses keys that are not one to four parts of letters, digits, '-', '_' and '.', each beginning with a letter or digit, with
// slashes between them. Such a key means the same in every store.
func CheckKey(key string) error {
	parts := strings.Split(key, "/")
	ok := len(key) <= maxKeyBytes && len(parts) <= 4
	for _, p := range parts {
		ok = ok && isPart(p)
	}
	if !ok {
		return fault.Wrap("content.CheckKey", fmt.Errorf("%.80q is no key of a file", key))
	}
	return nil
}

func isPart(p string) bool {
	if p == "" || p[0] == '.' || p[0] == '-' || p[0] == '_' {
		return false
	}
	for i := range len(p) {
		if c := p[i]; (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' && c != '.' {
			return false
		}
	}
	return true
}

// MediaType is t as it is kept: "" for what is longer than any, or holds what a header cannot.
func MediaType(t string) string {
	if len(t) > maxTypeBytes {
		return ""
	}
	for i := range len(t) {
		if t[i] < ' ' || t[i] >= 0x7f {
			return ""
		}
	}
	return t
}

// Unavailable says that a store failed.
func Unavailable(op string, cause error) error {
	e := fault.New(fault.StorageUnavailable, op, "The files cannot be reached at the moment.").Because(cause)
	e.RetryAfter = time.Second
	return e
}

// NotFound says that there is no file of a key.
func NotFound(op string) error { return fault.New(fault.NotFound, op, "There is no such file.") }

// PastEnd says that a file has no such offset.
func PastEnd(op string) error {
	return fault.New(fault.Invalid, op, "The file ends before this offset.")
}

// Source reads what is put, and remembers how it ended: a store may take an error of it for the end of the file.
type Source struct {
	Reader io.Reader
	Err    error // of Reader; nil while it goes on, and at its end
}

// Read implements io.Reader.
func (s *Source) Read(p []byte) (int, error) {
	if s.Err != nil {
		return 0, errSource
	}
	n, err := s.Reader.Read(p)
	if err != nil && err != io.EOF {
		s.Err, err = err, errSource
	}
	return n, err
}

var errSource = fault.New(fault.Internal, "content.Put", "what is put cannot be read")
