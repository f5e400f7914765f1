package httpapi_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// While clients connect as fast as they can, the end of a node loses none of their requests: each gets its answer, or is refused a connection.
func TestDrainLosesNoConnection(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), nil)
	var answered atomic.Int64
	var clients sync.WaitGroup
	for range 32 {
		clients.Go(func() {
			for one := true; one; answered.Add(1) {
				one = askOnce(t, n)
			}
		})
	}
	for answered.Load() < 200 {
		<-time.After(time.Millisecond)
	}
	if err := n.server.Drain(context.Background(), 0, time.Minute); err != nil {
		t.Error(err)
	}
	clients.Wait()
}

// askOnce asks over a connection of its own, and reports whether there was one.
func askOnce(t *testing.T, n *node) bool {
	c, err := net.Dial("tcp", n.addr)
	if err != nil {
		if !errors.Is(err, syscall.ECONNREFUSED) {
			t.Error(err)
		}
		return false
	}
	defer c.Close()
	body := chatBody(false)
	r, err := http.NewRequest(http.MethodPost, n.url+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return false
	}
	r.Header.Set("Authorization", "Bearer "+n.first.KeyText)
	r.Header.Set("Content-Type", "application/json")
	if err = r.Write(c); err != nil {
		t.Errorf("a request could not be sent: %v", err)
		return false
	}
	res, err := http.ReadResponse(bufio.NewReader(c), r)
	if err != nil {
		t.Errorf("a request got no answer: %v", err)
		return false
	}
	defer res.Body.Close()
	if text, err := io.ReadAll(res.Body); err != nil || res.StatusCode != http.StatusOK {
		t.Errorf("status %d, %v: %s", res.StatusCode, err, text)
	}
	return true
}
