package httpapi_test

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
)

// FuzzPath: whatever the path and query, the answer is one, and never a fault of ours.
func FuzzPath(f *testing.F) {
	n := start(f, relayFunc(hello), nil)
	for _, seed := range []string{"/v1/models", "/api/v1/models/a%2fb/", "/v1//../keys", "/%", "/v1/models?page=1&per_page=9", "/v1/activity?date=2026-02-30", "*"} {
		f.Add("GET", seed)
	}
	f.Fuzz(func(t *testing.T, method, target string) {
		u, err := url.ParseRequestURI(target)
		if err != nil {
			return // net/http refuses it itself
		}
		r := &http.Request{Method: method, URL: u, RequestURI: target, Proto: "HTTP/1.1", Body: http.NoBody, RemoteAddr: "192.0.2.1:1",
			Header: http.Header{"Authorization": {"Bearer " + n.first.ManagementKey}}}
		w := httptest.NewRecorder()
		n.api.ServeHTTP(w, r)
		if w.Code >= 500 {
			t.Fatalf("%s %q: %d %s", method, target, w.Code, w.Body)
		}
		if w.Code < 300 && strings.Contains(u.Path, "..") && !strings.Contains(u.EscapedPath(), "%") {
			t.Fatalf("%s %q left its route: %d", method, target, w.Code)
		}
	})
}

// FuzzKeyBody: a management body is taken or refused, never a fault of ours.
func FuzzKeyBody(f *testing.F) {
	n := start(f, relayFunc(hello), nil)
	for _, seed := range []string{`{"name":"x","limit":1.5,"limit_reset":"daily"}`, `{"limit":null}`, `{"name":"\u0000"}`, `{"limit":1e999}`, `[`, ``} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		r := httptest.NewRequest("PATCH", "/v1/keys/"+n.first.Key.Hash, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+n.first.ManagementKey)
		w := httptest.NewRecorder()
		n.api.ServeHTTP(w, r)
		if w.Code >= 500 {
			t.Fatalf("%q: %d %s", body, w.Code, w.Body)
		}
	})
}

// FuzzEdge: whatever bytes a client sends, each request that the handler sees is one for net/http, too, which reads them without repairs; and a
// refusal is the last answer of its connection.
func FuzzEdge(f *testing.F) {
	var served atomic.Int64
	address := serveRaw(f, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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
