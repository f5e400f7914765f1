package app

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/config"
	"weir/internal/dialect/auth"
	"weir/internal/dialect/gigachat"
	"weir/internal/fault"
	"weir/internal/outbound"
	"weir/internal/outbound/tunnel"
	"weir/internal/rawjson"
	"weir/internal/redact"
	"weir/internal/task"
	"weir/internal/upstream"
	"weir/internal/usage"
	"weir/internal/wire"
	"weir/internal/wire/chat"
	"weir/internal/wire/embeddings"
	"weir/internal/wire/images"
	"weir/internal/wire/moderations"
	"weir/internal/wire/rerank"
	"weir/internal/wire/speech"
	"weir/internal/wire/transcriptions"
)

// Trial is one call to a provider, made to see whether it works. Nothing is charged to any wallet: the provider bills the operator.
type Trial struct {
	Type     string // of the model, one of catalog's Type constants; "models": the server was asked for its models
	Dialect  string
	Address  string
	Model    string // slug, "" where none was called
	Upstream string // the provider's id of the model
	Key      int    // which credential was sent, from 1; 0: the provider has one or none

	Skipped string        // why no call was made, "" if one was
	Way     string        // by which it was called: "direct", or the proxy without user name and password
	Took    time.Duration // until the end of the answer
	Usage   *usage.Usage  // nil: the provider reported none
	Wrong   string        // what does not work: "address", "proxy", "key", "model id", "request", "answer", "provider"; "" if it works
	Detail  string        // what the provider or the connection said
	Advice  []string      // what to do

	Authority *x509.Certificate // of the server's certificate, where this machine does not trust it; nil where the server does not show it
}

// TestProvider makes one cheap call for each type of model that a provider serves, and for each credential, and passes each result to done.
// Images are made only if costly is set; videos never are. It fails if the provider is not known or has no models.
func TestProvider(ctx context.Context, cfg config.Config, id string, costly bool, done func(Trial)) error {
	b, found, err := asked(ctx, cfg, id)
	if err != nil {
		return err
	}
	if found != nil {
		if done(*found); b.Snapshot.ModelsOf(id) == 0 {
			return nil
		}
	}
	return testProvider(ctx, cfg, dialerOf(&cfg), b.Snapshot, id, costly, func(t Trial) bool {
		done(t)
		return true
	})
}

// testProvider is TestProvider for a provider of a catalog, until done wants no more.

func testProvider(ctx context.Context, cfg config.Config, d *tunnel.Dialer, snap *catalog.Snapshot, id string, costly bool, done func(Trial) bool) error {
	return trying{cfg: cfg, dialer: d, snap: snap, costly: costly}.provider(ctx, id, done)
}

// trying is what is tried of a catalog.
type trying struct {
	cfg    config.Config
	dialer *tunnel.Dialer
	snap   *catalog.Snapshot
	costly bool
	only   *string // the one key that is tried, in place of those that the provider has; nil: all of them
}

func (w trying) provider(ctx context.Context, id string, done func(Trial) bool) error {
	cfg, d, snap, costly := w.cfg, w.dialer, w.snap, w.costly
	byType := map[string][]*catalog.Endpoint{}
	secrets := cfg.Secrets()
	for _, m := range snap.Models() {
		for _, ep := range m.Endpoints {
			if ep.Provider.ID == id {
				byType[m.Type] = append(byType[m.Type], ep)
				secrets = append(append(secrets, ep.Provider.Key), ep.Provider.Keys...) // what a server repeats of a key is not shown
			}
		}
	}
	if len(byType) == 0 {
		return noProvider(snap, id)
	}
	types := make([]string, 0, len(byType))
	for t := range byType {
		types = append(types, t)
	}
	slices.SortFunc(types, func(x, y string) int { return cmp.Or(cmp.Compare(place(x), place(y)), strings.Compare(x, y)) })
	t := tester{cfg: cfg, redactor: redact.New(secrets...), dialer: d}
	for _, kind := range types {
		endpoints := byType[kind]
		switch {
		case kind == catalog.TypeVideo:
			if !done(t.skipped(endpoints[0], "a video costs too much for a test")) {
				return nil
			}
			continue
		case kind == catalog.TypeImage && !costly:
			if !done(t.skipped(endpoints[0], "an image is not cheap; --all makes one")) {
				return nil
			}
			continue
		}
		keys := credentials(endpoints[0].Provider)
		if w.only != nil {
			keys = []credential{{*w.only, 0}}
		}
		for _, one := range keys {
			if !done(t.endpoints(ctx, endpoints, one)) {
				return nil
			}
		}
	}
	return nil
}

