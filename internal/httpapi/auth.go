package httpapi

import (
	"net/http"
	"slices"
	"strings"

	"weir/internal/apikey"
	"weir/internal/fault"
	"weir/internal/httpserver"
)

// authorize finds the caller, checks that the route is open to them, and counts the call where nothing else counts it.
func (x *request) authorize() error {
	switch x.route.access {
	case unlimited:
		return nil
	case public:
		return x.admitPublic()
	case visiting:
		return x.admitVisitor()
	case linked:
		return x.api.quotas.Anonymous(x.at, x.addressName())
	case notifying:
		if err := x.route.from(x.client()); err != nil {
			return err
		}
		return x.api.quotas.Anonymous(x.at, x.addressName())
	}
	find := x.verify
	if x.route.access == provisioning {
		find = x.verifyDirectory
	}
	caller, err := x.authenticate(find)
	if err != nil {
		return err
	}
	x.caller = caller
	x.memory.Open(x.api.quotas.Bytes, x.counted(caller))
	if err := x.mayAct(caller); err != nil {
		return err
	}
	switch {
	case x.route.access == signedIn && x.session == nil:
		return fault.New(fault.PermissionDenied, "httpapi.authorize", "This route is for people who are signed in with a browser.")
	case x.route.access == management && !caller.Management:
		return fault.New(fault.PermissionDenied, "httpapi.authorize", "This route needs a management key.")
	case x.route.access == administration && (!caller.Management || caller.Role != apikey.Administrator):
		return fault.New(fault.PermissionDenied, "httpapi.authorize", "This route is for administrators: it needs a management key or the sign-in of one.")
	case x.route.access == operating && (!caller.Management || !caller.Role.Operates()):
		return fault.New(fault.PermissionDenied, "httpapi.authorize", "This route is for operators: it needs a management key or the sign-in of one.")
	case x.route.access == inference && caller.Management:
		return fault.New(fault.PermissionDenied, "httpapi.authorize", "A management key cannot call models. Use an API key.")
	case x.route.access == inference:
		return x.checkTags()
	}
	if err := x.api.quotas.Call(x.at, x.counted(caller)); err != nil || !x.route.changes() {
		return err
	}
	return x.api.quotas.Change(x.at, x.counted(caller))
}

// authenticate looks the key up before anything is counted: a valid key works from any address, whatever others send from there. Only
// failures count.
func (x *request) authenticate(find func() (*apikey.Caller, error)) (*apikey.Caller, error) {
	caller, err := find()
	if !fault.Is(err, fault.Authentication) {
		return caller, err
	}
	x.api.Metrics.authFailures.Inc()
	if refused := x.api.quotas.Failure(x.at, x.addressName()); refused != nil {
		return nil, refused
	}
	return nil, err
}

// verify finds the caller by the request's key. Every reason to refuse it has the same answer.
func (x *request) verify() (*apikey.Caller, error) {
	x.watchPeer()
	if token := x.sessionToken(); token != "" {
		return x.verifySession(token)
	}
	text, why := credential(x.r, x.envelope())
	if why != "" {
		return nil, x.unauthorized("httpapi.credential: " + why)
	}
	caller, err := x.api.Verifier.Verify(x.r.Context(), text, x)
	if fault.Is(err, fault.Authentication) {
		return nil, x.unauthorized(fault.From(err).Op)
	}
	if err == nil {
		err = x.mayFrom(caller)
	}
	if err != nil {
		return nil, err
	}
	return x.actsAs(caller)
}

func (x *request) unauthorized(op string) error {
	header := "Authorization: Bearer <API key>"
	switch x.envelope() {
	case messagesEnvelope:
		header = "x-api-key: <API key>"
	case geminiEnvelope:
		header = "x-goog-api-key: <API key>"
	case standardEnvelope, oauthEnvelope, scimEnvelope, liteLLMEnvelope:
	}
	return fault.New(fault.Authentication, op, "The API key is missing, wrong, disabled or expired, or there are two different ones. Send one as "+header+".")
}

// envelope is the form of the request's errors, also where it has no route.
func (x *request) envelope() envelope {
	switch {
	case x.route != nil:
		return x.route.envelope
	case ofMessages(x.r):
		return messagesEnvelope
	case ofGemini(x.r.URL.Path):
		return geminiEnvelope
	}
	return standardEnvelope
}

// MayAsk bounds the key look-ups that one address may cause in vain; see apikey.Stranger.
func (x *request) MayAsk() error { return x.api.quotas.MayMiss(x.at, x.addressName()) }

// Missed counts one of them.
func (x *request) Missed() { x.api.quotas.Missed(x.at, x.addressName()) }

