package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"weir/internal/completion"
	"weir/internal/httpapi"
	"weir/internal/httpserver"
	"weir/internal/relay"
	"weir/internal/usage"
)

// mostIdle is what 1,000 sockets that wait may have in memory, bytes, with the clients of this test.
const mostIdle = 30 << 20

// Sockets that wait are cheap. It does not run beside others, because it measures the process; the clients are bare connections.
func TestIdleSockets(t *testing.T) {
	const sockets = 1000
	n := start(t, relayFunc(hello), func(c *httpapi.Config) { c.KeyRates.Requests = 0 })
	inUse := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC() // what pools keep goes with the second
		runtime.ReadMemStats(&m)
		return m.HeapInuse + m.StackInuse
	}
	list := make([]net.Conn, 0, sockets)
	open := func() {
		c, err := net.Dial("tcp", n.addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		_ = c.SetDeadline(time.Now().Add(2 * time.Minute))
		_, _ = fmt.Fprintf(c, "GET /v1/responses HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n%s\r\n", n.first.KeyText, handshake)
		readTo(t, c, "\r\n\r\n")
		list = append(list, c)
	}
	open() // what is made once is there
	before := inUse()
	for len(list) < sockets {
		open()
	}
	awaitMetric(t, n, fmt.Sprintf("weir_websockets %d", sockets))
	idle := inUse()
	message := create("")
	frame := append([]byte{0x81, 0x80 | byte(len(message)), 0, 0, 0, 0}, message...)
	for _, c := range list {
		if _, err := c.Write(frame); err != nil {
			t.Fatal(err)
		}
		readTo(t, c, `"type":"response.completed"`)
	}
	awaitMetric(t, n, "weir_calls_in_flight 0")
	used := inUse()
	t.Logf("%d sockets: %.1f MB when opened, %.1f MB after a response on each", sockets, float64(idle-before)/(1<<20), float64(used-before)/(1<<20))
	if idle-before > mostIdle || used-before > mostIdle {
		t.Errorf("%d and %d bytes, at most %d", idle-before, used-before, mostIdle)
	}
}

// readTo reads to a text.
func readTo(t testing.TB, c net.Conn, text string) {
	t.Helper()
	b, got := make([]byte, 4<<10), ""
	for !strings.Contains(got, text) {
		n, err := c.Read(b)
		if err != nil {
			t.Fatalf("%q: %v", got, err)
		}
		got = got[max(0, len(got)-len(text)):] + string(b[:n])
	}
}

// far is a network between a client and a node: bytes take half a round trip each way, at the rate of a line, and a connection sends a window of
// bytes in each trip, which begins small, doubles, and begins anew after a pause, as TCP's does.
type far struct {
	node string
	trip time.Duration
	rate time.Duration // for a kilobyte
}

const (
	firstWindow = 10 * 1460
	pause       = 300 * time.Millisecond
)

func (f *far) serve(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			<-time.After(f.trip) // the handshake of TCP
			up, err := net.Dial("tcp", f.node)
			if err != nil {
				_ = c.Close()
				return
			}
			go f.carry(up, c)
			f.carry(c, up)
		}()
	}
}

// carry takes bytes from one side to the other.
func (f *far) carry(to, from net.Conn) {
	defer func() { _, _ = to.Close(), from.Close() }()
	type piece struct {
		b  []byte
		at time.Time
	}
	way := make(chan piece, 1<<12)
	go func() {
		defer close(way)
		window, sent, turn, last := firstWindow, 0, time.Now(), time.Now()
		for {
			b := make([]byte, 4<<10)
			n, err := from.Read(b)
			if err != nil {
				return
			}
			now := time.Now()
			if now.Sub(last) > pause {
				window, sent, turn = firstWindow, 0, now
			}
			if sent+n > window { // the rest waits for the acknowledgement
				if wait := f.trip - now.Sub(turn); wait > 0 {
					<-time.After(wait)
				}
				window, sent, turn = 2*window, 0, time.Now()
			}
			sent += n
			<-time.After(f.rate * time.Duration(n) / 1024)
			last = time.Now()
			way <- piece{b[:n], last.Add(f.trip / 2)}
		}
	}()
	for p := range way {
		<-time.After(time.Until(p.at))
		if _, err := to.Write(p.b); err != nil {
			return
		}
	}
}

// BenchmarkToolCalls is a run of 20 tool calls of a coding agent, with 50 ms of network at 20 Mbit/s: over HTTP on one connection, where each request
// has the whole conversation, as of clients that store nothing, and through a WebSocket, where each has what is new. Instructions and tools have
// 16 KB, each result has 16 KB, and the model takes 300 ms.
func BenchmarkToolCalls(b *testing.B) {
	for _, thinking := range []time.Duration{0, 300 * time.Millisecond} {
		n := start(b, relayFunc(func(_ context.Context, c *relay.Call, sink relay.Sink) error {
			<-time.After(thinking)
			if err := sink.Start(served(c)); err != nil {
				return err
			}
			if err := sink.Event(&completion.Event{Text: []byte("I look at the next file."), Finish: completion.Stop}); err != nil {
				return err
			}
			return sink.End(relay.Receipt{Usage: usage.Usage{Prompt: usage.Of(3), Completion: usage.Of(4)}})
		}), nil)
		l, err := httpserver.Listen("127.0.0.1:0")
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = l.Close() })
		network := &far{node: n.addr, trip: 50 * time.Millisecond, rate: 400 * time.Microsecond}
		go network.serve(l)
		at := "http://" + l.Addr().String() + "/v1/responses"
		instructions, result := strings.Repeat("Do this. ", 16<<10/9), strings.Repeat("line of a file\n", 16<<10/15)
		item := map[string]any{"type": "message", "role": "user", "content": result}
		name := fmt.Sprintf("model %v", thinking)
		b.Run(name+"/http", func(b *testing.B) {
			for b.Loop() {
				client := &http.Client{Transport: &http.Transport{}}
				input := []any{}
				for range 20 {
					input = append(input, item)
					body, _ := json.Marshal(map[string]any{"model": "acme/small", "store": false, "stream": true, "instructions": instructions, "input": input})
					req, _ := http.NewRequest("POST", at, bytes.NewReader(body))
					req.Header = http.Header{"Authorization": {"Bearer " + n.first.KeyText}, "Content-Type": {"application/json"}}
					resp, err := client.Do(req)
					if err != nil {
						b.Fatal(err)
					}
					if answer, _ := io.ReadAll(resp.Body); !bytes.Contains(answer, []byte("event: response.completed")) {
						b.Fatalf("%s", answer)
					}
					_ = resp.Body.Close()
				}
				client.CloseIdleConnections()
			}
		})
		b.Run(name+"/socket", func(b *testing.B) {
			for b.Loop() {
				c, _, err := websocket.Dial(b.Context(), at, &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + n.first.KeyText}}})
				if err != nil {
					b.Fatal(err)
				}
				c.SetReadLimit(64 << 20)
				k := &talk{b, c}
				previous := any(nil)
				for i := range 20 {
					body := map[string]any{"type": "response.create", "model": "acme/small", "store": false, "instructions": instructions, "input": []any{item}, "previous_response_id": previous}
					message, _ := json.Marshal(body)
					last := k.ask(string(message))
					if previous = responseID(last); previous == "" {
						b.Fatalf("%d: %v", i, last)
					}
				}
				_ = c.CloseNow()
			}
		})
	}
}

func responseID(m map[string]any) string {
	id, _ := at(m, "response", "id").(string)
	return id
}
