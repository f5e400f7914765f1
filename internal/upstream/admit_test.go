package upstream_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/dialect/gemini"
	"weir/internal/dialect/openai"
	"weir/internal/fault"
	"weir/internal/rawjson"
	"weir/internal/sim"
	"weir/internal/upstream"
	"weir/internal/upstream/upstreamtest"
	"weir/internal/wire/chat"
)

var accountKey = sync.OnceValue(func() string {
	k, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return string(rawjson.AppendText(nil, string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(k)}))))
})

// account is the key file of an account of Yandex Cloud.
func account(id string) string {
	return `{"id":"` + id + `","service_account_id":"sa","private_key":` + accountKey() + `}`
}

// fixture answers requests for tokens: "token-1", "token-2", ...
type fixture struct {
	asked atomic.Int64
	reply func(c *upstreamtest.Conn, n int64) // nil: a token
}

func (o *fixture) aside(c *upstreamtest.Conn) bool {
	if c.Request.URL.Path != "/iam" {
		return false
	}
	n := o.asked.Add(1)
	if o.reply != nil {
		o.reply(c, n)
		return true
	}
	c.Send(upstreamtest.JSON(token(n)))
	return true
}

func token(n int64) string {
	return fmt.Sprintf(`{"iamToken":"token-%d","expiresAt":"2999-01-01T00:00:00Z"}`, n)
}

// accountEndpoint is an endpoint whose credential is a key file, and the provider after it.
func accountEndpoint(t *testing.T, o *fixture, scripts ...upstreamtest.Script) (*catalog.Endpoint, *upstreamtest.Provider) {
	p := upstreamtest.NewProvider(t, scripts...)
	p.SetAside(o.aside)
	ep := endpoint(p.URL)
	ep.Provider.Key, ep.Provider.Quirks.AuthURL = account("a"), p.URL+"/iam"
	return ep, p
}

func bearers(p *upstreamtest.Provider) (list []string) {
	for _, seen := range p.Seen() {
		list = append(list, strings.TrimPrefix(seen.Header.Get("Authorization"), "Bearer "))
	}
	return list
}

// Calls at the same time have one token, and calls after them the same.
func TestTokenIsShared(t *testing.T) {
	t.Parallel()
	bothClients(t, func(t *testing.T, standard bool) {
		o := new(fixture)
		ep, p := accountEndpoint(t, o, upstreamtest.Send(upstreamtest.JSON(whole)))
		c := client(t, upstream.Config{Standard: standard})
		var calls sync.WaitGroup
		for i := range 50 {
			calls.Go(func() {
				if got := upstreamtest.Collect(c.Complete(context.Background(), ep, request(i%2 == 1), nil)); got.Err != nil || got.Text != "hi" {
					t.Errorf("%+v", got)
				}
			})
		}
		calls.Wait()
		if n := o.asked.Load(); n != 1 {
			t.Errorf("asked %d times", n)
		}
		for _, b := range bearers(p) {
			if b != "token-1" {
				t.Errorf("%q", b)
			}
		}
	})
}

// A token that the provider no longer accepts is replaced, once, within the call.
func TestTokenIsReplaced(t *testing.T) {
	t.Parallel()
	bothClients(t, func(t *testing.T, standard bool) {
		o, now := new(fixture), time.Now()
		var known atomic.Value
		known.Store("token-1")
		ep, p := accountEndpoint(t, o, func(c *upstreamtest.Conn) {
			if c.Request.Header.Get("Authorization") == "Bearer "+known.Load().(string) {
				c.Send(upstreamtest.JSON(whole))
				return
			}
			c.Send(upstreamtest.Sized(401, "application/json", `{"error":{"message":"who is `+c.Request.Header.Get("Authorization")+`?"}}`))
		})
		c := client(t, upstream.Config{Standard: standard, Now: func() time.Time { return now }})
		ask := func() upstreamtest.Sum {
			return upstreamtest.Collect(c.Complete(context.Background(), ep, request(false), nil))
		}
		if got := ask(); got.Err != nil {
			t.Fatal(got.Err)
		}
		known.Store("token-2")
		now = now.Add(time.Minute)
		if got := ask(); got.Err != nil {
			t.Fatal(got.Err)
		}
		known.Store("none")
		now = now.Add(time.Minute)
		got := ask()
		if got.Err == nil || got.Err.Details["reason"] != "upstream_auth" || got.Err.Next != fault.NextEndpoint {
			t.Fatalf("%+v", got.Err)
		}
		if reported := got.Err.Error() + fmt.Sprint(got.Err.Upstream, got.Err.Cause); strings.Contains(reported, "token-") {
			t.Errorf("a token is told: %s", reported)
		}
		if list := strings.Join(bearers(p), " "); list != "token-1 token-1 token-2 token-2 token-3" {
			t.Errorf("%s", list)
		}
	})
}