// place orders the types of models: those that most providers have come first.
func place(kind string) int {
	if kind == catalog.TypeChat {
		return 0
	}
	return 1
}

func noProvider(s *catalog.Snapshot, id string) error {
	var known []string
	for _, m := range s.Models() {
		for _, ep := range m.Endpoints {
			known = append(known, ep.Provider.ID)
		}
	}
	slices.Sort(known)
	known = slices.Compact(known)
	if len(known) == 0 {
		return fmt.Errorf("no provider serves a model: set the key of a known one, such as OPENAI_API_KEY, or declare one under providers")
	}
	return fmt.Errorf("the provider %q serves no model; these do: %s", id, strings.Join(known, ", "))
}

func (t *tester) skipped(ep *catalog.Endpoint, why string) Trial {
	out := t.describe(ep)
	out.Skipped = why
	return out
}

func (t *tester) describe(ep *catalog.Endpoint) Trial {
	way := outbound.Direct
	if u, err := url.Parse(ep.Provider.BaseURL); err == nil {
		way = t.dialer.Ways.To(ep.Provider.Proxy, outbound.HostPort(u)).String()
	}
	return Trial{Way: way, Type: ep.Model.Type, Dialect: ep.Provider.Dialect, Address: ep.Provider.BaseURL, Model: ep.Model.Slug, Upstream: ep.UpstreamID}
}

// credential is one of a provider's, and its number, 0 where there is one at most.
type credential struct {
	key    string
	number int
}

func credentials(p *catalog.Provider) []credential {
	if len(p.Keys) == 0 {
		return []credential{{p.Key, 0}}
	}
	out := []credential{{p.Key, 1}}
	for i, k := range p.Keys {
		out = append(out, credential{k, i + 2})
	}
	return out
}

// tester makes the calls of one test. Each has a client of its own: what one learns of a provider must not change what the next one sees.
type tester struct {
	cfg      config.Config
	redactor *redact.Redactor
	dialer   *tunnel.Dialer
}

// triedModels is how many models are called until one is known to the provider.
const triedModels = 3

// endpoints calls the cheapest endpoint, and others where the provider does not know its model.
func (t *tester) endpoints(ctx context.Context, list []*catalog.Endpoint, key credential) Trial {
	list = slices.Clone(list)
	var first Trial
	for n := 0; n < triedModels && len(list) > 0; n++ {
		ep := catalog.Cheapest(list)
		list = slices.DeleteFunc(list, func(e *catalog.Endpoint) bool { return e.Model == ep.Model })
		tried := t.endpoint(ctx, with(ep, func(p *catalog.Provider) { p.Key, p.Keys, p.Draining = key.key, nil, nil }))
		tried.Key = key.number
		if n == 0 {
			first = tried
		}
		switch {
		case tried.Wrong == "" && n > 0:
			first.Wrong = wrongModel
			first.Advice = []string{fmt.Sprintf("%s works with the same address and key. Correct upstream_id of %s, or remove it.", tried.Model, first.Model)}
			return first
		case tried.Wrong != wrongModel:
			return first
		}
	}
	return first
}

// with returns a copy of an endpoint whose provider is changed.
func with(ep *catalog.Endpoint, change func(*catalog.Provider)) *catalog.Endpoint {
	e, p := *ep, *ep.Provider
	change(&p)
	e.Provider = &p
	return &e
}

// What can be wrong.
const (
	wrongAddress  = "address"
	wrongProxy    = "proxy"
	wrongKey      = "key"
	wrongModel    = "model id"
	wrongRequest  = "request"
	wrongAnswer   = "answer"
	wrongProvider = "provider"
)

