//go:build unix

package h1

import (
	"errors"
	"io"
	"net"
	"syscall"
)

// socket checks a connection without waiting. Its function is made once, because a closure per check would be an allocation.
type socket struct {
	raw  syscall.RawConn
	look func(fd uintptr) bool
	into []byte
	peek bool
	n    int
	err  error
}

// socketOf is nil for connections that are not sockets of the operating system.
func socketOf(c net.Conn) *socket {
	sc, ok := c.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return nil
	}
	s := &socket{raw: raw}
	s.look = s.receive
	return s
}

func (s *socket) receive(fd uintptr) bool {
	flags := 0
	if s.peek {
		flags = syscall.MSG_PEEK
	}
	s.n, _, s.err = syscall.Recvfrom(int(fd), s.into, flags)
	return true // whatever the result: never wait
}

// read reads data that has arrived, or with peek only looks at it. It returns errNothing without any, and io.EOF when the other
// side has closed.
func (s *socket) read(p []byte, peek bool) (int, error) {
	s.into, s.peek = p, peek
	err := s.raw.Read(s.look)
	s.into = nil
	switch {
	case err != nil:
		return 0, err
	case errors.Is(s.err, syscall.EAGAIN), errors.Is(s.err, syscall.EINTR):
		return 0, errNothing
	case s.err != nil:
		return 0, s.err
	case s.n == 0:
		return 0, io.EOF
	}
	return s.n, nil
}
