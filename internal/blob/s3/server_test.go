package s3_test

import (
	"bufio"
	"bytes"
	"crypto/hmac"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

const accessKey, secretKey, session, region, bucket = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "session-token", "ru-central1", "videos"

// server implements the needed part of S3 ("Amazon S3 API Reference") in memory. It checks every signature, of whole requests and of
// chunks.
type server struct {
	*httptest.Server

	mu       sync.Mutex
	objects  map[string]object
	uploads  map[string]*upload
	requests map[string]int            // by method and query
	refused  []string                  // reasons for refused signatures
	largest  int                       // largest part, in bytes
	cut      bool                      // only half of a file is sent
	broken   func(r *http.Request) int // a status instead of an answer; 0: none
}

type object struct {
	data     []byte
	kind     string
	etag     string
	modified time.Time
}

type upload struct {
	key, kind string
	parts     map[int][]byte
}

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{objects: map[string]object{}, uploads: map[string]*upload{}, requests: map[string]int{}}
	s.Server = httptest.NewServer(s)
	t.Cleanup(func() {
		s.Close()
		for _, why := range s.refused {
			t.Errorf("a signature was refused: %s", why)
		}
	})
	return s
}

func (s *server) count(what string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests[what]
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, why := authentic(r)
	if why != "" {
		s.mu.Lock()
		s.refused = append(s.refused, why)
		s.mu.Unlock()
		refuse(w, http.StatusForbidden, "SignatureDoesNotMatch")
		return
	}
	name, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if name != bucket {
		refuse(w, http.StatusNotFound, "NoSuchBucket")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken != nil {
		if status := s.broken(r); status != 0 {
			refuse(w, status, map[int]string{403: "AccessDenied", 503: "SlowDown"}[status])
			return
		}
	}
	s.answer(w, r, key, body)
}

func refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, "<Error><Code>%s</Code><Message>no</Message></Error>", code)
}

