// Package blob defines the store for files that are too large for a database, such as videos. It stores nothing itself: packages folder and
// s3 implement it. It does not know the owner of a file.
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
	MediaType string // "" if Put got none
	ETag      string // without quotes; different content under one key has different tags
}

// Store stores files under keys; see CheckKey. It is safe for concurrent use, also by several nodes if they share the folder or bucket. Its
// errors are fault.NotFound for a missing file, fault.Invalid for an offset after the end, and fault.StorageUnavailable.
type Store interface {
	// Put stores the content of r as a stream, without buffering the whole file. It stores the whole file or nothing: after an error of r,
	// which it returns unchanged, the previous file remains. Repeating a Put is safe.
	Put(ctx context.Context, key, mediaType string, r io.Reader) (size int64, etag string, err error)
	// Open reads length bytes from offset, or up to the end if that comes first or length is negative. With a length of 0 it returns only the
	// Info. If the file is replaced or deleted meanwhile, the reader returns the old content or fails.
	Open(ctx context.Context, key string, offset, length int64) (io.ReadCloser, Info, error)
	// Delete deletes a file. A missing file is not an error.
	Delete(ctx context.Context, key string) error
	// Sweep deletes at most n files that were put before a time, and returns their number. It removes files whose records are lost.
	Sweep(ctx context.Context, before time.Time, n int) (int, error)
	// Ready fails if the store cannot accept files at the moment.
	Ready(ctx context.Context) error
}

const (
	maxKeyBytes  = 200
	maxTypeBytes = 100
)

// CheckKey refuses a key unless it has one to four parts, separated by slashes, of letters, digits, '-', '_' and '.', each beginning with a
// letter or digit. Such a key is valid in every store.
func CheckKey(key string) error {
	parts := strings.Split(key, "/")
	ok := len(key) <= maxKeyBytes && len(parts) <= 4
	for _, p := range parts {
		ok = ok && isPart(p)
	}
	if !ok {
		return fault.Wrap("blob.CheckKey", fmt.Errorf("%.80q is no key of a file", key))
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

// MediaType returns the media type to store: "" if it is too long, or contains a character that a header must not.
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

// Unavailable returns the error for a failure of the store.
func Unavailable(op string, cause error) error {
	e := fault.New(fault.StorageUnavailable, op, "The files cannot be reached at the moment.").Because(cause)
	e.RetryAfter = time.Second
	return e
}

// NotFound returns the error for a missing file.
func NotFound(op string) error { return fault.New(fault.NotFound, op, "There is no such file.") }

// PastEnd returns the error for an offset after the end of a file.
func PastEnd(op string) error {
	return fault.New(fault.Invalid, op, "The file ends before this offset.")
}

// Source reads the content of a Put, and remembers the error of the reader, because a store may mistake it for the end of the file.
type Source struct {
	Reader io.Reader
	Err    error // error of Reader; nil before one, and at the end
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

var errSource = fault.New(fault.Internal, "blob.Put", "what is put cannot be read")
