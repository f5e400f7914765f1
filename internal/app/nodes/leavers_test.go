package nodes_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"weir/internal/apikey"
	"weir/internal/app/apptest"
	"weir/internal/audit"
	"weir/internal/auth"
	"weir/internal/money"
	"weir/internal/store/postgres/pgtest"
)

// leaver is a member of an organization at another node than the one that lets them go.
type leaver struct {
	id      string
	key     *apptest.Account // of the organization
	browser map[string]string
}

// company is an organization with its directory, at one node.
type company struct {
	here      *apptest.Gateway
	owner     *apptest.Owner
	org       string
	directory *apptest.Account
}

func field(t *testing.T, got *apptest.Answer, status int, names ...string) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(got.Body, &v); err != nil || got.Status != status {
		t.Fatalf("%d %s", got.Status, got.Body)
	}
	for _, name := range names {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	text, _ := v.(string)
	return text
}

func newCompany(t *testing.T, here *apptest.Gateway) *company {
	t.Helper()
	c := &company{here: here, owner: here.NewOwner(t, 1, apikey.NewKey{})}
	c.org = field(t, c.owner.Pages.Do(t, http.MethodPost, "/api/organizations", map[string]any{"name": "Strelka"}), 201, "data", "id")
	admin := here.Node.Admin()
	u, err := admin.UserNamed(t.Context(), c.org)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := admin.TopUp(t.Context(), u, 100*money.Ruble, "", audit.Actor{Name: "test"}); err != nil {
		t.Fatal(err)
	}
	c.directory = &apptest.Account{Gw: here, Key: field(t, c.owner.Pages.Do(t, http.MethodPost, "/api/organizations/"+c.org+"/directory", nil), 201, "data", "token")}
	return c
}

// joins makes a member with a key and a session, at another node.
func (c *company) joins(t *testing.T, there *apptest.Gateway, n int) *leaver {
	t.Helper()
	store := c.here.Node.Admin().Store.People
	person := c.here.NewOwner(t, 1, apikey.NewKey{})
	now := time.Now().UTC().Truncate(time.Microsecond)
	email := fmt.Sprintf("leaver%d@corp.example", n)
	if err := store.AddLogin(t.Context(), auth.Login{User: person.User, Email: email, Confirmed: true, CreatedAt: now}, ""); err != nil {
		t.Fatal(err)
	}
	token := apikey.NewID("")
	session := auth.Session{ID: apikey.NewID("ses_"), Hash: auth.SumOf(token), User: person.User, Method: "password", CreatedAt: now, ProvedAt: now, SeenAt: now, ExpiresAt: now.Add(time.Hour)}
	if err := store.AddSession(t.Context(), session, 20, audit.Event{Actor: audit.Actor{Name: "test"}, Action: audit.SignedIn, Target: person.User}); err != nil {
		t.Fatal(err)
	}
	url := field(t, c.owner.Pages.Do(t, http.MethodPost, "/api/organizations/"+c.org+"/invitations", map[string]any{"role": "member"}), 201, "data", "url")
	_, link, _ := strings.Cut(url, "#")
	field(t, person.Pages.Do(t, http.MethodPost, "/api/organizations/join", map[string]any{"token": link}), 200)
	key := field(t, person.Pages.Do(t, http.MethodPost, "/api/keys?account="+c.org, map[string]any{"name": "x"}), 201, "key")
	if id := field(t, c.directory.Do(t, http.MethodPost, "/scim/v2/Users", map[string]any{"schemas": []string{"urn:ietf:params:scim:schemas:core:2.0:User"}, "userName": email}), 201, "id"); id != person.User {
		t.Fatalf("the directory has %s for %s", id, person.User)
	}
	return &leaver{id: person.User, key: &apptest.Account{Gw: there, Key: key}, browser: map[string]string{"Authorization": "", "Cookie": "__Host-weir=" + token}}
}

// TestLeaversOnTwoNodes has members removed at one node: by an owner, by a directory that says they are not active, and by one that deletes them. Their
// keys and their browsers stop at the other node within five seconds, and their own account is not touched.
func TestLeaversOnTwoNodes(t *testing.T) {
	t.Parallel()
	nodes := apptest.StartNodes(t, 2, pgtest.New(t))
	here, there := nodes[0], nodes[1]
	c := newCompany(t, here)
	hello := map[string]any{"model": "test/next", "messages": []any{map[string]any{"role": "user", "content": "hello"}}}
	for n, how := range []struct {
		name string
		ends func(t *testing.T, l *leaver) *apptest.Answer
	}{
		{"removed by an owner", func(t *testing.T, l *leaver) *apptest.Answer {
			return c.owner.Pages.Do(t, http.MethodDelete, "/api/organizations/"+c.org+"/members/"+l.id, nil)
		}},
		{"not active in the directory", func(t *testing.T, l *leaver) *apptest.Answer {
			return c.directory.Do(t, http.MethodPatch, "/scim/v2/Users/"+l.id, map[string]any{
				"schemas": []string{"urn:ietf:params:scim:api:messages:2.0:PatchOp"}, "Operations": []any{map[string]any{"op": "Replace", "path": "active", "value": "False"}}})
		}},
		{"deleted in the directory", func(t *testing.T, l *leaver) *apptest.Answer {
			return c.directory.Do(t, http.MethodDelete, "/scim/v2/Users/"+l.id, nil)
		}},
	} {
		t.Run(how.name, func(t *testing.T) {
			t.Parallel()
			l := c.joins(t, there, n)
			page := func(query string) int {
				return l.key.Send(t, http.MethodGet, "/api/keys"+query, nil, l.browser).Status
			}
			if got := l.key.Chat(t, hello); got.Status != http.StatusOK {
				t.Fatalf("before: status %d: %s", got.Status, got.Body)
			}
			if got := page("?account=" + c.org); got != http.StatusOK {
				t.Fatalf("before: the browser gets %d", got)
			}
			if got := how.ends(t, l); got.Status >= 300 {
				t.Fatalf("%d %s", got.Status, got.Body)
			}
			began := time.Now()
			apptest.WaitFor(t, "the other node to refuse key and browser", func() bool {
				return l.key.Chat(t, hello).Status == http.StatusUnauthorized && page("?account="+c.org) == http.StatusNotFound
			})
			apptest.Promised(t, "the end of a membership at the other node", time.Since(began), 5*time.Second)
			if got := page(""); got != http.StatusOK {
				t.Errorf("the browser gets %d in the own account", got)
			}
		})
	}
}