func (s *server) answer(w http.ResponseWriter, r *http.Request, key string, body []byte) {
	q := r.URL.Query()
	did := func(what string) { s.requests[what]++ }
	switch {
	case key == "" && r.Method == http.MethodHead:
		did("head bucket")
	case key == "" && q.Get("list-type") == "2":
		did("list")
		s.list(w, q.Get("prefix"))
	case r.Method == http.MethodPost && q.Has("uploads"):
		did("begin")
		id := fmt.Sprint("upload", s.requests["begin"])
		s.uploads[id] = &upload{key: key, kind: r.Header.Get("Content-Type"), parts: map[int][]byte{}}
		fmt.Fprintf(w, "<InitiateMultipartUploadResult><Bucket>%s</Bucket><Key>%s</Key><UploadId>%s</UploadId></InitiateMultipartUploadResult>", bucket, key, id)
	case q.Has("uploadId"):
		s.upload(w, r, q, body, did)
	case r.Method == http.MethodPut:
		did("put")
		s.keep(key, r.Header.Get("Content-Type"), body, etag(body))
		w.Header().Set("ETag", `"`+etag(body)+`"`)
	case r.Method == http.MethodDelete:
		did("delete")
		delete(s.objects, key)
		w.WriteHeader(http.StatusNoContent)
	default:
		did("get")
		o, ok := s.objects[key]
		if !ok {
			refuse(w, http.StatusNotFound, "NoSuchKey")
			return
		}
		w.Header().Set("ETag", `"`+o.etag+`"`)
		w.Header().Set("Content-Type", o.kind)
		if first, ok := strings.CutPrefix(r.Header.Get("Range"), "bytes="); ok {
			if at, _, _ := strings.Cut(first, "-"); number(at) >= int64(len(o.data)) {
				refuse(w, http.StatusRequestedRangeNotSatisfiable, "InvalidRange")
				return
			}
		}
		if s.cut {
			w.Header().Set("Content-Length", strconv.Itoa(len(o.data)))
			w.Header().Set("Last-Modified", o.modified.UTC().Format(http.TimeFormat))
			_, _ = w.Write(o.data[:len(o.data)/2])
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
		http.ServeContent(w, r, "", o.modified, bytes.NewReader(o.data))
	}
}

func number(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}

func etag(data []byte) string {
	sum := md5.Sum(data)
	return hex.EncodeToString(sum[:])
}

func (s *server) keep(key, kind string, data []byte, etag string) {
	if kind == "" {
		kind = "application/octet-stream"
	}
	s.objects[key] = object{data, kind, etag, time.Now()}
}

func (s *server) upload(w http.ResponseWriter, r *http.Request, q url.Values, body []byte, did func(string)) {
	id := q.Get("uploadId")
	u := s.uploads[id]
	if u == nil {
		refuse(w, http.StatusNotFound, "NoSuchUpload")
		return
	}
	switch r.Method {
	case http.MethodPut:
		did("part")
		s.largest = max(s.largest, len(body))
		u.parts[int(number(q.Get("partNumber")))] = body
		w.Header().Set("ETag", `"`+etag(body)+`"`)
	case http.MethodDelete:
		did("abort")
		delete(s.uploads, id)
		w.WriteHeader(http.StatusNoContent)
	case http.MethodPost:
		did("complete")
		var asked struct {
			Part []struct {
				PartNumber int
				ETag       string
			}
		}
		if err := xml.Unmarshal(body, &asked); err != nil {
			refuse(w, http.StatusBadRequest, "MalformedXML")
			return
		}
		var all []byte
		for i, p := range asked.Part {
			part, ok := u.parts[p.PartNumber]
			if !ok || etag(part) != strings.Trim(p.ETag, `"`) || i < len(asked.Part)-1 && len(part) < 5<<20 {
				refuse(w, http.StatusBadRequest, "InvalidPart")
				return
			}
			all = append(all, part...)
		}
		tag := fmt.Sprint(etag(all), "-", len(asked.Part))
		s.keep(u.key, u.kind, all, tag)
		delete(s.uploads, id)
		fmt.Fprintf(w, `<CompleteMultipartUploadResult><Bucket>%s</Bucket><Key>%s</Key><ETag>"%s"</ETag></CompleteMultipartUploadResult>`, bucket, u.key, tag)
	}
}

func (s *server) list(w http.ResponseWriter, prefix string) {
	var keys []string
	for key := range s.objects {
		if strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	fmt.Fprintf(w, "<ListBucketResult><Name>%s</Name><IsTruncated>false</IsTruncated>", bucket)
	for _, key := range keys {
		o := s.objects[key]
		fmt.Fprintf(w, "<Contents><Key>%s</Key><LastModified>%s</LastModified><Size>%d</Size></Contents>", key, o.modified.UTC().Format(time.RFC3339Nano), len(o.data))
	}
	_, _ = io.WriteString(w, "</ListBucketResult>")
}

// authentic reads the body of a request and checks its signature (AWS "Signature Version 4", headers and chunks). why is the error.
func authentic(r *http.Request) (body []byte, why string) {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err.Error()
	}
	fields := map[string]string{}
	algorithm, rest, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	for part := range strings.SplitSeq(rest, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		fields[name] = value
	}
	date := r.Header.Get("X-Amz-Date")
	scope := fmt.Sprintf("%.8s/%s/s3/aws4_request", date, region)
	signed := strings.Split(fields["SignedHeaders"], ";")
	switch {
	case algorithm != "AWS4-HMAC-SHA256" || fields["Credential"] != accessKey+"/"+scope:
		return nil, "it is of another credential: " + r.Header.Get("Authorization")
	case r.Header.Get("X-Amz-Security-Token") != session || !slices.Contains(signed, "x-amz-security-token") || !slices.Contains(signed, "host"):
		return nil, "the session or the host is not signed"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s\n%s\n", r.Method, r.URL.EscapedPath(), strings.ReplaceAll(r.URL.Query().Encode(), "+", "%20"))
	for _, name := range signed {
		value := strings.Join(r.Header.Values(name), ",")
		if name == "host" {
			value = r.Host
		}
		if name == "content-length" {
			value = fmt.Sprint(r.ContentLength)
		}
		fmt.Fprintf(&b, "%s:%s\n", name, strings.TrimSpace(value))
	}
	payload := r.Header.Get("X-Amz-Content-Sha256")
	fmt.Fprintf(&b, "\n%s\n%s", fields["SignedHeaders"], payload)
	key := []byte("AWS4" + secretKey)
	for _, part := range []string{date[:8], region, "s3", "aws4_request"} {
		key = mac(key, part)
	}
	signature := hex.EncodeToString(mac(key, "AWS4-HMAC-SHA256\n"+date+"\n"+scope+"\n"+sum([]byte(b.String()))))
	if signature != fields["Signature"] {
		return nil, "it is not what it should be for " + r.Method + " " + r.URL.String()
	}
	if payload == "STREAMING-AWS4-HMAC-SHA256-PAYLOAD" {
		return unchunked(raw, func(data []byte) string {
			signature = hex.EncodeToString(mac(key, "AWS4-HMAC-SHA256-PAYLOAD\n"+date+"\n"+scope+"\n"+signature+"\n"+sum(nil)+"\n"+sum(data)))
			return signature
		})
	}
	if payload != sum(raw) && (payload != "UNSIGNED-PAYLOAD" || len(raw) > 0) {
		return nil, "the body is another one, or unsigned: " + payload
	}
	return raw, ""
}

// unchunked decodes the chunks of a body, whose signatures form a chain.
func unchunked(raw []byte, sign func([]byte) string) (body []byte, why string) {
	in := bufio.NewReader(bytes.NewReader(raw))
	for {
		line, err := in.ReadString('\n')
		size, signature, ok := strings.Cut(strings.TrimSpace(line), ";chunk-signature=")
		n, bad := strconv.ParseInt(size, 16, 32)
		if err != nil || bad != nil || !ok {
			return nil, "a chunk has no head"
		}
		data := make([]byte, n+2)
		if _, err := io.ReadFull(in, data); err != nil {
			return nil, "a chunk is cut"
		}
		data = data[:n]
		if sign(data) != signature {
			return nil, "a chunk has another signature"
		}
		if n == 0 {
			return body, ""
		}
		body = append(body, data...)
	}
}

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}
