package httpapi_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"weir/internal/apikey"
	"weir/internal/fault"
	"weir/internal/relay"
	"weir/internal/routing"
)

// What is set for the account holds for the next request of any of its keys, and the explanation reports what holds and who said so.
func TestAccountPreferences(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(nil), nil)
	const path = "/api/account/preferences"
	exactly(t, "at first", n.manage("GET", path, "").json(t), `{"data":{"provider":null}}`)
	explained := func(provider string) any {
		t.Helper()
		return at(n.do("POST", "/v1/route/explain", `{"model":"acme/small","messages":[{"role":"user","content":"hi"}]`+provider+`}`).json(t), "data")
	}
	m := explained("")
	exactly(t, "nothing preferred", at(m, "preferences"), `{}`)
	exactly(t, "no defaults", at(m, "defaults"), `{"account":null,"key":null}`)

	set := n.manage("PUT", path, ` {"provider": {"only":["best","acme"],"max_price":{"prompt":"0.10"},"sort":"price"} }`)
	const kept = `{"data":{"provider":{"only":["best","acme"],"max_price":{"prompt":"0.10"},"sort":"price"}}}`
	exactly(t, "set", set.json(t), kept)
	exactly(t, "kept", n.manage("GET", path, "").json(t), kept)
	m = explained(`,"provider":{"only":["best"],"sort":"latency","preferred_max_latency":{"p90":1.5},"ignore":["x"]}`)
	exactly(t, "both", at(m, "preferences"), `{"only":["best"],"and_only":[["best","acme"]],"ignore":["x"],"sort":"latency","max_price":{"prompt":"0.1"},"preferred_max_latency":{"p90":1.5}}`)
	exactly(t, "as given", at(m, "defaults"), `{"account":{"only":["best","acme"],"max_price":{"prompt":"0.10"},"sort":"price"},"key":null}`)
	exactly(t, "attempts", at(m, "attempts"), `["best/acme/small"]`)
	exactly(t, "nobody that the account does not name", at(explained(`,"provider":{"only":["other"]}`), "attempts"), `[]`)

	exactly(t, "an empty object is none", n.manage("PUT", path, `{"provider":{}}`).json(t), `{"data":{"provider":null}}`)
	n.manage("PUT", path, `{"provider":{"zdr":true,"allow_fallbacks":false,"data_collection":"deny","require_parameters":true,"quantizations":["fp8"],"order":["best"],
		"sort":{"by":"price","partition":"none"},"preferred_min_throughput":20}}`)
	exactly(t, "all the others", at(explained(""), "preferences"), `{"order":["best"],"allow_fallbacks":false,"require_parameters":true,"data_collection":"deny","zdr":true,
		"quantizations":["fp8"],"sort":{"by":"price","partition":"none"},"preferred_min_throughput":{"p50":20}}`)
	exactly(t, "removed", n.manage("PUT", path, `{"provider":null}`).json(t), `{"data":{"provider":null}}`)
	exactly(t, "gone", at(explained(""), "preferences"), `{}`)
}

