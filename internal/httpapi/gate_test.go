package httpapi_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"weir/internal/httpapi"
	"weir/internal/httpapi/h1server"
)

// gateOf returns a gate that does nothing by itself.
func gateOf(t *testing.T, edit func(*httpapi.Config)) (*httpapi.Gate, *node) {
	n := start(t, relayFunc(hello), func(c *httpapi.Config) {
		c.MaxWait = httpapi.Default().MaxWait
		if edit != nil {
			edit(c)
		}
	})
	return httpapi.NewGate(n.api), n
}

// Users get in by turns, however many requests one has, and of each user the newest request gets in first.
func TestGateIsFair(t *testing.T) {
	t.Parallel()
	g, _ := gateOf(t, nil)
	synctest.Test(t, func(t *testing.T) {
		g.Crowd()
		in := make(chan string, 20)
		for i := range 10 {
			for _, user := range []string{"greedy", "modest"} {
				if user == "modest" && i > 1 {
					continue
				}
				go func() {
					if g.Wait(user) {
						in <- fmt.Sprint(user, i)
					}
				}()
				synctest.Wait()
			}
		}
		var order []string
		for range 12 {
			g.LetIn()
			order = append(order, <-in)
		}
		if want := []string{"greedy9", "modest1", "greedy8", "modest0", "greedy7", "greedy6"}; !slices.Equal(order[:6], want) {
			t.Errorf("let in were %v", order)
		}
		if g.Waiting() != 0 {
			t.Errorf("%d wait", g.Waiting())
		}
	})
}

// What waits too long is refused, the oldest first; the rest stays.
func TestGateRefusesTheOldest(t *testing.T) {
	t.Parallel()
	g, _ := gateOf(t, func(c *httpapi.Config) { c.MaxWait = 100 * time.Millisecond })
	synctest.Test(t, func(t *testing.T) {
		g.Crowd()
		answers := make(chan string, 4)
		ask := func(name string) {
			go func() { answers <- fmt.Sprint(name, " ", g.Wait(name)) }()
			synctest.Wait()
		}
		ask("a")
		ask("b")
		<-time.After(80 * time.Millisecond)
		ask("a")
		<-time.After(40 * time.Millisecond)
		g.Expire(time.Now())
		got := []string{<-answers, <-answers}
		slices.Sort(got)
		if !slices.Equal(got, []string{"a false", "b false"}) || g.Waiting() != 1 {
			t.Errorf("%v, %d wait", got, g.Waiting())
		}
		g.LetIn()
		if got := <-answers; got != "a true" {
			t.Error(got)
		}
	})
}

// In a sustained overload, requests of a user beyond its share of a short line are refused at once. It ends when no request waits.
func TestGateRefusesASustainedOverload(t *testing.T) {
	t.Parallel()
	g, _ := gateOf(t, func(c *httpapi.Config) { c.MaxWait = 100 * time.Millisecond })
	synctest.Test(t, func(t *testing.T) {
		g.Crowd()
		g.Costs(2 * time.Millisecond * time.Duration(runtime.GOMAXPROCS(0))) // so five requests are served in a tenth of the longest wait
		answers := make(chan string, 100)
		ask := func(name string, n int) (refused int) {
			before := g.Waiting()
			for range n {
				go func() { answers <- fmt.Sprint(name, " ", g.Wait(name)) }()
				synctest.Wait()
			}
			return n - int(g.Waiting()-before)
		}
		if n := ask("many", 30); n != 0 {
			t.Fatalf("%d of a burst are refused", n)
		}
		<-time.After(60 * time.Millisecond)
		ask("many", 3)
		<-time.After(60 * time.Millisecond)
		g.Expire(time.Now()) // the thirty
		if n := ask("many", 10); n != 8 || g.Waiting() != 5 {
			t.Errorf("%d of ten are refused, %d wait", n, g.Waiting())
		}
		if n := ask("one", 1); n != 0 {
			t.Error("another user's request is refused")
		}
		if n := ask("one", 10); n != 8 {
			t.Errorf("%d of ten of the other are refused: two users have half of the line each", n)
		}
		for g.Waiting() > 0 {
			g.LetIn()
		}
		g.Delayed(time.Millisecond)
		if n := ask("many", 30); n != 0 {
			t.Errorf("%d are refused after nobody waited", n)
		}
		for g.Waiting() > 0 {
			g.LetIn()
		}
	})
}

