package httpserver_test

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
)

// FuzzEdge: whatever bytes a client sends, each request that the handler sees is one for net/http, too, which reads them without repairs; and a
// refusal is the last answer of its connection.
func FuzzEdge(f *testing.F) {
	var served atomic.Int64
	address := serve(f, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		served.Add(1)
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			w.Header().Set("Connection", "close")
			w.WriteHeader(http.StatusBadRequest)
		}
	}), narrow)
	const host = "Host: x\r\n"
	for _, seed := range []string{
		"GET /a HTTP/1.1\r\n" + host + "\r\n", "POST /a?b HTTP/1.1\r\n" + host + "Content-Length: 1\r\n\r\naGET / HTTP/1.1\r\n" + host + "\r\n",
		"POST /a HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\nGET / HTTP/1.1\r\n" + host + "\r\n",
		"POST /a HTTP/1.1\r\n" + host + "Content-Length: 1\r\nContent-Length: 1\r\n\r\naGET / HTTP/1.1\r\n" + host + "\r\n",
		"POST /a HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n0\r\na: b\n\nGET / HTTP/1.1\r\n" + host + "\r\n",
		"GET /a HTTP/1.1\n" + host + "\nGET / HTTP/1.1\r\n" + host + "\r\n", "POST * HTTP/1.0\r\nx-y-z: 1\r\n b\r\n\r\n", "\r\nGET http://h/ HTTP/1.1\r\n" + host + "Connection: close\r\n\r\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, sent []byte) {
		before := served.Load()
		conn, in := dial(t, address)
		defer conn.Close()
		if _, err := conn.Write(sent); err == nil {
			_ = conn.(*net.TCPConn).CloseWrite()
		}
		answers, refused := int64(0), false
		for {
			r, err := http.ReadResponse(in, nil)
			if err != nil {
				break
			}
			_, _ = io.Copy(io.Discard, r.Body)
			if r.StatusCode < 200 {
				continue
			}
			if refused {
				t.Fatalf("%q: another answer after a refusal", sent)
			}
			answers++
			refused = r.StatusCode >= 400
			if refused && !r.Close {
				t.Fatalf("%q: the connection goes on after %s", sent, r.Status)
			}
		}
		if n := strictly(sent); served.Load()-before > n {
			t.Fatalf("%q: %d requests were served, and there are %d", sent, served.Load()-before, n)
		}
	})
}

// strictly counts the heads in what was sent up to the first one with a line that is malformed, by another reading than the one under test.
func strictly(sent []byte) (n int64) {
	for in := bufio.NewReader(bytes.NewReader(sent)); ; n++ {
		if b, _ := in.Peek(2); string(b) == "\r\n" {
			_, _ = in.Discard(2)
		}
		var head []byte
		for !bytes.HasSuffix(head, []byte("\r\n\r\n")) {
			line, err := in.ReadBytes('\n')
			if err != nil || !bytes.HasSuffix(line, []byte("\r\n")) || len(head) > 0 && (line[0] == ' ' || line[0] == '\t') {
				return n
			}
			head = append(head, line...)
		}
		r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(head)))
		if err != nil || len(r.TransferEncoding) > 0 && bytes.Contains(bytes.ToLower(head), []byte("\ncontent-length:")) {
			return n
		}
		if len(r.TransferEncoding) > 0 {
			return n + 1 + int64(bytes.Count(sent, []byte("\r\n\r\n"))) // its body's end is checked by TestRawRequests
		}
		if _, err := io.CopyN(io.Discard, in, r.ContentLength); err != nil {
			return n + 1
		}
	}
}