// A token that is not to be had is the credential's failure: another credential is used, or else another endpoint.
func TestTokenIsNotGiven(t *testing.T) {
	t.Parallel()
	for name, reply := range map[string]func(c *upstreamtest.Conn, n int64){
		"refused": func(c *upstreamtest.Conn, _ int64) {
			c.Send(upstreamtest.Sized(401, "application/json", `{"message":"no such key"}`))
		},
		"nonsense": func(c *upstreamtest.Conn, _ int64) { c.Send(upstreamtest.JSON("[]")) },
		"closed":   func(c *upstreamtest.Conn, _ int64) { _ = c.Close() },
		"a redirect": func(c *upstreamtest.Conn, _ int64) {
			c.Send(upstreamtest.Sized(307, "text/html", "", "Location: http://127.0.0.1:1/"))
		},
		"compressed": func(c *upstreamtest.Conn, n int64) {
			c.Send(upstreamtest.Sized(200, "application/json", token(n), "Content-Encoding: gzip"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bothClients(t, func(t *testing.T, standard bool) {
				ep, p := accountEndpoint(t, &fixture{reply: reply}, upstreamtest.Send(upstreamtest.JSON(whole)))
				c := client(t, upstream.Config{Standard: standard})
				got := upstreamtest.Collect(c.Complete(context.Background(), ep, request(false), nil))
				if got.Err == nil || got.Err.Kind != fault.ProviderUnavailable || got.Err.Next != fault.NextEndpoint || got.Err.Details["reason"] != "upstream_auth" || len(p.Seen()) != 0 {
					t.Fatalf("%+v, %d calls", got.Err, len(p.Seen()))
				}
				if name != "refused" {
					return
				}
				with := *ep
				provider := *ep.Provider
				provider.Keys, with.Provider = []string{"another-key"}, &provider
				if got := upstreamtest.Collect(c.Complete(context.Background(), &with, request(false), nil)); got.Err != nil || got.Text != "hi" {
					t.Errorf("%+v", got)
				}
			})
		})
	}
}

// The time that a token takes is the attempt's, and who leaves does not wait for it.
func TestTokenTakesItsTime(t *testing.T) {
	t.Parallel()
	bothClients(t, func(t *testing.T, standard bool) {
		hang := &fixture{reply: func(c *upstreamtest.Conn, _ int64) { c.Hang() }}
		ep, _ := accountEndpoint(t, hang, upstreamtest.Send(""))
		c := client(t, upstream.Config{Standard: standard, Timeouts: upstream.Timeouts{FirstByte: 50 * time.Millisecond}})
		got := upstreamtest.Collect(c.Complete(context.Background(), ep, request(false), nil))
		if got.Err == nil || got.Err.Kind != fault.Timeout || got.Err.Next != fault.NextEndpoint {
			t.Errorf("%+v", got.Err)
		}
		ctx, cancel := context.WithCancelCause(context.Background())
		leaving := &fixture{reply: func(c *upstreamtest.Conn, _ int64) { cancel(errors.New("gone")); c.Hang() }}
		ep, _ = accountEndpoint(t, leaving, upstreamtest.Send(""))
		ep.Provider.ID = "leaving"
		c = client(t, upstream.Config{Standard: standard})
		if got := upstreamtest.Collect(c.Complete(ctx, ep, request(false), nil)); got.Err == nil || got.Err.Kind != fault.Canceled {
			t.Errorf("%+v", got.Err)
		}
	})
}

func TestBadAccountIsNotConfigured(t *testing.T) {
	t.Parallel()
	ep := endpoint("http://127.0.0.1:1")
	ep.Provider.Key = `{"type":"service_account","private_key":"a secret"}`
	got := upstreamtest.Collect(client(t, upstream.Config{}).Complete(context.Background(), ep, request(false), nil))
	if got.Err == nil || got.Err.Next != fault.NextEndpoint || strings.Contains(got.Err.Error(), "a secret") {
		t.Errorf("%+v", got.Err)
	}
}

// Authorities of a provider are trusted for that provider, and nothing else is.
func TestAuthorities(t *testing.T) {
	t.Parallel()
	bothClients(t, func(t *testing.T, standard bool) {
		srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/iam" {
				_, _ = w.Write([]byte(token(1)))
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(whole))
		}))
		srv.Config.ErrorLog = log.New(io.Discard, "", 0)
		srv.StartTLS()
		defer srv.Close()
		ca := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}))
		c := client(t, upstream.Config{Standard: standard})
		ask := func(id, ca string, key string) *fault.Error {
			ep := endpoint(srv.URL)
			ep.Provider.ID, ep.Provider.CA, ep.Provider.Key, ep.Provider.Quirks.AuthURL = id, ca, key, srv.URL+"/iam"
			return upstreamtest.Collect(c.Complete(context.Background(), ep, request(false), nil)).Err
		}
		if err := ask("with", ca, "key"); err != nil {
			t.Error(err)
		}
		if err := ask("token", ca, account("a")); err != nil {
			t.Error(err)
		}
		if err := ask("without", "", "key"); err == nil || err.Kind != fault.ProviderUnavailable {
			t.Errorf("a certificate of nobody's was taken: %v", err)
		}
		if err := ask("broken", "-----BEGIN CERTIFICATE-----", "key"); err == nil {
			t.Error("authorities that are none were taken")
		}
	})
}