// The catalog hides what the preferences of the account leave no endpoint for, and for a key what the key may not call.
func TestHiddenModels(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(nil), nil)
	const path = "/api/catalog/hidden"
	listed := map[any]bool{}
	models, _ := at(n.do("GET", "/api/catalog", "").json(t), "models").([]any)
	for _, m := range models {
		listed[at(m, "id")] = true
	}
	exactly(t, "nothing preferred", n.manage("GET", path, "").json(t), `{"hidden":[]}`)
	n.manage("PUT", "/api/account/preferences", `{"provider":{"only":["best"]}}`)
	served := map[any]bool{}
	for id := range listed {
		p, _ := at(n.do("GET", "/v1/models/"+strings.ReplaceAll(id.(string), ":", "%3A")+"/providers", "").json(t), "providers").([]any)
		for _, x := range p {
			served[id] = served[id] || at(x, "id") == "best" || at(x, "provider") == "best"
		}
	}
	for _, by := range []*response{n.manage("GET", path, ""), n.do("GET", path, "")} {
		hidden, _ := at(by.json(t), "hidden").([]any)
		for _, id := range hidden {
			if !listed[id] || served[id] {
				t.Errorf("%v is hidden", id)
			}
			delete(listed, id)
		}
		for id := range listed {
			if !served[id] {
				t.Errorf("%v is shown", id)
			}
		}
		for _, id := range hidden {
			listed[id] = true
		}
		if len(hidden) == 0 {
			t.Error("nothing is hidden")
		}
	}
	for _, list := range []string{"/v1/models", "/v1/models?sort_by=name", "/v1/embeddings/models", "/v1/images/models", "/v1/videos/models", "/v1beta/models?pageSize=1000"} {
		ids := func(r *response) (ids []any) {
			m := r.json(t)
			for _, name := range []string{"data", "models"} {
				entries, _ := at(m, name).([]any)
				for _, e := range entries {
					id := at(e, "id")
					if id == nil {
						id = strings.TrimPrefix(at(e, "name").(string), "models/")
					}
					ids = append(ids, id)
				}
			}
			return ids
		}
		keyed := n.do("GET", list, "")
		all, own := ids(n.do("GET", list, "", "Authorization", "")), ids(keyed)
		var want []any
		for _, id := range all {
			if served[id] {
				want = append(want, id)
			}
		}
		if len(own) != len(want) || fmt.Sprint(own) != fmt.Sprint(want) || keyed.Header.Get("Cache-Control") != "private, max-age=60" {
			t.Errorf("%s: the key is shown %v of %v, want %v; %s", list, own, all, want, keyed.Header.Get("Cache-Control"))
		}
	}
	anna := n.join(t, "anna@example.org", apikey.User)
	exactly(t, "another account", n.do("GET", path, "", anna...).json(t), `{"hidden":[]}`)
	if keys, _ := at(n.do("GET", "/api/keys", "", anna...).json(t), "data").([]any); len(keys) != 0 {
		t.Errorf("looking made a key: %v", keys)
	}
}

// Preferences are tried before they are saved: those that are saved do not count, and the tried ones are not kept.
func TestPreferencesAreTried(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(nil), nil) // a relay that would fall over if anybody called it
	const path = "/api/account/preferences"
	n.manage("PUT", path, `{"provider":{"only":["nobody"]}}`)
	try := func(provider string) any {
		t.Helper()
		return at(n.manage("POST", path+"/explain", `{"provider":`+provider+`,"request":`+chatBody(false)+`}`).json(t), "data")
	}
	m := try(`null`)
	exactly(t, "without preferences", at(m, "preferences"), `{}`)
	exactly(t, "nobody's", at(m, "defaults"), `{"account":null,"key":null}`)
	exactly(t, "a route", at(m, "error"), `null`)
	m = try(`{"only":["best"],"sort":"price"}`)
	exactly(t, "as tried", at(m, "preferences"), `{"only":["best"],"sort":"price"}`)
	exactly(t, "whose", at(m, "defaults"), `{"account":{"only":["best"],"sort":"price"},"key":null}`)
	exactly(t, "attempts", at(m, "attempts"), `["best/acme/small"]`)
	exactly(t, "dropped by", at(m, "candidates", 0, "dropped_by"), `"only"`)
	m = try(`{"ignore":["acme","best"]}`)
	exactly(t, "nothing left", at(m, "attempts"), `[]`)
	exactly(t, "its error", at(m, "error", "metadata", "error_type"), `"no_endpoints"`)
	exactly(t, "the saved ones stay", n.manage("GET", path, "").json(t), `{"data":{"provider":{"only":["nobody"]}}}`)
	if asked := n.books.asked; len(asked) != 0 {
		t.Errorf("the ledger was asked: %q", asked)
	}
	for body, param := range map[string]any{
		`{"request":` + chatBody(false) + `}`: "provider", `{"provider":null}`: "request", `{"provider":null,"request":null}`: "request", `{"provider":{"sort":"fast"},"request":` + chatBody(false) + `}`: "provider.sort",
		`{"provider":{"zrd":true},"request":` + chatBody(false) + `}`: "provider.zrd", `{"provider":null,"request":{"model":"acme/small"}}`: "messages", `{"provider":null,"request":{},"x":1}`: "x", `[]`: nil, `{`: nil,
	} {
		r := n.manage("POST", path+"/explain", body)
		if got := at(r.json(t), "error", "metadata", "param"); r.StatusCode != 400 || param != nil && got != param {
			t.Errorf("%.60s: status %d, param %v; want %v", body, r.StatusCode, got, param)
		}
	}
	wantError(t, n.do("POST", path+"/explain", `{"provider":null,"request":`+chatBody(false)+`}`), 403, fault.PermissionDenied)
	wantError(t, n.manage("POST", path+"/explain", `{"provider":null,"request":{"model":"acme/none","messages":[{"role":"user","content":"hi"}]}}`), 404, fault.ModelNotFound)
}