// credential is the text of the request's key, or why it has no key. Requests of the messages style and those of LiteLLM's routes may have it in x-api-key, and those of the
// Gemini style in x-goog-api-key or in the query; of several places the one with a key of ours counts, because some tools send a provider's
// key as well. Two different keys of ours are refused on every route: one of them would be charged by chance.
func credential(r *http.Request, style envelope) (text, why string) {
	text, why = bearer(r.Header["Authorization"])
	own := slices.Concat(r.Header["X-Api-Key"], r.Header["X-Goog-Api-Key"])
	elsewhere := style == messagesEnvelope || style == liteLLMEnvelope
	if style == geminiEnvelope {
		own, elsewhere = slices.Concat(r.Header["X-Goog-Api-Key"], keysOfQuery(r), r.Header["X-Api-Key"]), true
	}
	if len(own) == 0 {
		return text, why
	}
	first := ""
	if apikey.Ours(text) {
		first = text
	}
	for _, v := range own {
		if v = strings.TrimSpace(v); !apikey.Ours(v) {
			continue
		}
		if first != "" && v != first {
			return "", "two keys"
		}
		first = v
	}
	switch {
	case !elsewhere || why == "" && text == first:
		return text, why
	case first != "":
		return first, ""
	case why == "":
		return text, ""
	}
	return own[0], "" // wrong, and counted as such
}

// bearer finds the key in the values of the Authorization header.
func bearer(values []string) (text, why string) {
	const scheme = "bearer "
	switch {
	case len(values) == 0 || values[0] == "":
		return "", "missing"
	case len(values) > 1:
		return "", "two keys"
	case len(values[0]) <= len(scheme) || !strings.EqualFold(values[0][:len(scheme)], scheme):
		return "", "no bearer"
	}
	return strings.TrimSpace(values[0][len(scheme):]), ""
}

// admitPublic admits a request for something that needs no key. With a valid key it counts as the user's, else as the address's: a wrong
// key is treated as none, because many clients send one that they made up.
func (x *request) admitPublic() error {
	if known, err := x.admitKnown(); known || err != nil {
		return err
	}
	if err := x.api.quotas.Anonymous(x.at, x.addressName()); err != nil {
		return err
	}
	return x.api.quotas.Visit(x.at, x.addressName())
}

// admitStray admits a request that has no route.
func (x *request) admitStray() error {
	if known, err := x.admitKnown(); known || err != nil {
		return err
	}
	return x.api.quotas.Anonymous(x.at, x.addressName())
}

// admitKnown counts a request with a valid key for its user, and reports whether it has one.
func (x *request) admitKnown() (bool, error) {
	if !x.hasKey() && x.sessionToken() == "" {
		x.watchPeer()
		return false, nil
	}
	caller, err := x.verify()
	if err != nil {
		return false, nil //nolint:nilerr // whatever is wrong with the key, no key is needed
	}
	x.caller = caller
	return true, x.api.quotas.Call(x.at, x.counted(caller))
}

// hasKey reports whether a request has something in a place for keys.
func (x *request) hasKey() bool {
	h := x.r.Header
	return len(h["Authorization"]) > 0 || len(h["X-Api-Key"]) > 0 || len(h["X-Goog-Api-Key"]) > 0 || x.envelope() == geminiEnvelope && len(keysOfQuery(x.r)) > 0
}

// watchPeer looks for a proxy that is not configured as trusted.
func (x *request) watchPeer() {
	if len(x.api.cfg.TrustedProxies) == 0 && x.api.peers.See(x.r) {
		x.api.Slog.Warn(httpserver.HiddenProxyRemedy, "address", httpserver.ShowAddress(httpserver.Peer(x.r)))
	}
}

// still fails when the caller of a long answer has lost the right to it: the session or the key has ended, or is no longer permitted.
func (x *request) still() error {
	if x.acts != nil {
		now, err := x.api.Organizations.Of(x.context(), x.acts.ID, x.caller.Member)
		if err != nil {
			return err
		}
		as := member(*x.caller, &now, x.caller.Member)
		if err := x.mayAct(as); err != nil {
			return err
		}
		if as.Sees != x.caller.Sees { // what is read on would be of what was seen before
			return fault.New(fault.Conflict, "httpapi.still", "What you see of this organization has changed. Ask again.")
		}
	}
	if x.session != nil {
		return x.api.People.Lives(x.context(), x.session)
	}
	text, _ := credential(x.r, x.envelope())
	caller, err := x.api.Verifier.Verify(x.context(), text, nil)
	if err == nil {
		err = x.mayFrom(caller)
	}
	if err == nil && !caller.Management {
		err = fault.New(fault.PermissionDenied, "httpapi.still", "This route needs a management key.")
	}
	return err
}