// endpoint calls an endpoint. Where that fails in a way that a setting can mend, it looks for the setting.
func (t *tester) endpoint(ctx context.Context, ep *catalog.Endpoint) Trial {
	out := t.call(ctx, ep)
	switch out.Wrong {
	case wrongAddress, wrongModel:
		for _, address := range otherAddresses(ep.Provider.BaseURL) {
			if t.call(ctx, with(ep, func(p *catalog.Provider) { p.BaseURL = address })).Wrong == "" {
				out.Wrong, out.Advice = wrongAddress, []string{"It works with base_url: " + address}
				break
			}
		}
	case wrongRequest:
		for _, q := range quirksToTry {
			if ep.Model.Type == catalog.TypeChat && t.call(ctx, with(ep, func(p *catalog.Provider) { q.set(&p.Quirks) })).Wrong == "" {
				out.Advice = []string{"It works with the quirk " + q.text}
				break
			}
		}
	}
	return out
}

// otherAddresses are the usual spellings of an address.
func otherAddresses(base string) []string {
	if rest, found := strings.CutSuffix(base, "/v1"); found {
		return []string{rest}
	}
	return []string{base + "/v1"}
}

// quirksToTry are those that make a provider refuse an ordinary request.
var quirksToTry = []struct {
	text string
	set  func(*catalog.Quirks)
}{
	{"no_stream_options: true", func(q *catalog.Quirks) { q.NoStreamOptions = true }},
	{"max_tokens_field: max_completion_tokens", func(q *catalog.Quirks) { q.MaxTokensField = "max_completion_tokens" }},
	{"max_tokens_field: max_tokens", func(q *catalog.Quirks) { q.MaxTokensField = "max_tokens" }},
	{"drop: [max_tokens]", func(q *catalog.Quirks) { q.Drop = append(slices.Clone(q.Drop), "max_tokens", "max_completion_tokens") }},
}

// longestTrial bounds one call: a test of a provider is not worth more of a person's time.
const longestTrial = time.Minute

// call makes one call and judges it.
func (t *tester) call(ctx context.Context, ep *catalog.Endpoint) Trial {
	out := t.describe(ep)
	req, err := request(ep)
	if err != nil {
		out.Wrong, out.Detail = wrongRequest, fault.From(err).Public
		return out
	}
	client := upstream.New(upstreamConfig(t.cfg, t.redactor, t.dialer))
	defer client.Close()
	ctx, stop := context.WithTimeout(ctx, longestTrial)
	defer stop()
	began := time.Now()
	var text []byte
	for ev, err := range client.Complete(ctx, ep, req, nil) {
		if err != nil {
			out.Took = time.Since(began)
			out.judge(ep, fault.From(err))
			return out
		}
		if ev.Usage != nil {
			out.Usage = ev.Usage
		}
		text = append(text, ev.Text...)
	}
	out.Took = time.Since(began)
	if ep.Model.Type == catalog.TypeChat {
		out.notice(ep, text)
	}
	return out
}

// notice adds what is worth knowing of an answer that came.
func (t *Trial) notice(ep *catalog.Endpoint, text []byte) {
	if t.Usage == nil || !t.Usage.Prompt.Reported {
		t.Advice = append(t.Advice, "The provider reports no usage: its calls are charged by estimates.")
	}
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("<think>")) && !ep.Provider.Quirks.ThinkTags {
		t.Advice = append(t.Advice, "It writes reasoning into the text: set the quirk think_tags: true")
	}
}

