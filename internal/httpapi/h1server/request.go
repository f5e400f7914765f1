package h1server

import (
	"bytes"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"weir/internal/http1"
)

// refused is a request that is answered without its handler, because it is not valid. After it the connection ends.
type refused struct {
	status int
	why    string
}

func (r *refused) Error() string { return r.why }

func invalid(why string) error { return &refused{http.StatusBadRequest, why} }

var (
	errLarge    = &refused{http.StatusRequestHeaderFieldsTooLarge, "the header is too large"}
	errNotHTTP1 = &refused{http.StatusHTTPVersionNotSupported, "the protocol is not HTTP/1"}
	errEnd      = errors.New("h1server: the connection ended") // the client's, or Shutdown's
)

// Head is what a Gate sees of a request. Its slices are valid during the call.
type Head struct {
	Method, Target []byte // as sent
	Authorization  []byte // the value of the field; nil without it, or with several
	APIKey         []byte // likewise, of x-api-key
	GoogleKey      []byte // and of x-goog-api-key
	Forwarded      []byte // the value of the last x-forwarded-for
	Last           bool   // the client closes the connection after this request
}

// field is a header field's place in the head.
type field struct{ name, nameEnd, value, valueEnd int }

// parsed is a head that was read.
type parsed struct {
	Head
	line    [3]int // ends of the method, of the target, and of the line
	minor   byte   // of the version: '0' or '1'
	host    field
	hosts   int
	length  int64 // -1: none
	chunked bool
	alive   bool // the client asks to keep the connection
	expect  []byte
	fields  []field // without host and transfer-encoding
}

// headEnd is the length of the head at the front of b with its empty line, 0 when its end has not arrived. The bytes before from were checked
// before. Bare line feeds are refused at once, because no end would come.
func headEnd(b []byte, from int) (int, error) {
	for i := from; i < len(b); i++ {
		j := indexLF(b[i:])
		if j < 0 {
			return 0, nil
		}
		i += j
		if i == 0 || b[i-1] != '\r' {
			return 0, invalid("a line does not end with CR LF")
		}
		if i >= 3 && b[i-2] == '\n' {
			return i + 1, nil
		}
	}
	return 0, nil
}

// parse reads a whole head, including its empty line (RFC 9112 sections 2 to 6). Names of fields are given their canonical form in place.
func (p *parsed) parse(b []byte) error {
	fields := p.fields[:0]
	*p = parsed{length: -1, fields: fields}
	if err := p.requestLine(b); err != nil {
		return err
	}
	coded, keys, googleKeys, tokens := false, 0, 0, 0
	for at := p.line[2]; at < len(b)-2; {
		n := at
		for n < len(b) && http1.IsToken(b[n]) {
			n++
		}
		end := n + indexLF(b[n:]) - 1 // of the line; there is one, because the head was found by its end
		if n == at || b[n] != ':' || b[end] != '\r' || !http1.IsText(b[n+1:end]) {
			return invalid("a header field is malformed")
		}
		f := field{at, n, n + 1, end}
		for f.value < f.valueEnd && (b[f.value] == ' ' || b[f.value] == '\t') {
			f.value++
		}
		for f.value < f.valueEnd && (b[f.valueEnd-1] == ' ' || b[f.valueEnd-1] == '\t') {
			f.valueEnd--
		}
		name, value := b[f.name:f.nameEnd], b[f.value:f.valueEnd]
		canonical(name)
		keep := true
		switch string(name) {
		case "Host":
			p.host, keep = f, false
			p.hosts++
		case "Content-Length":
			n, ok := http1.Length(value)
			if !ok || p.length >= 0 {
				return invalid("the content length is malformed, or there are two")
			}
			p.length = n
		case "Transfer-Encoding":
			if !http1.Is(value, "chunked") {
				return &refused{http.StatusNotImplemented, "the transfer coding is not supported"}
			}
			if coded || p.minor == '0' {
				return invalid("the transfer coding is not allowed there")
			}
			coded, keep = true, false
		case "Connection":
			p.Last = p.Last || http1.HasToken(value, "close")
			p.alive = p.alive || http1.HasToken(value, "keep-alive")
		case "Expect":
			p.expect = value
		case "Authorization":
			p.Authorization, tokens = value, tokens+1
		case "X-Api-Key":
			p.APIKey, keys = value, keys+1
		case "X-Goog-Api-Key":
			p.GoogleKey, googleKeys = value, googleKeys+1
		case "X-Forwarded-For":
			p.Forwarded = value
		}
		if keep {
			p.fields = append(p.fields, f)
		}
		at = end + 2
	}
	p.chunked = coded
	switch {
	case coded && p.length >= 0:
		return invalid("there are both a content length and a transfer coding")
	case p.hosts > 1 || p.hosts == 0 && p.minor == '1':
		return invalid("there must be one Host")
	case p.hosts == 1 && !validHost(b[p.host.value:p.host.valueEnd]):
		return invalid("the Host is malformed")
	case p.expect != nil && !http1.Is(p.expect, "100-continue"):
		return &refused{http.StatusExpectationFailed, "the expectation is not known"}
	}
	if tokens > 1 {
		p.Authorization = nil
	}
	if keys > 1 {
		p.APIKey = nil
	}
	if googleKeys > 1 {
		p.GoogleKey = nil
	}
	p.Last = p.Last || p.minor == '0' && !p.alive
	return nil
}

