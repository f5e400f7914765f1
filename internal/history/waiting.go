package history

import (
	"context"
	"encoding/binary"
	"hash/crc32"
	"sync"
	"time"

	"weir/internal/fault"
	"weir/internal/loop"
)

// Responses wait for the store together, for the time that charges wait: one transaction for hundreds of them costs little more than one
// for a single response. What waits is in a file as well, so that a process that dies loses none; a power cut may take the newest.
const (
	writeEvery = 200 * time.Millisecond // as ledger.apply_every is by default
	writeAgain = time.Second            // when the store has failed
	mostWait   = 32 << 20               // bytes of what waits; beyond that a request waits for the store
	atOnce     = 4 << 20                // bytes of one transaction
)

// waiting are the responses that the store does not have yet: those that a transaction is about to take, and those that came after them.
// Each half has a file, which is emptied when the store has the half.
type waiting struct {
	turn   chan struct{} // taken by the one who writes to the store
	report func(what string, err error)

	mu      sync.Mutex
	writing half // in the store soon
	next    half
	of      map[string]int // responses by account
	bytes   int
}

type half struct {
	list []*Response
	file File // nil: what waits is in memory alone
	torn bool // a frame could not be written: what follows it in the file would not be found
}

// File keeps what waits for the store while a process dies.
type File interface {
	// Read returns what a former process has left.
	Read() ([]byte, error)
	// Write appends a frame.
	Write(frame []byte) (int, error)
	// Empty removes everything from the disk.
	Empty() error
}

func newWaiting(files [2]File, report func(string, error)) *waiting {
	w := &waiting{turn: make(chan struct{}, 1), of: map[string]int{}, report: report}
	w.writing.file, w.next.file = files[0], files[1]
	return w
}

// recover has wait what a former process has left in the files.
func (w *waiting) recover() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, h := range []*half{&w.writing, &w.next} {
		if h.file == nil {
			continue
		}
		b, err := h.file.Read()
		if err != nil {
			return err
		}
		for {
			r, rest := readFrame(b)
			if r == nil {
				break // the end, or a frame that was not written whole
			}
			w.append(h, r)
			b = rest
		}
	}
	return nil
}

func (w *waiting) append(to *half, r *Response) {
	to.list = append(to.list, r)
	w.of[r.Account]++
	w.bytes += r.Size()
}

// add has a copy of r wait, and reports whether it is the first, and whether too much waits.
func (w *waiting) add(r *Response) (first, full bool) {
	frame, copied := newFrame(r)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.next.file != nil && !w.next.torn {
		if _, err := w.next.file.Write(frame); err != nil {
			w.next.torn = true
			w.report("responses wait for the store in memory alone", err)
		}
	}
	first = len(w.next.list) == 0
	w.append(&w.next, copied)
	return first, w.bytes > mostWait
}

// has reports whether something of an account waits.
func (w *waiting) has(account string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.of[account] > 0
}

func (w *waiting) empty() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.of) == 0
}

// write gives all that waits now to the store, or fails and leaves what the store did not take.
func (w *waiting) write(ctx context.Context, keep func([]*Response) error) error {
	select {
	case w.turn <- struct{}{}:
	case <-ctx.Done():
		return fault.New(fault.StorageUnavailable, "history.write", "").Because(ctx.Err())
	}
	defer func() { <-w.turn }()
	for range 2 { // what a former turn has left, and what came since
		if err := w.writeHalf(keep); err != nil {
			return err
		}
	}
	return nil
}

func (w *waiting) writeHalf(keep func([]*Response) error) error {
	w.mu.Lock()
	if len(w.writing.list) == 0 {
		w.writing, w.next = w.next, w.writing
	}
	list := w.writing.list
	w.mu.Unlock()
	for len(list) > 0 {
		n, size := 0, 0
		for ; n < len(list) && (n == 0 || size < atOnce); n++ {
			size += list[n].Size()
		}
		if err := keep(list[:n]); err != nil {
			return err
		}
		w.done(list[:n], size)
		list = list[n:]
	}
	return nil
}

// done forgets responses that the store has, the first of those that are written.
func (w *waiting) done(list []*Response, size int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range list {
		if w.of[r.Account]--; w.of[r.Account] == 0 {
			delete(w.of, r.Account)
		}
	}
	w.bytes -= size
	if w.writing.list = w.writing.list[len(list):]; len(w.writing.list) > 0 {
		return
	}
	w.writing.list, w.writing.torn = nil, false
	if w.writing.file != nil {
		if err := w.writing.file.Empty(); err != nil {
			w.report("stored responses could not be removed from the file of those that wait", err)
		}
	}
}

