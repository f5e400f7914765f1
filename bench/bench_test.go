package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

func listen(t *testing.T) net.Listener {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	return ln
}

func mockAt(t *testing.T) string {
	t.Helper()
	ln := listen(t)
	go func() { _ = serveMock(ln) }() // returns when the test closes ln
	return ln.Addr().String()
}

func handtunedAt(t *testing.T, upstream string) string {
	t.Helper()
	ln := listen(t)
	go func() { _ = serveHandtuned(ln, upstream) }()
	return ln.Addr().String()
}

// work returns a load of n requests.
func work(address, model string, n int) load {
	l := load{address: address, conns: 4, count: n, time: 30 * time.Second, patience: 10 * time.Second}
	b := newBodies()
	if shape, streams := shapes[model[strings.Index(model, "/")+1:]]; streams {
		l.frames = shape.frames
		l.request = request(address, "key", b.stream(model, 1<<10))
	} else {
		l.request = request(address, "key", b.chat(model, 1<<10))
	}
	return l
}

func TestLoadCountsWhatTheMockAnswers(t *testing.T) {
	t.Parallel()
	mock := mockAt(t)
	handtuned := handtunedAt(t, mock)
	for name, l := range map[string]load{
		"mock, whole":           work(mock, modelChat, 20),
		"mock, streams":         work(mock, modelFast, 20),
		"hand-tuned, whole":     work(handtuned, benchVendor+modelChat, 20),
		"hand-tuned, streams":   work(handtuned, benchVendor+modelFast, 20),
		"hand-tuned, a rate of": {address: handtuned, conns: 4, rate: 100, time: 200 * time.Millisecond, patience: 10 * time.Second, request: request(handtuned, "key", newBodies().chat("bench/chat", 1<<10))},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := l.run(t.Context())
			if f.Requests != 20 || f.Errors != 0 || f.Frames != 20*l.frames {
				t.Errorf("%d requests, %d frames, %d errors (%s); want 20, %d, 0", f.Requests, f.Frames, f.Errors, f.FirstError, 20*l.frames)
			}
			if f.Latency.P50 <= 0 || f.Latency.Max < f.Latency.P50 {
				t.Errorf("latency %+v", f.Latency)
			}
		})
	}
}

// TestLoadCountsBadAnswers returns bad answers of every kind, and requires that each is counted.
func TestLoadCountsBadAnswers(t *testing.T) {
	t.Parallel()
	const stream = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
	frame := "data: @" + strings.Repeat("1", stampDigits) + " word\n\n"
	chunk := func(s string) string {
		return string(rune("0123456789abcdef"[len(s)/16])) + string(rune("0123456789abcdef"[len(s)%16])) + "\r\n" + s + "\r\n"
	}
	whole := stream + chunk(frame) + chunk(frame) + chunk("data: [DONE]\n\n") + "0\r\n\r\n"
	for name, c := range map[string]struct {
		answer string
		frames int
		errors bool
		cut    bool
	}{
		"a whole stream":          {answer: whole, frames: 2},
		"a frame too few":         {answer: whole, frames: 3, errors: true, cut: true},
		"no end marker":           {answer: stream + chunk(frame) + chunk(frame) + "0\r\n\r\n", frames: 2, errors: true, cut: true},
		"the last chunk missing":  {answer: stream + chunk(frame) + chunk(frame) + chunk("data: [DONE]\n\n"), frames: 2, errors: true, cut: true},
		"a stream that is whole":  {answer: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", frames: 2, errors: true, cut: true},
		"a whole answer":          {answer: "HTTP/1.1 200 OK\r\nContent-Length: 14\r\n\r\n" + `{"choices":[]}`},
		"an answer without words": {answer: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", errors: true},
		"a status":                {answer: "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 2\r\n\r\n{}", errors: true},
		"a short body":            {answer: "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n" + `{"choices":[]}`, errors: true},
		"nothing":                 {errors: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ln := listen(t)
			go func() {
				conn, err := ln.Accept()
				if err != nil {
					return
				}
				_, _ = readRequest(bufio.NewReader(conn))
				_, _ = io.WriteString(conn, c.answer)
				conn.Close()
			}()
			l := work(ln.Addr().String(), modelChat, 1)
			l.conns, l.frames = 1, c.frames
			f := l.run(t.Context())
			if (f.Errors == 1) != c.errors || (f.Cut == 1) != c.cut {
				t.Errorf("errors %d, cut %d, first %q", f.Errors, f.Cut, f.FirstError)
			}
		})
	}
}

func TestWithoutVendor(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ body, want string }{
		"first":           {`{"model":"bench/chat","n":1}`, `{"model":"chat","n":1}`},
		"last":            {`{"n":1, "model": "bench/chat"}`, `{"n":1, "model": "chat"}`},
		"not the inner":   {`{"a":{"model":"x/y"},"model":"bench/chat"}`, `{"a":{"model":"x/y"},"model":"chat"}`},
		"inside a string": {`{"a":"\"model\":\"x/y\"","model":"bench/chat"}`, `{"a":"\"model\":\"x/y\"","model":"chat"}`},
		"no vendor":       {`{"model":"chat"}`, ""},
		"none":            {`{"n":1}`, ""},
		"open":            {`{"model":"bench/ch`, ""},
		"empty":           {``, ""},
	} {
		got, ok := withoutVendor([]byte(c.body))
		if ok != (c.want != "") || ok && string(got) != c.want {
			t.Errorf("%s: %q, %v; want %q", name, got, ok, c.want)
		}
	}
}