// judge says what is wrong, and what to do.
func (t *Trial) judge(ep *catalog.Endpoint, f *fault.Error) {
	status := 0
	if f.Upstream != nil {
		status = f.Upstream.Status
		t.Detail = f.Upstream.Raw
	}
	t.Detail = cmp.Or(t.Detail, f.Public)
	if f.Cause != nil && status == 0 {
		t.Detail = f.Cause.Error()
	}
	if status != 0 {
		t.Detail = fmt.Sprintf("status %d: %s", status, t.Detail)
	}
	remedy := "Check its api_key."
	if ep.Provider.Key == "" {
		remedy = "It has no key: set api_key."
	}
	var proxy *outbound.Failure
	switch {
	case errors.As(f.Cause, &proxy):
		t.Wrong, t.Detail = wrongProxy, proxy.Proxy.String()+" "+proxy.What
		t.Advice = []string{sentence(proxy.Remedy)}
	case t.tokens(ep, f):
	case f.Upstream != nil && f.Upstream.Unreachable:
		t.Wrong = wrongAddress
		t.Advice = []string{"No connection to " + ep.Provider.BaseURL + ": check base_url, ca_file and the network."}
		t.distrust(f.Cause)
	case status == 401 || status == 403:
		t.Wrong, t.Advice = wrongKey, []string{remedy}
	case status == 402:
		t.Wrong, t.Advice = wrongProvider, []string{"The account at the provider has no money."}
	case status == 429:
		t.Wrong, t.Advice = wrongProvider, []string{"The provider is at a limit of this account. Address and key work."}
	case status == 404 || status == 405:
		t.Wrong = wrongModel
		t.Advice = []string{fmt.Sprintf("Check upstream_id (%s) and base_url (%s).", ep.UpstreamID, ep.Provider.BaseURL)}
	case status >= 500:
		t.Wrong, t.Advice = wrongProvider, []string{"The provider fails at present. Try again later."}
	case status >= 400:
		t.Wrong, t.Advice = wrongRequest, []string{"The provider refuses this request: see docs/configuration.md for quirks."}
	case status == 0 && f.Kind == fault.Timeout || errors.Is(f.Cause, context.DeadlineExceeded):
		t.Wrong, t.Advice = wrongProvider, []string{fmt.Sprintf("No answer within %s.", longestTrial)}
	default:
		t.Wrong, t.Advice = wrongAnswer, []string{fmt.Sprintf("The answer is not that of the wire %s: check dialect and base_url.", ep.Provider.Dialect)}
	}
}

// tokens judges a call for which there was no token: the host of tokens is another than that of the calls, and has its own address, authority and words.
func (t *Trial) tokens(ep *catalog.Endpoint, f *fault.Error) bool {
	var refused *auth.RefusedError
	var away *auth.HostError
	switch {
	case errors.As(f.Cause, &refused):
		t.Wrong, t.Detail = wrongKey, fmt.Sprintf("%s gives no token, status %d: %s", refused.Host, refused.Status, cmp.Or(refused.Reason, http.StatusText(refused.Status)))
		if refused.Status >= 500 || refused.Status == http.StatusTooManyRequests {
			t.Wrong, t.Advice = wrongProvider, []string{"The host of tokens fails at present. Try again later."}
			return true
		}
		t.Advice = []string{"Check its api_key, and whether it is for this service."}
		if ep.Provider.Dialect == "gigachat" {
			t.Advice = []string{fmt.Sprintf("The key is asked for the scope %s. If it is for another, set the quirk auth_scope: GIGACHAT_API_PERS for people, GIGACHAT_API_B2B for a company that pays in advance, GIGACHAT_API_CORP for one with a contract. Else check api_key: the authorization key, or CLIENT_ID:SECRET.", cmp.Or(ep.Provider.Quirks.AuthScope, gigachat.UsualScope))}
		}
	case errors.As(f.Cause, &away):
		var unknown *net.DNSError
		t.Wrong, t.Detail = wrongAddress, fmt.Sprintf("no token from %s: %v", away.Host, away.Cause)
		switch {
		case errors.As(away.Cause, &unknown):
			t.Advice = []string{fmt.Sprintf("The name of %s, which gives tokens, is not resolved: check DNS and the network, or set the quirk auth_url.", away.Host)}
		case errors.As(away.Cause, new(*tls.CertificateVerificationError)):
			t.Advice = []string{fmt.Sprintf("The certificate of %s, which gives tokens, is not trusted: set ca_file to that of its authority.", away.Host)}
			t.distrust(away.Cause)
		default:
			t.Advice = []string{fmt.Sprintf("Calls need a token from %s first: check the network, ca_file and the quirk auth_url.", away.Host)}
		}
	default:
		return false
	}
	return true
}

