package h1server

import (
	"errors"
	"os"
	"sync"
	"syscall"
)

// clients watches the clients of all requests that take long, with one goroutine: one for each would need its own stack for as long as a
// stream lasts. The zero value watches no client.
type clients struct {
	mu    sync.Mutex
	poll  *os.File // epoll, which the runtime waits for as it does for a socket; nil: not open
	fd    int      // of poll
	known map[int32]underway
}

// open begins to watch. Without success begin reports false for every client.
func (w *clients) open() {
	fd, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return
	}
	if err := syscall.SetNonblock(fd, true); err != nil {
		_ = syscall.Close(fd)
		return
	}
	poll := os.NewFile(uintptr(fd), "epoll")
	raw, err := poll.SyscallConn()
	if err != nil {
		_ = poll.Close()
		return
	}
	w.mu.Lock()
	w.poll, w.fd, w.known = poll, fd, make(map[int32]underway)
	w.mu.Unlock()
	go w.run(raw)
}

// close ends the watch. Clients that are being watched then are not any more.
func (w *clients) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.poll != nil {
		_ = w.poll.Close()
		w.poll, w.known = nil, nil
	}
}

// begin watches the client of a request until end, or until it has sent more or gone. It reports whether it does.
func (w *clients) begin(c *conn, turn int32) (watched bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.poll == nil {
		return false
	}
	err := c.wait.raw.Control(func(fd uintptr) {
		watched = syscall.EpollCtl(w.fd, syscall.EPOLL_CTL_ADD, int(fd), once(fd)) == nil
		if watched {
			c.number = int32(fd)
			w.known[c.number] = underway{c, turn}
		}
	})
	return err == nil && watched
}

func once(fd uintptr) *syscall.EpollEvent {
	return &syscall.EpollEvent{Events: syscall.EPOLLIN | syscall.EPOLLRDHUP | syscall.EPOLLONESHOT, Fd: int32(fd)}
}

// end forgets the client. A closed socket has left the epoll by itself.
func (w *clients) end(c *conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.known[c.number].c != c {
		return // the watch has ended, or its number is another connection's by now
	}
	delete(w.known, c.number)
	_ = c.wait.raw.Control(func(fd uintptr) { _ = syscall.EpollCtl(w.fd, syscall.EPOLL_CTL_DEL, int(fd), nil) })
}

// run waits for what happens to clients until the watch is closed.
func (w *clients) run(raw syscall.RawConn) {
	var events [64]syscall.EpollEvent
	for {
		n := 0
		err := raw.Read(func(fd uintptr) bool {
			var err error
			n, err = syscall.EpollWait(int(fd), events[:], 0)
			return n > 0 || err != nil && !errors.Is(err, syscall.EINTR)
		})
		if err != nil {
			return
		}
		for i := range max(n, 0) {
			w.mu.Lock()
			u := w.known[events[i].Fd]
			w.mu.Unlock()
			if u.c != nil {
				u.c.noticed(u.turn)
			}
		}
	}
}

// again watches on, after an event that was another connection's.
func (w *clients) again(c *conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.poll == nil || w.known[c.number].c != c {
		return
	}
	_ = c.wait.raw.Control(func(fd uintptr) { _ = syscall.EpollCtl(w.fd, syscall.EPOLL_CTL_MOD, int(fd), once(fd)) })
}