func TestBodiesAreWhatTheyClaim(t *testing.T) {
	t.Parallel()
	b := newBodies()
	for name, c := range map[string]struct {
		body []byte
		size int
	}{
		"1 KB": {b.chat("v/m", 1<<10), 1 << 10}, "200 KB": {b.chat("v/m", 200<<10), 200 << 10},
		"stream": {b.stream("v/m", 1<<10), 1 << 10}, "5 MB": {b.imageRequest("v/m", 5<<20), 5 << 20},
	} {
		var parsed chatBody
		if err := json.Unmarshal(c.body, &parsed); err != nil || parsed.Model != "v/m" || len(parsed.Messages) == 0 {
			t.Errorf("%s: %v, %+.100v", name, err, parsed)
		}
		if off := float64(len(c.body)) / float64(c.size); off < 0.8 || off > 1.3 {
			t.Errorf("%s has %d bytes", name, len(c.body))
		}
		if modelIn(c.body[:512]) != "v/m" {
			t.Errorf("%s: the mock does not find the model", name)
		}
	}
	if !bytes.Equal(newBodies().chat("v/m", 1<<10), newBodies().chat("v/m", 1<<10)) {
		t.Error("two runs send different bodies")
	}
}

// TestMockSpeaksTheChatWire reads the mock's answers with the standard client.
func TestMockSpeaksTheChatWire(t *testing.T) {
	t.Parallel()
	address := mockAt(t)
	for _, model := range []string{modelChat, modelFast} {
		answer, err := http.Post("http://"+address+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"`+model+`"}`))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != 200 {
			t.Fatalf("%s: %v, %s", model, err, answer.Status)
		}
		for line := range strings.Lines(strings.ReplaceAll(string(body), "\n\n", "\n")) {
			data := strings.TrimSpace(strings.TrimPrefix(line, "data: "))
			if data == "[DONE]" {
				continue
			}
			var parsed struct{ ID, Object string }
			if err := json.Unmarshal([]byte(data), &parsed); err != nil || parsed.ID == "" || !strings.HasPrefix(parsed.Object, "chat.completion") {
				t.Errorf("%s: %v in %q", model, err, data)
			}
		}
		if !strings.Contains(string(body), mockUsage) {
			t.Errorf("%s: no usage", model)
		}
	}
}

func TestGates(t *testing.T) {
	t.Parallel()
	r := &results{Best: map[string]map[string]measurement{}, Weir: &footprint{Binary: 10 << 20, Start: time.Second}}
	for target, cpu := range map[string]time.Duration{targetHandtuned: 40 * time.Microsecond, targetWeir: 100 * time.Microsecond} {
		r.add(measurement{Target: target, Scenario: "chat1k", PerSecond: 1000, CPUPerEach: cpu, figures: figures{Requests: 10}})
	}
	missed := map[string]bool{}
	for _, g := range r.gates() {
		missed[g.what] = !g.kept()
	}
	for what, want := range map[string]bool{
		"1 KB chat, CPU by request": true, "1 KB chat, requests a second": false, "start to the end of the first answer": true,
		"size of the binary": false, "failed requests and cut streams": false,
	} {
		if got, ok := missed[what]; !ok || got != want {
			t.Errorf("%s: missed is %v (known: %v), want %v", what, got, ok, want)
		}
	}
	worse := measurement{Target: targetWeir, Scenario: "chat1k", CPUPerEach: time.Microsecond, figures: figures{Errors: 1}}
	r.add(worse)
	if r.Best["chat1k"][targetWeir].Errors != 0 {
		t.Error("a pass with errors replaced one without")
	}
}

func TestQuantiles(t *testing.T) {
	t.Parallel()
	samples := make([]time.Duration, 100)
	for i := range samples {
		samples[i] = time.Duration(100 - i)
	}
	if q := quantilesOf(samples); q.P50 != 51 || q.P99 != 100 || q.Max != 100 {
		t.Errorf("%+v", q)
	}
	if q := quantilesOf(nil); q != (quantiles{}) {
		t.Errorf("of nothing: %+v", q)
	}
}
