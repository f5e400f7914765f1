package httpapi_test

import (
	"testing"
	"time"

	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/auth/passkeytest"
	"weir/internal/fault"
	"weir/internal/httpapi"
)

// addPasskey gives the person of a page a passkey.
func (n *node) addPasskey(t *testing.T, d *passkeytest.Device, page []string) *passkeytest.Key {
	t.Helper()
	user, _ := at(n.do("GET", "/api/me", "", page...).json(t), "user", "id").(string)
	step, challenge := n.options(t, "/api/auth/passkeys/options", page)
	key, made := d.Make(challenge, user)
	if r := n.do("POST", "/api/auth/passkeys", `{"step":"`+step+`","name":"Phone","credential":`+made+`}`, page...); r.StatusCode != 201 {
		t.Fatalf("%d %s", r.StatusCode, r.body)
	}
	return key
}

// another is a second browser of somebody with a password.
func (n *node) another(t *testing.T, email string) []string {
	t.Helper()
	r := n.do("POST", "/api/auth/sign-in", `{"email":"`+email+`","password":"`+password+`"}`, n.page()...)
	if r.StatusCode != 200 {
		t.Fatalf("%d %s", r.StatusCode, r.body)
	}
	return n.page("Cookie", "__Host-weir="+cookieOf(t, r).Value)
}

// A password goes when another way is left, with all other browsers. It takes a recent sign-in, and a page of ours.
func TestRemovePassword(t *testing.T) {
	t.Parallel()
	now := time.Now()
	n := startWith(t, relayFunc(hello), withPublicURL, func(d *httpapi.Deps) { d.Now = func() time.Time { return now } })
	d := passkeytest.Device{Origin: publicURL, RPID: "weir.example.org"}
	anna, boris := n.join(t, "anna@example.org", apikey.User), n.join(t, "boris@example.org", apikey.User)
	wantError(t, n.do("DELETE", "/api/auth/password", "", anna...), 409, fault.Conflict) // it is the last way
	key := n.addPasskey(t, &d, anna)
	other := n.another(t, "anna@example.org")

	now = now.Add(11 * time.Minute)
	stale := wantError(t, n.do("DELETE", "/api/auth/password", "", anna...), 403, fault.PermissionDenied)
	if at(stale, "error", "metadata", "sign_in") != "again" {
		t.Errorf("%v", stale)
	}
	if r := n.do("POST", "/api/auth/prove", `{"password":"`+password+`"}`, anna...); r.StatusCode != 204 {
		t.Fatalf("%d %s", r.StatusCode, r.body)
	}
	wantError(t, n.do("DELETE", "/api/auth/password", "", append(anna[:len(anna):len(anna)], "Origin", "https://evil.example")...), 403, fault.PermissionDenied)
	wantError(t, n.do("DELETE", "/api/auth/password", "", append(anna[:len(anna):len(anna)], "X-Weir", "")...), 403, fault.PermissionDenied)
	wantError(t, n.do("DELETE", "/api/auth/password", "", n.page()...), 401, fault.Authentication)
	if r := n.do("DELETE", "/api/auth/password", "", anna...); r.StatusCode != 204 {
		t.Fatalf("%d %s", r.StatusCode, r.body)
	}
	wantError(t, n.do("DELETE", "/api/auth/password", "", anna...), 404, fault.NotFound)
	wantError(t, n.do("GET", "/api/auth/sessions", "", other...), 401, fault.Authentication)
	wantError(t, n.do("POST", "/api/auth/sign-in", `{"email":"anna@example.org","password":"`+password+`"}`, n.page()...), 401, fault.Authentication)
	wantError(t, n.do("DELETE", "/api/auth/passkeys/"+key.IDText(), "", anna...), 409, fault.Conflict) // now this one is the last
	if me := n.do("GET", "/api/me", "", anna...).json(t); at(me, "user", "has_password") != false {
		t.Errorf("%v", me)
	}
	if me := n.do("GET", "/api/me", "", boris...).json(t); at(me, "user", "has_password") != true {
		t.Errorf("another person's password is gone: %v", me)
	}
	var actions []string
	for row, err := range n.store.Accounts.AuditRows(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		actions = append(actions, row.Action)
	}
	if last := actions[len(actions)-1]; last != audit.PasswordRemoved {
		t.Errorf("the last row of the audit is %s", last)
	}
}

// A passkey that goes takes the browsers with it in which it may have signed somebody in.
func TestRemovedPasskeyEndsSessions(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), withPublicURL)
	d := passkeytest.Device{Origin: publicURL, RPID: "weir.example.org"}
	anna, boris := n.join(t, "anna@example.org", apikey.User), n.join(t, "boris@example.org", apikey.User)
	key := n.addPasskey(t, &d, anna)
	other := n.another(t, "anna@example.org")
	wantError(t, n.do("DELETE", "/api/auth/passkeys/"+key.IDText(), "", boris...), 404, fault.NotFound)
	if r := n.do("GET", "/api/auth/sessions", "", other...); r.StatusCode != 200 {
		t.Fatalf("another person ended a session: %d", r.StatusCode)
	}
	if r := n.do("DELETE", "/api/auth/passkeys/"+key.IDText(), "", anna...); r.StatusCode != 204 {
		t.Fatalf("%d %s", r.StatusCode, r.body)
	}
	wantError(t, n.do("GET", "/api/auth/sessions", "", other...), 401, fault.Authentication)
	for _, page := range [][]string{anna, boris} {
		if r := n.do("GET", "/api/auth/sessions", "", page...); r.StatusCode != 200 {
			t.Errorf("%d %s", r.StatusCode, r.body)
		}
	}
}

// Another address takes a recent sign-in of the person, and a link that is theirs.
func TestChangeOfAddress(t *testing.T) {
	t.Parallel()
	now := time.Now()
	n := startWith(t, relayFunc(hello), nil, func(d *httpapi.Deps) { d.Now = func() time.Time { return now } })
	anna := n.join(t, "anna@example.org", apikey.User)
	wantError(t, n.do("POST", "/api/auth/email", `{"email":"new@example.org"}`, anna...), 403, fault.PermissionDenied) // there is no mail
	wantError(t, n.do("POST", "/api/auth/email", `{}`, anna...), 400, fault.Invalid)
	wantError(t, n.do("POST", "/api/auth/email", `{"email":"new@example.org","user":"usr_x"}`, anna...), 400, fault.Invalid)
	now = now.Add(11 * time.Minute)
	if m := wantError(t, n.do("POST", "/api/auth/email", `{"email":"new@example.org"}`, anna...), 403, fault.PermissionDenied); at(m, "error", "metadata", "sign_in") != "again" {
		t.Errorf("%v", m)
	}
	for _, path := range []string{"/api/auth/email/confirm", "/api/auth/keep-email"} {
		wantError(t, n.do("POST", path, `{"token":"made-up"}`, anna...), 400, fault.Invalid)
		wantError(t, n.do("POST", path, `{}`, anna...), 400, fault.Invalid)
	}
	wantError(t, n.do("POST", "/api/auth/email/confirm", `{"token":"made-up"}`, n.page()...), 401, fault.Authentication)
	wantError(t, n.do("POST", "/api/auth/keep-email", `{"token":"made-up"}`, n.page()...), 400, fault.Invalid)
	wantError(t, n.do("POST", "/api/auth/keep-email", `{"token":"made-up"}`, n.page("Origin", "https://evil.example")...), 403, fault.PermissionDenied)
}