// Plugins of the account are used for each request that does not set them.
func TestAccountPlugins(t *testing.T) {
	t.Parallel()
	var healed, compressed, searched bool
	n := start(t, relayFunc(func(ctx context.Context, c *relay.Call, s relay.Sink) error {
		healed, compressed, searched = c.Request.Heal, c.Request.Needs.Shrink == routing.ShrinkAny, c.Request.Search != nil
		return hello(ctx, c, s)
	}), nil)
	const path, list = "/api/account/preferences", `[{"id":"response-healing"},{"id":"context-compression"}]`
	for _, provider := range []string{`null`, `{"zdr":true}`} {
		want := `{"data":{"provider":` + provider + `,"plugins":` + list + `}}`
		exactly(t, "set", n.manage("PUT", path, `{"plugins":`+list+`,"provider":`+provider+`}`).json(t), want)
		exactly(t, "kept", n.manage("GET", path, "").json(t), want)
	}
	for _, c := range []struct {
		name, more                       string
		healed, compressed, chat, answer bool
	}{
		{"nothing said", ``, true, true, true, true},
		{"one switched off", `,"plugins":[{"id":"response-healing","enabled":false}]`, false, true, true, true},
		{"another one asked for", `,"plugins":[{"id":"web"}]`, true, true, true, true},
		{"transforms", `,"transforms":[]`, true, false, true, false},
		{"truncation", `,"truncation":"disabled"`, true, false, false, true},
	} {
		for route, body := range map[string]string{"chat/completions": `{"model":"acme/small","messages":[{"role":"user","content":"hi"}]`, "responses": `{"model":"acme/small","input":"hi"`} {
			if route == "chat/completions" && !c.chat || route == "responses" && !c.answer {
				continue
			}
			if r := n.do("POST", "/v1/"+route, body+c.more+`}`); r.StatusCode != 200 || healed != c.healed || compressed != c.compressed || searched != strings.Contains(c.more, "web") {
				t.Errorf("%s of %s: status %d, healed %t, compressed %t, searched %t", c.name, route, r.StatusCode, healed, compressed, searched)
			}
		}
	}
	exactly(t, "removed", n.manage("PUT", path, `{"provider":null}`).json(t), `{"data":{"provider":null}}`)
}

