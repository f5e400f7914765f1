package dialect

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"

	"weir/internal/batch"
	"weir/internal/catalog"
	"weir/internal/fault"
	"weir/internal/rawjson"
)

// Batcher is a Dialect whose provider takes many requests at a time as a batch, and answers them later. Its methods are those of batch.Native,
// over an Ask that sends requests.
type Batcher interface {
	// SubmitBatch sends the requests of s, and makes at most one batch.
	SubmitBatch(ask Ask, ep *catalog.Endpoint, s *batch.Submission) (id string, err error)
	// FindBatch looks for the batch of a submission whose answer was lost.
	FindBatch(ask Ask, ep *catalog.Endpoint, p *batch.Part) (batch.Found, error)
	// LookBatch asks how far the batch p.Upstream is.
	LookBatch(ask Ask, ep *catalog.Endpoint, p *batch.Part) (batch.Progress, error)
	// BatchResults reads the answers of a batch that has ended, in any order. It stops at the first error of each.
	BatchResults(ask Ask, ep *catalog.Endpoint, p *batch.Part, each func(*batch.Result) error) error
	// MostBatched is how many requests a batch may have, 0 any number.
	MostBatched() int
	// CancelBatch asks the provider to stop. Of one that has ended nothing changes.
	CancelBatch(ask Ask, ep *catalog.Endpoint, p *batch.Part) error
	// ClearBatch deletes what the provider keeps of a batch that has ended, and fails like StillWorking when it has not. Without p.Upstream
	// there was no batch, and at most what it was to be made of.
	ClearBatch(ask Ask, ep *catalog.Endpoint, p *batch.Part) error
}

// listPages bounds the pages of a list that are asked for, of a hundred batches or files.
const listPages = 20

// BatchPages asks for the pages of a list, the newest first. path is the address of a page after a mark, "" the first. page reads one, and
// returns the mark for the next if it needs more. whole is false when the list goes on after what was read.
func BatchPages(ask Ask, path func(after string) string, page func(body []byte) (after string, more bool, err error)) (whole bool, err error) {
	after := ""
	for range listPages {
		body, err := Object(ask, Call{Method: http.MethodGet, Path: path(after)})
		if err != nil {
			return false, err
		}
		next, more, err := page(body)
		if err != nil || !more || next == "" {
			return !more, err
		}
		after = next
	}
	return false, nil
}

// StillWorking is the error of clearing a batch that has not ended.
func StillWorking(ep *catalog.Endpoint) error {
	return Unavailable(ep, "The provider still works on the batch.", batch.ErrWorking)
}

// Gone reports whether an error says that what was asked for does not exist at the provider.
func Gone(err error) bool {
	f := fault.From(err)
	return f != nil && f.Upstream != nil && (f.Upstream.Status == http.StatusNotFound || f.Upstream.Status == http.StatusGone)
}

// Delete has the provider delete something. That it is not there is no failure.
func Delete(ask Ask, path string) error {
	if _, err := Whole(ask, Call{Method: http.MethodDelete, Path: path}); err != nil && !Gone(err) {
		return err
	}
	return nil
}

// BatchName names the request of a line at the provider. It begins with the name of the part, so that answers to others are recognized.
func BatchName(p *batch.Part, line int64) string { return p.ID + "-" + strconv.FormatInt(line, 10) }

// BatchLine is the line that a name in a provider's answer means, 0 none of the part.
func BatchLine(p *batch.Part, name string) int64 {
	name, ours := strings.CutPrefix(name, p.ID+"-")
	if !ours {
		return 0
	}
	n, err := strconv.ParseInt(name, 10, 64)
	if err != nil || n < 1 || strconv.FormatInt(n, 10) != name {
		return 0
	}
	return n
}

// MaxBatchLine bounds one line of a file of results.
const MaxBatchLine = 16 << 20

// BatchLines reads an answer as lines of JSON objects. Lines that are no objects, or too long, are left out: their requests have no answer.
func BatchLines(ask Ask, call Call, each func(line []byte) error) error {
	answer, err := ask.Do(call)
	if err != nil {
		return err
	}
	defer answer.Close()
	r := bufio.NewReaderSize(answer.Body, 64<<10)
	for text, long := []byte(nil), false; ; {
		piece, err := r.ReadSlice('\n')
		if long = long || len(text)+len(piece) > MaxBatchLine; !long {
			text = append(text, piece...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && err != io.EOF:
			return err
		}
		if line := bytes.TrimSpace(text); !long && rawjson.Valid(line) && rawjson.KindOf(line) == rawjson.Object {
			if err := each(line); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		text, long = text[:0], false
	}
}

// Names of providers' ids are bounded, and visible.
const maxBatchID = 512

// BatchID checks the id that a provider gives a batch. It fails like an answer that says neither yes nor no.
func BatchID(ep *catalog.Endpoint, id string) (string, error) {
	if len(id) == 0 || len(id) > maxBatchID || bytes.ContainsFunc([]byte(id), func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '"' || r == '?' || r == '#' || r == '%' }) {
		return "", Unavailable(ep, "The provider accepted the batch without an id.", nil)
	}
	return id, nil
}
