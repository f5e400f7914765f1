package httpapi_test

import (
	"strings"
	"testing"

	"weir/internal/fault"
)

// What is put twice is changed once, over the API, too, and a version that is not current any more is refused.
func TestAdminPuts(t *testing.T) {
	t.Parallel()
	n := startAdmin(t)
	const hut = `{"name":"Hut","base_url":"https://hut.example/v1","api_key":"sk-very-secret-credential-f00d"}`
	const tiny = `{"provider":"hut","model":"acme/tiny","prices":{"prompt":"0.10","completion":0.2},"params":["tools"]}`
	put := func(path, body, want string) map[string]any {
		t.Helper()
		m := n.managed(t, 200, "PUT", "/api/admin/"+path, body)
		if at(m, "result") != want {
			t.Errorf("PUT %s: %v, want %s", path, m, want)
		}
		return m
	}
	put("providers/hut?dry_run=true&new=true", hut, "created")
	wantError(t, n.manage("GET", "/api/admin/providers/hut", ""), 404, fault.NotFound)
	if m := put("providers/hut?new=true", hut, "created"); at(m, "data", "api_key", "last4") != "f00d" || at(m, "data", "version") != 1.0 {
		t.Errorf("%v", m)
	}
	put("providers/hut", hut, "unchanged")
	put("endpoints/hut%2Facme%2Ftiny", tiny, "created")
	put("endpoints/hut%2Facme%2Ftiny", strings.Replace(tiny, "0.10", "0.1", 1), "unchanged")
	put("endpoints/hut%2Facme%2Ftiny?version=2", strings.Replace(tiny, `,"params":["tools"]`, `,"params":null`, 1), "changed")
	wantError(t, n.manage("PUT", "/api/admin/endpoints/hut%2Facme%2Ftiny?version=2", tiny), 409, fault.Conflict)
	wantError(t, n.manage("DELETE", "/api/admin/endpoints/hut%2Facme%2Ftiny?version=2", ""), 409, fault.Conflict)
	wantError(t, n.manage("PUT", "/api/admin/providers/filed", hut), 409, fault.Conflict)
	put("rates/current", `{"rate":"81.5"}`, "changed")
	put("rates/current", `{"rate":81.50,"margin":null}`, "unchanged")
	wantError(t, n.manage("PUT", "/api/admin/rates/current", `{"margin":"0.2"}`), 409, fault.Conflict)
	n.managed(t, 200, "DELETE", "/api/admin/endpoints/hut%2Facme%2Ftiny?version=3&dry_run=true", "")
	n.managed(t, 200, "DELETE", "/api/admin/endpoints/hut%2Facme%2Ftiny?version=3", "")
	if whole := n.managed(t, 200, "GET", "/api/admin/catalog", ""); at(whole, "version") != 5.0 {
		t.Errorf("there are %v changes, want provider, endpoint, its change, rate, removal", at(whole, "version"))
	}
}
