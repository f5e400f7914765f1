package httpapi

import (
	"context"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"weir/internal/agent"
	"weir/internal/auth"
	"weir/internal/fault"
	"weir/internal/httpserver"
)

// Agents lets programs act for people. *agent.Manager is one.
type Agents interface {
	Ask(ctx context.Context, c auth.Client) (agent.Asked, error)
	Poll(ctx context.Context, deviceCode string) (agent.Tokens, error)
	Renew(ctx context.Context, refresh string) (agent.Tokens, error)
	Revoke(ctx context.Context, token, address string) error
}

// The routes of OAuth. Claude Code takes these paths where it cannot use those of the metadata.
const (
	metadataPath = "/.well-known/oauth-authorization-server"
	devicePath   = "/oauth/device_authorization"
	tokenPath    = "/oauth/token" //nolint:gosec // a path
	revokePath   = "/oauth/revoke"

	deviceGrant  = "urn:ietf:params:oauth:grant-type:device_code"
	refreshGrant = "refresh_token"

	maxOAuthForm = 16 << 10
)

// agents is what lets programs act for people. It fails where people cannot sign in.
func (x *request) agents() (Agents, error) {
	if x.api.People == nil || x.api.Agents == nil {
		return nil, noPeople()
	}
	return x.api.Agents, nil
}

// getOAuthMetadata is the metadata of an authorization server (RFC 8414). There is no authorization endpoint: programs show a code.
func (x *request) getOAuthMetadata() error {
	if _, err := x.agents(); err != nil {
		return err
	}
	base := x.base()
	o := newObject(1024)
	o.Object()
	o.text("issuer", base)
	o.text("device_authorization_endpoint", base+devicePath)
	o.text("token_endpoint", base+tokenPath)
	o.text("revocation_endpoint", base+revokePath)
	o.texts("grant_types_supported", []string{deviceGrant, refreshGrant})
	o.texts("response_types_supported", []string{})
	o.texts("token_endpoint_auth_methods_supported", []string{"none"})
	o.texts("revocation_endpoint_auth_methods_supported", []string{"none"})
	o.texts("scopes_supported", []string{})
	o.integer("gateway_protocol_version", 1) // read by Claude Code
	o.EndObject()
	return x.reply(&o)
}

// oauthForm reads a form of OAuth. What it does not know is ignored (RFC 6749, section 3.2), what comes twice is refused.
func (x *request) oauthForm() (url.Values, error) {
	const op = "httpapi.oauthForm"
	if err := x.secure(); err != nil {
		return nil, err
	}
	x.w.Header()["Cache-Control"] = noStore
	if kind, _, err := mime.ParseMediaType(x.header("Content-Type")); err != nil || kind != "application/x-www-form-urlencoded" {
		return nil, fault.New(fault.Invalid, op, "The body must be a form: Content-Type application/x-www-form-urlencoded.")
	}
	body, err := x.readBytes()
	if err != nil {
		return nil, err
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, fault.New(fault.Invalid, op, "The form is malformed.")
	}
	for _, name := range [...]string{"grant_type", "device_code", "refresh_token", "token"} {
		if len(form[name]) > 1 {
			return nil, fault.Newf(fault.Invalid, op, "%s must not come twice.", name)
		}
	}
	return form, nil
}

func requiredOf(form url.Values, name string) (string, error) {
	text := form.Get(name)
	if text == "" {
		return "", fault.Newf(fault.Invalid, "httpapi.oauthForm", "%s is missing.", name)
	}
	return text, nil
}

// postDeviceAuthorization gives a program a code (RFC 8628, section 3.2).
func (x *request) postDeviceAuthorization() error {
	all, err := x.agents()
	if err != nil {
		return err
	}
	if _, err := x.oauthForm(); err != nil {
		return err
	}
	a, err := all.Ask(x.context(), x.visitor())
	if err != nil {
		return err
	}
	page := x.base() + "/device"
	o := newObject(512)
	o.Object()
	o.text("device_code", a.DeviceCode)
	o.text("user_code", a.Code)
	o.text("verification_uri", page)
	o.text("verification_uri_complete", page+"?user_code="+a.Code)
	o.integer("expires_in", int64(a.ExpiresIn/time.Second))
	o.integer("interval", int64(a.Interval/time.Second))
	o.EndObject()
	return x.reply(&o)
}