func TestAccountPreferencesErrors(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(nil), nil)
	const path = "/api/account/preferences"
	for body, param := range map[string]any{
		`{}`: "provider", `[]`: nil, `{"provider":7}`: "provider", `{"provider":{"zrd":true}}`: "provider.zrd", `{"provider":{"sort":"fast"}}`: "provider.sort",
		`{"plugins":[]}`: "provider", `{"provider":null,"plugins":{}}`: "plugins", `{"provider":null,"plugins":[{"id":"nosuch"}]}`: "plugins[0].id", `{"provider":{"plugins":[]}}`: "provider.plugins",
		`{"provider":{"ignore":["` + strings.Repeat("a", 250) + `"]},"plugins":[` + strings.Repeat(`{"id":"response-healing"},`, 63) + `{"id":"web","search_prompt":"` + strings.Repeat("a", 4000) + `"},{"id":"web"}]}`: nil,
		`{"provider":{"only":[""]},"x":1}`: nil, `{"other":1}`: "other", `{"provider":{},"provider":{}}`: nil, `{"provider":{"ignore":"` + strings.Repeat("a", 9000) + `"}}`: "provider",
	} {
		r := n.manage("PUT", path, body)
		m := r.json(t)
		if r.StatusCode != 400 {
			t.Errorf("%.40s: status %d", body, r.StatusCode)
		}
		if got := at(m, "error", "metadata", "param"); param != nil && got != param {
			t.Errorf("%.40s: param %v; want %v", body, got, param)
		}
	}
	wantError(t, n.do("GET", path, ""), 403, fault.PermissionDenied)
	wantError(t, n.do("PUT", path, `{"provider":null}`), 403, fault.PermissionDenied)
	wantError(t, n.manage("POST", path, `{}`), 405, fault.MethodNotAllowed)
}

// A key's own preferences come between those of the account and those of the request.
func TestKeyPreferences(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(nil), nil)
	n.manage("PUT", "/api/account/preferences", `{"provider":{"ignore":["a"],"sort":"price"}}`)
	made := n.manage("POST", "/v1/keys", `{"name":"k","provider":{"ignore":["b"],"sort":"latency"}}`).json(t)
	exactly(t, "made", at(made, "data", "provider"), `{"ignore":["b"],"sort":"latency"}`)
	hash, key := at(made, "data", "hash").(string), at(made, "key").(string)
	preferred := func() any {
		return at(n.do("POST", "/v1/route/explain", chatBody(false), "Authorization", "Bearer "+key).json(t), "data")
	}
	exactly(t, "both", at(preferred(), "preferences"), `{"ignore":["a","b"],"sort":"latency"}`)
	exactly(t, "and whose", at(preferred(), "defaults"), `{"account":{"ignore":["a"],"sort":"price"},"key":{"ignore":["b"],"sort":"latency"}}`)
	if m := n.manage("PATCH", "/v1/keys/"+hash, `{"name":"other"}`).json(t); at(m, "data", "provider", "sort") != "latency" {
		t.Errorf("a change of the name: %v", m)
	}
	exactly(t, "removed", at(n.manage("PATCH", "/v1/keys/"+hash, `{"provider":null}`).json(t), "data", "provider"), `null`)
	exactly(t, "the account's alone", at(preferred(), "preferences"), `{"ignore":["a"],"sort":"price"}`)
	wantError(t, n.manage("PATCH", "/v1/keys/"+hash, `{"provider":{"options":{}}}`), 400, fault.Invalid)
	wantError(t, n.manage("POST", "/v1/keys", `{"name":"k","provider":[]}`), 400, fault.Invalid)
}

// An account that has nothing stored has no responses stored either, and gets an error when it asks for both.
func TestAccountWithoutRetentionStoresNothing(t *testing.T) {
	t.Parallel()
	n := start(t, relayFunc(hello), nil)
	n.manage("PUT", "/api/account/preferences", `{"provider":{"zdr":true}}`)
	r := n.do("POST", "/v1/responses", `{"model":"acme/small","input":"hi"}`)
	if r.StatusCode != 200 || at(r.json(t), "store") != false {
		t.Errorf("status %d, body %s", r.StatusCode, r.body)
	}
	r = n.do("POST", "/v1/responses", `{"model":"acme/small","input":"hi","store":true}`)
	wantError(t, r, 400, fault.Invalid)
}
