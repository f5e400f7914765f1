// Package gigachat is the dialect of GigaChat: a chat wire of its own, with functions instead of tools, one call per answer, and tokens
// that are fetched with client credentials. It must not choose endpoints, and it uploads no files.
package gigachat

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/dialect/auth"
	"weir/internal/fault"
	"weir/internal/rawjson"
)

const (
	path = "/chat/completions"

	usualAuthURL = "https://ngw.devices.sberbank.ru:9443/api/v2/oauth"
)

// UsualScope is what tokens are asked for where the quirk auth_scope names no other: that of people. Companies have GIGACHAT_API_B2B and GIGACHAT_API_CORP.
const UsualScope = "GIGACHAT_API_PERS"

// Dialect implements dialect.Dialect and dialect.Authorizer. It is safe for concurrent use.
type Dialect struct{}

var (
	_ dialect.Texter     = (*Dialect)(nil)
	_ dialect.Authorizer = (*Dialect)(nil)
)

// Header gives the provider's own fields: the credential is exchanged for tokens.
func (d *Dialect) Header(p *catalog.Provider) http.Header {
	h := make(http.Header, len(p.Headers))
	for name, value := range p.Headers {
		h.Set(name, value)
	}
	return h
}

// Authorize fetches tokens with the authorization key that the service issues, or with CLIENT_ID:SECRET. Quirks may set address and
// scope.
func (d *Dialect) Authorize(p *catalog.Provider, deps auth.Deps) (auth.Method, error) {
	if p.Key == "" {
		return nil, nil
	}
	basic := p.Key
	if strings.Contains(basic, ":") {
		basic = base64.StdEncoding.EncodeToString([]byte(basic))
	}
	address := cmp.Or(p.Quirks.AuthURL, usualAuthURL)
	body := []byte(url.Values{"scope": {cmp.Or(p.Quirks.AuthScope, UsualScope)}}.Encode())
	return auth.NewTokens(auth.Issuer{
		Ask: func(time.Time) (*auth.Call, error) {
			return &auth.Call{URL: address, Body: body, Header: http.Header{
				"Authorization": {"Basic " + basic}, "Content-Type": {"application/x-www-form-urlencoded"}, "RqUID": {requestID()},
			}}, nil
		},
		Read: readToken, Secrets: []string{basic},
	}, deps), nil
}

// requestID is a random UUID of version 4.
func requestID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it does not fail
	return uuid(b)
}

// uuid writes 16 bytes as a UUID of version 4.
func uuid(b [16]byte) string {
	b[6], b[8] = b[6]&0x0F|0x40, b[8]&0x3F|0x80
	s := hex.EncodeToString(b[:])
	return s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
}

// readToken reads {"access_token":...,"expires_at":...}, a time in milliseconds.
func readToken(body []byte, now time.Time) (string, time.Time, error) {
	until := now
	if ms, ok := rawjson.Int(rawjson.Find(body, "expires_at")); ok && ms > now.UnixMilli() {
		until = time.UnixMilli(min(ms, now.Add(24*time.Hour).UnixMilli()))
	}
	token := rawjson.TextAt(body, "access_token")
	if token == "" {
		return "", until, errors.New("gigachat: the answer holds no access_token")
	}
	return token, until, nil
}

// Request encodes req for ep. It fails with fault.Invalid for a request that this wire cannot express.
func (d *Dialect) Request(ep *catalog.Endpoint, req *completion.Request) (dialect.Call, error) {
	p, err := req.Prompt()
	if err != nil {
		return dialect.Call{}, err
	}
	e := encoder{ep: ep, req: req, p: p}
	body, err := e.encode()
	if err != nil {
		return dialect.Call{}, err
	}
	call := dialect.Call{Path: path, Body: body}
	e.sent.Translated(ep, req)
	if call.Notice, err = e.sent.Left(req); err != nil {
		return dialect.Call{}, err
	}
	if id := session(ep, req, p); id != "" {
		call.Header = http.Header{"X-Session-Id": {id}}
	}
	return call, nil
}

// session names the conversation, so that the service reads earlier turns from its cache. It is the same in all calls of a conversation,
// and does not reveal the user. It is "" for calls without a conversation.
func session(ep *catalog.Endpoint, req *completion.Request, p *completion.Prompt) string {
	of := cmp.Or(req.SessionID, p.CacheKey)
	if of == "" {
		for _, s := range req.Opening {
			of += string(req.Body[s.Start:s.End])
		}
	}
	if of == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(req.Account + "\x00" + ep.UpstreamID + "\x00" + of))
	return uuid([16]byte(sum[:16]))
}

// Failure classifies an answer that is not 2xx.
func (d *Dialect) Failure(ep *catalog.Endpoint, status int, header http.Header, body []byte) *fault.Error {
	r := dialect.ReadRefusal(body) // {"status":422,"message":"..."}
	r.Status, r.Header = status, header
	f := r.Fault(ep)
	f.Upstream.RefusedReasoning = status >= 400 && status <= 499 && strings.Contains(r.Message, "functions_state_id")
	return f
}