// The cost of a request is computed while others come: a test for the race detector.
func TestGateLearnsWhileRequestsCome(t *testing.T) {
	t.Parallel()
	g, _ := gateOf(t, func(c *httpapi.Config) { c.MaxWait = time.Nanosecond })
	g.Crowd()
	first := make(chan bool, 1)
	go func() { first <- g.Wait("a") }()
	for g.Waiting() == 0 {
		runtime.Gosched()
	}
	g.Expire(time.Now().Add(time.Second)) // from now on the overload is sustained
	if <-first {
		t.Fatal("it was let in")
	}
	var all sync.WaitGroup
	for range 50 {
		all.Go(g.Learn)
		all.Go(func() { g.Wait("a") })
	}
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	for {
		select {
		case <-done:
			return
		default:
			g.Expire(time.Now().Add(time.Second))
		}
	}
}

// Requests begin to wait when ready work is delayed, and no longer when it was not for a while.
func TestGateFollowsTheDelay(t *testing.T) {
	t.Parallel()
	g, _ := gateOf(t, nil)
	synctest.Test(t, func(t *testing.T) {
		g.Delayed(6 * time.Millisecond)
		if g.Crowded() {
			t.Fatal("after a short delay")
		}
		g.Delayed(20 * time.Millisecond)
		if !g.Crowded() {
			t.Fatal("not after a long delay")
		}
		in := make(chan bool, 100)
		for range 100 {
			go func() { in <- g.Wait("a") }()
		}
		synctest.Wait()
		for range 20 {
			g.Delayed(50 * time.Millisecond)
		}
		synctest.Wait()
		if n := len(in); n > 2 {
			t.Errorf("%d let in while the delay is long", n)
		}
		ticks := 0
		for ; len(in) < 100 && ticks < 200; ticks++ {
			g.Delayed(time.Millisecond)
			synctest.Wait()
		}
		if ticks == 200 || g.Waiting() > 0 {
			t.Errorf("%d of 100 were let in within %d ticks", len(in), ticks)
		}
		for range 60 {
			g.Delayed(time.Millisecond)
		}
		if g.Crowded() {
			t.Error("it stays crowded without work")
		}
	})
}

// A refusal has the envelope of its style, and a name of its own.
func TestGateRefusals(t *testing.T) {
	t.Parallel()
	g, n := gateOf(t, func(c *httpapi.Config) { c.MaxWait = time.Nanosecond })
	conn, err := net.Dial("tcp", n.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ask := func(method, target string) []byte {
		answer := make(chan []byte, 1)
		go func() {
			answer <- g.Check(conn, &h1server.Head{Method: []byte(method), Target: []byte(target), Authorization: []byte("Bearer " + n.first.KeyText)})
		}()
		for {
			select {
			case b := <-answer:
				return b
			case <-time.After(time.Millisecond):
				g.Expire(time.Now().Add(time.Second))
			}
		}
	}
	if b := ask("POST", "/v1/chat/completions"); b != nil {
		t.Fatalf("refused before it is crowded: %s", b)
	}
	g.Crowd()
	ids := map[string]bool{}
	for _, path := range []string{"/v1/chat/completions", "/api/v1/chat/completions", "/v1/messages?beta=true", "/v1/responses", "/v1/embeddings", "/v1/images", "/v1/audio/speech", "/v1/videos",
		"/v1beta/models/acme/small:generateContent?key=x", "/api/v1beta/models/small:streamGenerateContent"} {
		r, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(ask("POST", path))), nil)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		body, err := io.ReadAll(r.Body)
		if err != nil || int64(len(body)) != r.ContentLength {
			t.Fatalf("%s: %d bytes, %v", path, len(body), err)
		}
		id := r.Header.Get("X-Request-Id")
		if r.StatusCode != 503 || r.Header.Get("Retry-After") == "" || len(id) != 28 || ids[id] || !bytes.Contains(body, []byte(`"`+id+`"`)) {
			t.Errorf("%s: %d %v %s", path, r.StatusCode, r.Header, body)
		}
		ids[id] = true
		e := decode(t, body)
		if strings.Contains(path, "v1beta") {
			if at(e, "error", "code") != 503. || at(e, "error", "status") != "UNAVAILABLE" {
				t.Errorf("%s: %s", path, body)
			}
			continue
		}
		if messages := strings.Contains(path, "messages"); messages && (at(e, "type") != "error" || at(e, "error", "type") != "overloaded_error" || r.Header.Get("Request-Id") != id) ||
			!messages && (at(e, "error", "code") != 503. || at(e, "error", "metadata", "error_type") != "overloaded") {
			t.Errorf("%s: %s", path, body)
		}
	}
	for _, other := range [][2]string{{"GET", "/v1/chat/completions"}, {"GET", "/v1/models"}, {"POST", "/v1/keys"}, {"POST", "/api/auth/sign-in"}, {"GET", "/healthz"}} {
		if b := ask(other[0], other[1]); b != nil {
			t.Errorf("%v is refused: %s", other, b)
		}
	}
}
