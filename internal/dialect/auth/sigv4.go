package auth

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

const sigV4 = "AWS4-HMAC-SHA256"

// Signature is the Method of AWS Signature Version 4 (AWS Identity and Access Management, "Create a signed AWS API request").
type Signature struct {
	id, secret, session string
	region, service     string
	now                 func() time.Time
	daily               atomic.Pointer[dailyKey]
}

// dailyKey is the signing key of one day.
type dailyKey struct {
	day string
	key []byte
}

// IsAccessKey reports whether a credential signs requests. Other credentials are sent unchanged.
func IsAccessKey(credential string) bool { return strings.Contains(credential, ":") }

// NewSignature makes the method of a credential ACCESS_KEY_ID:SECRET or ACCESS_KEY_ID:SECRET:SESSION_TOKEN.
func NewSignature(credential, region, service string, now func() time.Time) (*Signature, error) {
	parts := strings.SplitN(credential, ":", 3)
	if len(parts) < 2 || slices.ContainsFunc(parts, func(s string) bool { return !sendable(s) }) {
		return nil, errors.New("auth: the credential is not ACCESS_KEY_ID:SECRET or ACCESS_KEY_ID:SECRET:SESSION_TOKEN")
	}
	s := &Signature{id: parts[0], secret: parts[1], region: region, service: service, now: now}
	if len(parts) == 3 {
		s.session = parts[2]
	}
	return s, nil
}

// Fields implements Method. The content type is signed, so it is one of the fields.
func (s *Signature) Fields(_ context.Context, r *Request) (http.Header, error) {
	fields := http.Header{"Content-Type": {"application/json"}}
	s.sign(http.MethodPost, r, fields)
	return fields, nil
}

// sign adds the fields that authenticate a request to its header fields, all of which are signed.
func (s *Signature) sign(method string, r *Request, fields http.Header) {
	date := s.now().UTC().Format("20060102T150405Z")
	fields["X-Amz-Date"] = []string{date}
	if s.session != "" {
		fields["X-Amz-Security-Token"] = []string{s.session}
	}
	canonical, names := canonicalRequest(method, r, fields)
	scope := date[:8] + "/" + s.region + "/" + s.service + "/aws4_request"
	signature := hex.EncodeToString(mac(s.key(date[:8]), sigV4+"\n"+date+"\n"+scope+"\n"+digest([][]byte{[]byte(canonical)})))
	fields["Authorization"] = []string{sigV4 + " Credential=" + s.id + "/" + scope + ", SignedHeaders=" + names + ", Signature=" + signature}
}

// key returns the signing key of a day.
func (s *Signature) key(day string) []byte {
	if k := s.daily.Load(); k != nil && k.day == day {
		return k.key
	}
	key := []byte("AWS4" + s.secret)
	for _, part := range [...]string{day, s.region, s.service, "aws4_request"} {
		key = mac(key, part)
	}
	s.daily.Store(&dailyKey{day, key})
	return key
}

// canonicalRequest is the canonical form of a request, which is signed, and the names of the header fields in it.
func canonicalRequest(method string, r *Request, fields http.Header) (text, names string) {
	values := map[string]string{"host": r.Host}
	list := []string{"host"}
	for name, v := range fields {
		name = strings.ToLower(name)
		list = append(list, name)
		values[name] = strings.Join(strings.Fields(strings.Join(v, ",")), " ")
	}
	slices.Sort(list)
	names = strings.Join(list, ";")
	path, query, _ := strings.Cut(r.Path, "?")
	var b strings.Builder
	b.WriteString(method + "\n" + escapedPath(path) + "\n" + sortedQuery(query) + "\n")
	for _, name := range list {
		b.WriteString(name + ":" + values[name] + "\n")
	}
	b.WriteString("\n" + names + "\n" + digest(r.Body))
	return b.String(), names
}

// escapedPath returns a path that is escaped once more than it is sent: all services except S3 require that.
func escapedPath(path string) string {
	if path == "" {
		return "/"
	}
	parts := strings.Split(path, "/")
	for i := range parts {
		parts[i] = Escaped(parts[i])
	}
	return strings.Join(parts, "/")
}

func sortedQuery(query string) string {
	if query == "" {
		return ""
	}
	values, _ := url.ParseQuery(query) // the query is made here, so it parses
	var list []string
	for name, all := range values {
		for _, v := range all {
			list = append(list, Escaped(name)+"="+Escaped(v))
		}
	}
	slices.Sort(list)
	return strings.Join(list, "&")
}

// Escaped is a path segment in which all but the unreserved characters of RFC 3986 are escaped, as AWS requires.
func Escaped(s string) string {
	const digits = "0123456789ABCDEF"
	out := make([]byte, 0, len(s)+8)
	for i := range len(s) {
		c := s[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.' || c == '~' {
			out = append(out, c)
		} else {
			out = append(out, '%', digits[c>>4], digits[c&15])
		}
	}
	return string(out)
}

func digest(pieces [][]byte) string {
	h := sha256.New()
	for _, b := range pieces {
		_, _ = h.Write(b) // a hash does not fail
	}
	return hex.EncodeToString(h.Sum(nil))
}

func mac(key []byte, s string) []byte {
	h := hmac.New(sha256.New, key)
	_, _ = h.Write([]byte(s)) // a hash does not fail
	return h.Sum(nil)
}

// Refused returns false: a new signature would be the same.
func (s *Signature) Refused(http.Header) bool { return false }

// Secrets implements Method.
func (s *Signature) Secrets() []string {
	list := []string{s.secret}
	if s.session != "" {
		list = append(list, s.session)
	}
	return list
}