// postOAuthToken gives tokens for a device code that was allowed, and for a refresh token.
func (x *request) postOAuthToken() error {
	all, err := x.agents()
	if err != nil {
		return err
	}
	form, err := x.oauthForm()
	if err != nil {
		return err
	}
	grant, err := requiredOf(form, "grant_type")
	if err != nil {
		return err
	}
	var t agent.Tokens
	switch grant {
	case deviceGrant:
		code, missing := requiredOf(form, "device_code")
		if missing != nil {
			return missing
		}
		t, err = all.Poll(x.context(), code)
	case refreshGrant:
		token, missing := requiredOf(form, "refresh_token")
		if missing != nil {
			return missing
		}
		t, err = all.Renew(x.context(), token)
	default:
		e := fault.New(fault.Invalid, "httpapi.postOAuthToken", "grant_type must be "+deviceGrant+" or "+refreshGrant+".")
		e.Details = map[string]any{"error": "unsupported_grant_type"}
		return e
	}
	if err != nil {
		return err
	}
	o := newObject(512)
	o.Object()
	o.text("access_token", t.Access)
	o.text("token_type", "Bearer")
	o.integer("expires_in", max(int64(t.ExpiresIn/time.Second), 1))
	o.text("refresh_token", t.Refresh)
	if t.Email != "" {
		o.text("email", t.Email) // Claude Code shows it before it keeps the tokens
	}
	o.EndObject()
	x.w.Header()["Pragma"] = noCache
	return x.reply(&o)
}

// postOAuthRevoke ends a sign-in by one of its tokens (RFC 7009): the answer is the same for what is no token.
func (x *request) postOAuthRevoke() error {
	all, err := x.agents()
	if err != nil {
		return err
	}
	form, err := x.oauthForm()
	if err != nil {
		return err
	}
	token, err := requiredOf(form, "token")
	if err != nil {
		return err
	}
	if err := all.Revoke(x.context(), token, httpserver.ShowAddress(x.client())); err != nil {
		return err
	}
	x.writeBody(http.StatusOK, nil, nil)
	return nil
}

// managedSettings is what is set for the caller; nil: nothing.
func (x *request) managedSettings() (*ManagedSettings, error) {
	all := x.api.AgentSettings
	if all == nil || len(all.For) == 0 || x.api.People == nil {
		if all == nil {
			return nil, nil
		}
		return all.Everyone, nil
	}
	p, err := x.api.People.Of(x.context(), x.caller.User)
	if err != nil {
		return nil, err
	}
	return all.of(&p), nil
}

// getManagedSettings is what the operator has set for Claude Code. Its ETag is quoted; the client computes it of the settings that it holds.
func (x *request) getManagedSettings() error {
	s, err := x.managedSettings()
	if err != nil {
		return err
	}
	if s == nil {
		return fault.New(fault.NotFound, "httpapi.getManagedSettings", "This gateway sets nothing for Claude Code.")
	}
	h := x.w.Header()
	h.Set("ETag", `"`+s.Checksum+`"`)
	h["Cache-Control"] = []string{"private, no-cache"}
	for _, tag := range strings.Split(x.header("If-None-Match"), ",") {
		if tag = strings.TrimPrefix(strings.TrimSpace(tag), "W/"); tag == `"`+s.Checksum+`"` || tag == "*" {
			x.writeBody(http.StatusNotModified, nil, nil)
			return nil
		}
	}
	o := newObject(256 + len(s.JSON))
	o.Object()
	o.text("uuid", s.ID)
	o.text("checksum", s.Checksum)
	o.Name("settings").Raw(s.JSON)
	o.EndObject()
	return x.reply(&o)
}

// oauthWords are the errors of OAuth that say of a kind what to do, where its own word is not given.
var oauthWords = map[fault.Kind]string{
	fault.RateLimited: agent.SlowDown, fault.Overloaded: "temporarily_unavailable", fault.StorageUnavailable: "temporarily_unavailable", fault.Draining: "temporarily_unavailable",
	fault.Internal: "server_error", fault.PermissionDenied: "access_denied",
}

// OAuthErrorBody is the envelope of the routes of OAuth (RFC 6749, section 5.2).
func OAuthErrorBody(e *fault.Error) []byte {
	word := agent.Refusal(e)
	if word == "" {
		if word = oauthWords[e.Kind]; word == "" {
			word = "invalid_request"
		}
	}
	o := newObject(256)
	o.Object()
	o.text("error", word)
	o.text("error_description", httpserver.Sentence(e, e.Param))
	o.EndObject()
	return o.B
}
