package httpserver

import (
	"sync"

	"weir/internal/limit"
)

// Lent are the buffers of a request for answers that are passed on as bytes, charged for. It implements completion.Buffers.
type Lent struct {
	memory *limit.Tab

	mu  sync.Mutex
	all []*buffer
}

// Charge has what is lent charged to memory.
func (l *Lent) Charge(memory *limit.Tab) { l.memory = memory }

// Lend takes a buffer until the request ends. What a provider sends is paid for: it counts, and is not refused.
func (l *Lent) Lend(n int) []byte {
	b := takeBuffer(n)
	l.memory.Force(int64(cap(b.b)))
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, b)
	return b.b
}

// Return ends a loan early.
func (l *Lent) Return(b []byte) {
	if cap(b) == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, one := range l.all {
		if &one.b[:1][0] == &b[:1][0] {
			l.all[i] = l.all[len(l.all)-1]
			l.all = l.all[:len(l.all)-1]
			l.memory.Give(int64(cap(one.b)))
			one.release()
			return
		}
	}
}

// Forget leaves all buffers to the collector: the HTTP/2 server may be reading one when it reports that its client is gone.
func (l *Lent) Forget() {
	for _, b := range l.all {
		b.discard()
	}
	l.all = nil
}

// Release ends all loans. The charge ends with the tab.
func (l *Lent) Release() {
	for _, b := range l.all {
		b.release()
	}
	l.all = nil
}
