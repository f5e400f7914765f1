package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httputil"
	"strconv"
	"strings"
	"time"
)

// The mock uses the chat wire. The model of a request determines the answer, and all answers are made beforehand. So its cost is one read
// and one write per request, and the measured cost is that of the gateway.

// stampDigits is the length of a Unix time in nanoseconds; a frame has one after an at sign.
const stampDigits = 19

// answer is the mock's answer for one model.
type answer struct {
	head   []byte // up to the first frame, or the whole reply
	frame  []byte // one frame with space for its time stamp; nil: not a stream
	stamp  int    // offset of the digits in frame
	frames int
	gap    time.Duration // between frames
	tail   []byte
}

// streamShape describes a streaming model.
type streamShape struct {
	frames int
	gap    time.Duration
}

// The models of the mock, which are also the second part of the slugs of clients.
const (
	modelChat = "chat" // about 1 KB at once
	modelCalm = "calm" // at reading speed
	modelFast = "fast" // at full speed
)

var shapes = map[string]streamShape{
	modelCalm: {frames: 40, gap: 100 * time.Millisecond},
	modelFast: {frames: 100},
}

const mockUsage = `"usage":{"prompt_tokens":230,"completion_tokens":120,"total_tokens":350,"prompt_tokens_details":{"cached_tokens":0},"completion_tokens_details":{"reasoning_tokens":0}}`

func answers() map[string]*answer {
	all := map[string]*answer{modelChat: wholeAnswer()}
	for model, shape := range shapes {
		all[model] = streamedAnswer(model, shape)
	}
	return all
}

func wholeAnswer() *answer {
	text := strings.Repeat("A river takes the way that is open to it. ", 15)
	body := `{"id":"chatcmpl-bench","object":"chat.completion","created":1750000000,"model":"chat","choices":[{"index":0,"message":{"role":"assistant","content":"` +
		text + `","refusal":null},"logprobs":null,"finish_reason":"stop"}],` + mockUsage + `,"system_fingerprint":null}`
	head := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", len(body))
	return &answer{head: []byte(head + body)}
}

func streamedAnswer(model string, shape streamShape) *answer {
	event := func(choices, more string) string {
		return `data: {"id":"chatcmpl-bench","object":"chat.completion.chunk","created":1750000000,"model":"` + model + `","choices":[` + choices + `]` + more + "}\n\n"
	}
	chunk := func(data string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(data), data) }
	delta := func(d, finish string) string {
		return `{"index":0,"delta":` + d + `,"logprobs":null,"finish_reason":` + finish + `}`
	}
	frame := chunk(event(delta(`{"content":"@`+strings.Repeat("0", stampDigits)+` a word"}`, "null"), ""))
	return &answer{
		head: []byte("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n" +
			chunk(event(delta(`{"role":"assistant","content":""}`, "null"), ""))),
		frame:  []byte(frame),
		stamp:  strings.IndexByte(frame, '@') + 1,
		frames: shape.frames,
		gap:    shape.gap,
		tail:   []byte(chunk(event(delta(`{}`, `"stop"`), "")) + chunk(event("", ","+mockUsage)) + chunk("data: [DONE]\n\n") + "0\r\n\r\n"),
	}
}

// serveMock answers on ln until the process ends.
func serveMock(ln net.Listener) error {
	all := answers()
	for {
		conn, err := ln.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer conn.Close()
			serveConn(conn, all)
		}()
	}
}

var errHead = errors.New("no HTTP request that the mock understands")

// serveConn answers the requests of one connection. An error closes it.
func serveConn(conn net.Conn, all map[string]*answer) {
	in := bufio.NewReaderSize(conn, 8<<10)
	frame := make([]byte, 0, 512)
	for {
		model, err := readRequest(in)
		if err != nil {
			return
		}
		reply := all[model]
		if reply == nil {
			_, _ = io.WriteString(conn, "HTTP/1.1 404 Not Found\r\nContent-Type: application/json\r\nContent-Length: 38\r\n\r\n"+`{"error":{"message":"no such model."}}`+"\n")
			return
		}
		if err := reply.send(conn, frame); err != nil {
			return
		}
	}
}

func (a *answer) send(conn net.Conn, scratch []byte) error {
	if _, err := conn.Write(a.head); err != nil || a.frame == nil {
		return err
	}
	frame := append(scratch[:0], a.frame...)
	due := time.Now()
	for range a.frames {
		if a.gap > 0 {
			due = due.Add(a.gap)
			time.Sleep(time.Until(due))
		}
		putStamp(frame[a.stamp:a.stamp+stampDigits], time.Now().UnixNano())
		if _, err := conn.Write(frame); err != nil {
			return err
		}
	}
	_, err := conn.Write(a.tail)
	return err
}

func putStamp(digits []byte, nanos int64) {
	for i := len(digits) - 1; i >= 0; i-- {
		digits[i] = byte('0' + nanos%10)
		nanos /= 10
	}
}

// readRequest reads one request and returns the model, which must be at the start of its body.
func readRequest(in *bufio.Reader) (model string, err error) {
	length := int64(-1)
	for first := true; ; first = false {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return "", err
		}
		if len(line) <= 2 && !first {
			break
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		switch {
		case first:
		case bytes.EqualFold(name, []byte("content-length")):
			if length, err = strconv.ParseInt(string(bytes.TrimSpace(value)), 10, 64); err != nil {
				return "", errHead
			}
		case bytes.EqualFold(name, []byte("transfer-encoding")):
			return readChunked(in)
		}
	}
	if length < 0 {
		return "", errHead
	}
	front, err := in.Peek(int(min(length, 512)))
	if err != nil {
		return "", err
	}
	model = modelIn(front)
	_, err = in.Discard(int(length))
	return model, err
}

// readChunked reads the rest of the headers and a chunked body, for a gateway that sends no length.
func readChunked(in *bufio.Reader) (string, error) {
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return "", err
		}
		if len(line) <= 2 {
			break
		}
	}
	body := bufio.NewReader(httputil.NewChunkedReader(in))
	front, _ := body.Peek(512)
	model := modelIn(front)
	if _, err := io.Copy(io.Discard, body); err != nil {
		return "", err
	}
	_, err := in.Discard(2) // the empty trailer
	return model, err
}

func modelIn(front []byte) string {
	_, after, found := bytes.Cut(front, []byte(`"model"`))
	if !found {
		return ""
	}
	after = bytes.TrimLeft(after, ": ")
	if len(after) == 0 || after[0] != '"' {
		return ""
	}
	name, _, _ := bytes.Cut(after[1:], []byte(`"`))
	return string(name)
}