func chatRequest(t *testing.T, members string) *completion.Request {
	t.Helper()
	req, err := chat.Decode([]byte(`{"model":"v/m",` + members + `"messages":[{"role":"user","content":"hello"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	return req
}

// Yandex AI Studio through the openai dialect: API keys, tokens that are ready, and key files; models by address in a folder.
func TestYandex(t *testing.T) {
	t.Parallel()
	s := sim.New(sim.Config{Key: "t1.ready"})
	keyed := sim.New(sim.Config{Key: "AQVN-api-key"})
	var seen atomic.Pointer[http.Header]
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/iam":
			_, _ = w.Write([]byte(`{"iamToken":"t1.ready","expiresAt":"2999-01-01T00:00:00Z"}`))
			return
		case strings.HasPrefix(r.Header.Get("Authorization"), "Api-Key "):
			keyed.ServeHTTP(w, r)
		default:
			s.ServeHTTP(w, r)
		}
		seen.Store(&r.Header)
	}))
	t.Cleanup(srv.Close)
	c := upstreamtest.New(upstream.Config{Dialects: map[string]dialect.Dialect{"openai": new(openai.Dialect)}})
	t.Cleanup(c.Close)
	for _, tc := range []struct{ name, key, want string }{
		{"an API key", "AQVN-api-key", "Api-Key AQVN-api-key"}, {"a token", "t1.ready", "Bearer t1.ready"}, {"a key file", account("a"), "Bearer t1.ready"},
	} {
		for _, stream := range []string{"", `"stream":true,`} {
			ep := endpoint("")
			ep.Provider.BaseURL = srv.URL + "/yandex/v1"
			ep.UpstreamID = "gpt://b1gfolder/echo/latest"
			ep.Provider.ID, ep.Provider.Key, ep.Provider.Headers = tc.name, tc.key, map[string]string{"OpenAI-Project": "b1gfolder"}
			ep.Provider.Quirks = catalog.Quirks{AuthScheme: "Api-Key", AuthURL: srv.URL + "/iam", MaxTokensField: "max_tokens", SystemRole: true}
			got := upstreamtest.Collect(c.Complete(context.Background(), ep, chatRequest(t, stream), nil))
			if got.Err != nil || got.Text == "" {
				t.Fatalf("%s: %+v", tc.name, got)
			}
			if h := *seen.Load(); h.Get("Authorization") != tc.want || h.Get("OpenAI-Project") != "b1gfolder" {
				t.Errorf("%s: %v", tc.name, h)
			}
		}
	}
}

// Vertex AI through the gemini dialect: the key file of a service account is exchanged for tokens.
func TestVertex(t *testing.T) {
	t.Parallel()
	s := sim.New(sim.Config{Key: "ya29.token"})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/token" {
			_, _ = w.Write([]byte(`{"access_token":"ya29.token","expires_in":3599,"token_type":"Bearer"}`))
			return
		}
		s.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	c := upstreamtest.New(upstream.Config{Dialects: map[string]dialect.Dialect{"gemini": new(gemini.Dialect)}})
	t.Cleanup(c.Close)
	ep := endpoint("")
	ep.Provider.BaseURL = srv.URL + "/v1/projects/p/locations/europe-west1/publishers/google"
	ep.Provider.Dialect, ep.UpstreamID = "gemini", "echo"
	ep.Provider.Key = `{"type":"service_account","client_email":"a@b.test","token_uri":"` + srv.URL + `/token","private_key":` + accountKey() + `}`
	for _, stream := range []string{"", `"stream":true,`} {
		if got := upstreamtest.Collect(c.Complete(context.Background(), ep, chatRequest(t, stream), nil)); got.Err != nil || got.Text == "" {
			t.Errorf("%+v", got)
		}
	}
}
