//go:build unix

package h1server

import (
	"errors"
	"io"
	"net"
	"syscall"
)

// Supported reports whether this system's sockets can be watched without reading from them.
const Supported = true

// readiness waits for a socket. Its functions are made once, because a closure for each wait would be an allocation.
type readiness struct {
	raw        syscall.RawConn
	take, look func(fd uintptr) bool

	got *buffer // of take
	n   int
	err error

	one  [1]byte // of look
	gone bool
}

// readinessOf is nil for connections that are not sockets of the operating system.
func readinessOf(c net.Conn) *readiness {
	sc, ok := c.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return nil
	}
	r := &readiness{raw: raw}
	r.take, r.look = r.receive, r.peek
	return r
}

// read waits for bytes and returns them in a buffer, which is taken only when they have arrived.
func (r *readiness) read() (*buffer, int, error) {
	r.got, r.n, r.err = nil, 0, nil
	err := r.raw.Read(r.take)
	switch {
	case err != nil:
	case r.err != nil:
		err = r.err
	case r.n == 0:
		err = io.EOF
	default:
		b := r.got
		r.got = nil
		return b, r.n, nil
	}
	if r.got != nil {
		giveBuffer(r.got)
		r.got = nil
	}
	return nil, 0, err
}

func (r *readiness) receive(fd uintptr) bool {
	b := takeBuffer()
	for {
		n, err := syscall.Read(int(fd), b[:])
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EAGAIN):
			giveBuffer(b)
			return false
		}
		r.got, r.n, r.err = b, n, err
		return true
	}
}

// ended waits until the other side closes the connection, and reports whether it did. It returns early when bytes arrive, and at the
// deadline of reads.
func (r *readiness) ended() bool {
	r.gone = false
	return r.raw.Read(r.look) == nil && r.gone
}

// state reports whether bytes have arrived, or the other side has closed the connection.
func (r *readiness) state() (arrived, gone bool) {
	r.gone = false
	err := r.raw.Control(func(fd uintptr) { arrived = r.peek(fd) })
	return err == nil && arrived && !r.gone, err == nil && r.gone
}

func (r *readiness) peek(fd uintptr) bool {
	for {
		n, _, err := syscall.Recvfrom(int(fd), r.one[:], syscall.MSG_PEEK)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EAGAIN):
			return false
		}
		r.gone = err != nil || n == 0
		return true
	}
}