// distrust names the authority of a certificate that is not trusted, so that an operator can decide about it.
func (t *Trial) distrust(why error) {
	var refused *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	if !errors.As(why, &refused) || !errors.As(why, &unknown) || len(refused.UnverifiedCertificates) == 0 {
		return
	}
	last := refused.UnverifiedCertificates[len(refused.UnverifiedCertificates)-1]
	if last.IsCA || bytes.Equal(last.RawIssuer, last.RawSubject) {
		t.Authority = last
		t.Advice = []string{fmt.Sprintf("This machine does not trust %s, which vouches for this server. If the provider publishes %s as the SHA-256 of its certificate, trust it for this provider: ca_file in the configuration, ca in the catalog.", authorityName(last), fingerprint(last))}
		return
	}
	t.Advice = []string{fmt.Sprintf("This machine does not trust %s, which vouches for this server and whose certificate the server does not show: get it from the provider, and trust it for this provider: ca_file in the configuration, ca in the catalog.", last.Issuer.CommonName)}
}

func authorityName(c *x509.Certificate) string {
	return cmp.Or(c.Subject.CommonName, c.Subject.String())
}

// fingerprint is the SHA-256 of a certificate, as browsers and openssl print it.
func fingerprint(c *x509.Certificate) string {
	sum := sha256.Sum256(c.Raw)
	return strings.ReplaceAll(fmt.Sprintf("% X", sum[:]), " ", ":")
}

// sentence is a remedy as a sentence.
func sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] + "." }

// request is the cheapest request to a model of the endpoint's type.
func request(ep *catalog.Endpoint) (*completion.Request, error) {
	var w rawjson.Writer
	w.Object()
	w.Name("model").Text(ep.Model.Slug)
	body := func(rest string) []byte { return append(w.B, rest...) }
	var req *completion.Request
	var err error
	switch ep.Model.Type {
	case catalog.TypeEmbedding:
		req, err = embeddings.Decode(body(`,"input":"ok"}`))
	case catalog.TypeModeration:
		req, err = moderations.Decode(body(`,"input":"ok"}`), "")
	case catalog.TypeRerank:
		req, err = rerank.Decode(body(`,"query":"ok","documents":["ok","no"]}`))
	case catalog.TypeSpeech:
		req, err = speech.Decode(body(`,"input":"ok","voice":"alloy"}`))
	case catalog.TypeImage:
		req, err = images.Decode(body(`,"prompt":"a dot","n":1}`), false)
	case catalog.TypeTranscription:
		req, err = transcriptions.Decode(&wire.Form{
			File: bytes.NewReader(silence()), FileName: "silence.wav", FileType: "audio/wav", Fields: []task.Field{{Name: "model", Value: ep.Model.Slug}},
		})
	default:
		req, err = chat.Decode(body(`,"messages":[{"role":"user","content":"Reply with: ok"}],"max_tokens":16,"stream":true,"stream_options":{"include_usage":true}}`))
	}
	if err == nil {
		req.N = max(req.N, 1)
	}
	return req, err
}

// silence is a recording of a second.
func silence() []byte {
	const rate, size = 16000, 2 * 16000
	b := make([]byte, 44+size)
	copy(b, "RIFF")
	binary.LittleEndian.PutUint32(b[4:], 36+size)
	copy(b[8:], "WAVEfmt ")
	binary.LittleEndian.PutUint32(b[16:], 16)
	binary.LittleEndian.PutUint16(b[20:], 1) // PCM
	binary.LittleEndian.PutUint16(b[22:], 1) // channels
	binary.LittleEndian.PutUint32(b[24:], rate)
	binary.LittleEndian.PutUint32(b[28:], 2*rate)
	binary.LittleEndian.PutUint16(b[32:], 2)
	binary.LittleEndian.PutUint16(b[34:], 16)
	copy(b[36:], "data")
	binary.LittleEndian.PutUint32(b[40:], size)
	return b
}