// A frame is a response in a file: the length of what follows, a checksum over the rest, and the fields one after another, each text with its
// length before it. Times are in microseconds, as in the store.
const frameHead = 8

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// newFrame encodes r, and returns a copy of it whose content is that of the frame.
func newFrame(r *Response) (frame []byte, copied *Response) {
	b := make([]byte, frameHead, frameHead+r.Size()+256)
	for _, text := range []string{r.Account, r.ID, r.Parent, string(r.Status)} {
		b = append(binary.AppendUvarint(b, uint64(len(text))), text...)
	}
	b = append(b, 0)
	if r.Background {
		b[len(b)-1] = 1
	}
	for _, at := range []time.Time{r.CreatedAt, r.ExpiresAt, r.StaleAt} {
		b = binary.AppendVarint(b, at.UnixMicro())
	}
	b = binary.AppendUvarint(b, uint64(len(r.Items)))
	for _, item := range r.Items {
		b = append(binary.AppendUvarint(b, uint64(len(item))), item...)
	}
	for _, content := range [][]byte{r.Object, r.Input, r.Output} {
		b = append(binary.AppendUvarint(b, uint64(len(content))), content...)
	}
	b = append(binary.AppendUvarint(b, uint64(len(r.Key))), r.Key...)
	binary.LittleEndian.PutUint32(b, uint32(len(b)-frameHead))
	binary.LittleEndian.PutUint32(b[4:], crc32.Checksum(b[frameHead:], castagnoli))
	copied, _ = readFrame(b)
	return b, copied
}

// readFrame reads the response that b begins with, whose content is that of b; nil when there is none that is whole.
func readFrame(b []byte) (r *Response, rest []byte) {
	if len(b) < frameHead {
		return nil, nil
	}
	size := uint64(binary.LittleEndian.Uint32(b))
	sum, b := binary.LittleEndian.Uint32(b[4:]), b[frameHead:]
	if size > uint64(len(b)) || crc32.Checksum(b[:size], castagnoli) != sum {
		return nil, nil
	}
	f := fields{b: b[:size]}
	r = &Response{Account: string(f.text()), ID: string(f.text()), Parent: string(f.text()), Status: Status(f.text()), Background: f.truth()}
	r.CreatedAt, r.ExpiresAt, r.StaleAt = f.time(), f.time(), f.time()
	n := f.count()
	for range min(n, uint64(len(f.b))) { // each has a byte at least
		r.Items = append(r.Items, string(f.text()))
	}
	r.Object, r.Input, r.Output = f.text(), f.text(), f.text()
	if len(f.b) > 0 { // frames of earlier versions end before it
		r.Key = string(f.text())
	}
	if f.bad || len(f.b) > 0 {
		return nil, nil
	}
	return r, b[size:]
}

// fields reads the fields of a frame.
type fields struct {
	b   []byte
	bad bool // something was missing
}

func (f *fields) took(n int) {
	if n <= 0 {
		f.b, f.bad = nil, true
		return
	}
	f.b = f.b[n:]
}

func (f *fields) count() uint64 {
	v, n := binary.Uvarint(f.b)
	f.took(n)
	return v
}

func (f *fields) time() time.Time {
	v, n := binary.Varint(f.b)
	f.took(n)
	return time.UnixMicro(v).UTC()
}

func (f *fields) truth() bool {
	set := len(f.b) > 0 && f.b[0] == 1
	f.took(min(len(f.b), 1))
	return set
}

func (f *fields) text() []byte {
	n := f.count()
	if n > uint64(len(f.b)) {
		f.b, f.bad = nil, true
		return nil
	}
	text := f.b[:n:n]
	f.b = f.b[n:]
	return text
}

// writeRound writes a moment after it was woken, so that much comes together.
func (m *Manager) writeRound(ctx context.Context) time.Duration {
	if loop.Wait(ctx, writeEvery) != nil {
		return loop.UntilWoken
	}
	if err := m.write(ctx); err != nil {
		if ctx.Err() == nil {
			m.cfg.Report("responses could not be kept; it is tried again", err)
		}
		return writeAgain
	}
	return loop.UntilWoken
}

// write gives all that waits to the store. It works for many users, so it takes no turn of one; ctx bounds the wait for another writer.
func (m *Manager) write(ctx context.Context) error {
	return m.waiting.write(ctx, func(list []*Response) error {
		ctx, cancel := context.WithTimeout(context.Background(), m.cfg.StoreFor)
		defer cancel()
		if err := m.keepAll(ctx, list); err != nil {
			return err
		}
		for _, r := range list { // now, because a sweep that came earlier would not have seen them
			m.grew(r.Account, int64(r.Size()))
		}
		return nil
	})
}

// keepAll stores responses together. Where the store can never take one of them, it gets them one by one, and that one is left out.
func (m *Manager) keepAll(ctx context.Context, list []*Response) error {
	err := m.store.KeepResponses(ctx, list)
	if !fault.Is(err, fault.Unprocessable) {
		return err
	}
	for _, r := range list {
		switch err := m.store.KeepResponses(ctx, []*Response{r}); {
		case fault.Is(err, fault.Unprocessable):
			m.cfg.Report("a response could not be kept", err)
		case err != nil:
			return err
		}
	}
	return nil
}

// settle has all of an account stored that this node keeps for it, so that what is asked of the store is true.
func (m *Manager) settle(ctx context.Context, account string) error {
	if !m.waiting.has(account) {
		return nil
	}
	return m.write(ctx)
}

// sought asks the store for what another node may be about to store: where there is none, once more after the time that it may take.
func (m *Manager) sought(ctx context.Context, account string, ask func() (found bool, err error)) error {
	if err := m.settle(ctx, account); err != nil {
		return err
	}
	found, err := ask()
	if found || !m.cfg.Shared || err != nil && !fault.Is(err, fault.NotFound) {
		return err
	}
	if err := loop.Wait(ctx, 2*writeEvery); err != nil {
		return fault.New(fault.StorageUnavailable, "history.sought", "").Because(err)
	}
	_, err = ask()
	return err
}