// requestLine reads "POST /v1/chat/completions HTTP/1.1".
func (p *parsed) requestLine(b []byte) error {
	end := indexLF(b) - 1
	n := 0
	for n < end && http1.IsToken(b[n]) {
		n++
	}
	if n == 0 || n == end || b[n] != ' ' {
		return invalid("the request line is malformed")
	}
	to := n + 1
	for to < end && b[to] > ' ' && b[to] != 0x7F {
		to++
	}
	const version = " HTTP/1."
	rest := b[to:end]
	if len(rest) != len(version)+1 || string(rest[:6]) != version[:6] {
		return invalid("the request line is malformed")
	}
	if string(rest[:8]) != version || rest[8] != '0' && rest[8] != '1' {
		return errNotHTTP1
	}
	if to == n+1 {
		return invalid("the request target is missing")
	}
	p.Method, p.Target, p.minor = b[:n], b[n+1:to], rest[8]
	p.line = [3]int{n, to, end + 2}
	return nil
}

// validHost allows the characters of names, addresses and ports (RFC 3986 section 3.2.2).
func validHost(host []byte) bool {
	for _, c := range host {
		if c <= ' ' || c >= 0x7F || strings.IndexByte("\"#/<>?@\\^`{|}", c) >= 0 {
			return false
		}
	}
	return true
}

// canonical gives a name its canonical form: upper case at the beginning and after a hyphen.
func canonical(name []byte) {
	upper := true
	for i, c := range name {
		switch {
		case upper && c >= 'a' && c <= 'z':
			name[i] = c - 0x20
		case !upper && c >= 'A' && c <= 'Z':
			name[i] = c + 0x20
		}
		upper = c == '-'
	}
}

func indexLF(b []byte) int { return bytes.IndexByte(b, '\n') }

// request makes the http.Request of a head. All its text is one string.
func (t *turn) request(r *http.Request, p *parsed, head []byte, header http.Header) error {
	text := string(head)
	r.Method, r.RequestURI = text[:p.line[0]], text[p.line[0]+1:p.line[1]]
	r.ProtoMajor, r.ProtoMinor, r.Proto = 1, int(p.minor-'0'), "HTTP/1.1"
	if p.minor == '0' {
		r.Proto = "HTTP/1.0"
	}
	r.Host = text[p.host.value:p.host.valueEnd]
	r.Close = p.Last
	values := t.values[:]
	for _, f := range p.fields {
		name, value := text[f.name:f.nameEnd], text[f.value:f.valueEnd]
		if list, twice := header[name]; twice {
			header[name] = append(list[:len(list):len(list)], value)
			continue
		}
		if len(values) == 0 {
			values = make([]string, 16)
		}
		values[0] = value
		header[name], values = values[:1:1], values[1:]
	}
	r.Header = header
	switch {
	case p.chunked:
		r.ContentLength, r.TransferEncoding = -1, chunkedCoding
	default:
		r.ContentLength = max(p.length, 0)
	}
	return t.target(r)
}

var chunkedCoding = []string{"chunked"}

// target reads the request target (RFC 9112 section 3.2).
func (t *turn) target(r *http.Request) error {
	r.URL = &t.url
	if simplePath(r.RequestURI) {
		t.url.Path = r.RequestURI
		return nil
	}
	if r.Method == http.MethodConnect {
		return &refused{http.StatusNotImplemented, "this server is no proxy"}
	}
	u, err := url.ParseRequestURI(r.RequestURI)
	if err != nil {
		return invalid("the request target is malformed")
	}
	t.url = *u
	if u.Host != "" { // the absolute form, whose host goes before the field
		r.Host = u.Host
	}
	return nil
}

// simplePath reports whether a target is a path that means itself.
func simplePath(s string) bool {
	if s == "" || s[0] != '/' || len(s) > 1 && s[1] == '/' {
		return false
	}
	for i := range len(s) {
		if c := s[i]; c != '/' && c != '.' && c != '-' && c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}
