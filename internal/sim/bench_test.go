package sim_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"weir/internal/sim"
)

func TestBench(t *testing.T) {
	t.Parallel()
	s := sim.New(sim.Config{})
	whole := call(s, request("bench", "hi", ""))
	if whole.Code != 200 || whole.Body.Len() < 900 || whole.Body.Len() > 1200 {
		t.Errorf("%d, %d bytes", whole.Code, whole.Body.Len())
	}
	if got := parseAnswer(t, whole.Body.Bytes()); got.Usage.Completion != "45" || got.Choices[0].Finish != "stop" || got.text() == "" {
		t.Errorf("%s", whole.Body)
	}
	for _, c := range []struct {
		name, model, prompt string
		frames              int
		usage               string
	}{
		{"plain", "bench", "hi", 45, "45"},
		{"by name", "bench@frames=100,chunk=2", "hi", 100, "200"},
		{"by marker", "bench", "[[sim frames=7]] hi", 7, "7"},
		{"members in strings", "bench", `"model":"chat","stream":false`, 45, "45"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := askStream(t, s, request(c.model, c.prompt, `"stream":true,"stream_options":{"include_usage":true}`))
			if got.frames != c.frames || got.Usage.Completion.String() != c.usage || got.Choices[0].Finish != "stop" || !got.done {
				t.Errorf("%d frames, usage %s, done %v", got.frames, got.Usage.Completion, got.done)
			}
		})
	}
	if got := askStream(t, s, request("bench", "hi", `"stream":true`)); got.usages != 0 {
		t.Error("usage unasked")
	}
	if w := call(s, request("bench@fault=u15,status=502", "hi", "")); w.Code != 502 {
		t.Errorf("a fault of bench: %d", w.Code)
	}
	if w := call(s, request("bench@speed=9", "hi", "")); w.Code != 400 {
		t.Errorf("an unknown setting of bench: %d", w.Code)
	}
}

func TestBenchStamp(t *testing.T) {
	t.Parallel()
	s := sim.New(sim.Config{})
	before := time.Now().UnixNano()
	text := *askStream(t, s, request("bench@stamp=1,frames=3", "hi", `"stream":true`)).Choices[0].Message.Content
	last := before
	for range 3 {
		_, rest, ok := strings.Cut(text, "@T")
		digits, rest, ok2 := strings.Cut(rest, "@")
		at, err := json.Number(digits).Int64()
		if !ok || !ok2 || err != nil || at < last || at > time.Now().UnixNano() {
			t.Fatalf("stamp %q: %v", digits, err)
		}
		text, last = rest, at
	}
}

// cpu is what this process has used of the processors.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkServe measures the processor time of a request through net/http, with the client's: one write and the reads.
func BenchmarkServe(b *testing.B) {
	for _, c := range []struct{ name, body, end string }{
		{"bench", request("bench", strings.Repeat("word ", 180), ""), "}"},
		{"bench stream of 45 frames", request("bench", strings.Repeat("word ", 180), `"stream":true`), "0\r\n\r\n"},
		{"bench 200 KB", request("bench", strings.Repeat("word ", 40_000), ""), "}"},
		{"chat", request("chat", strings.Repeat("word ", 180), ""), "}"},
	} {
		b.Run(c.name, func(b *testing.B) {
			_, addr := start(b, sim.Config{})
			conn, err := net.Dial("tcp", addr)
			if err != nil {
				b.Fatal(err)
			}
			defer conn.Close()
			out := []byte(fmt.Sprintf("POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(c.body), c.body))
			in := make([]byte, 64<<10)
			b.ReportAllocs()
			before := cpu()
			for b.Loop() {
				if _, err := conn.Write(out); err != nil {
					b.Fatal(err)
				}
				for n := 0; ; {
					m, err := conn.Read(in[n:])
					if err != nil && err != io.EOF {
						b.Fatal(err)
					}
					if n += m; bytes.HasSuffix(in[:n], []byte(c.end)) {
						break
					}
				}
			}
			b.ReportMetric(float64((cpu()-before).Microseconds())/float64(b.N), "cpu-us/op")
		})
	}
}
