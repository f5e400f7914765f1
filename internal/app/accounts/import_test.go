package accounts_test

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"weir/internal/apikey"
	"weir/internal/app/apptest"
)

// Keys and presets come from another gateway's files: first only shown, then made with new secrets that work, and a second time not at all.
func TestImport(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t, func(*apptest.Setup) {})
	o, other := gw.NewOwner(t, 100, apikey.NewKey{}), gw.NewOwner(t, 100, apikey.NewKey{})
	const model = "test/next"
	files := []any{
		map[string]any{"name": "keys.json", "text": `{"data":[{"hash":"01","name":"Production","limit":2,"limit_reset":"daily","usage":1},{"hash":"02","name":"Off","disabled":true}]}`},
		map[string]any{"name": "mail.json", "text": `{"data":{"slug":"mail","designated_version":{"system_prompt":"Be polite.","config":{"model":"` + model + `","max_tokens":50,"temperature":9}}}}`},
		map[string]any{"name": "ok.json", "text": `{"data":{"slug":"ok","designated_version":{"config":{"model":"` + model + `","max_tokens":50}}}}`},
	}
	type item struct {
		Name, Outcome, Reason, Sentence, Key, Limit string
		Disabled                                    bool
	}
	type answer struct {
		Data struct {
			Rate struct {
				RublesPerDollar string `json:"rubles_per_dollar"`
			}
			Keys, Presets []item
			Lost          []struct{ Field, Why string }
		}
	}
	run := func(a *apptest.Account, body map[string]any) answer {
		t.Helper()
		got := a.Do(t, http.MethodPost, "/api/import", body)
		if got.Status != http.StatusOK {
			t.Fatalf("%d %s", got.Status, got.Body)
		}
		if got.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("secrets may be cached: %v", got.Header)
		}
		return apptest.Decode[answer](t, got.Body)
	}
	order := map[string]any{"source": "openrouter", "files": files}
	check := func(a answer, outcome string, secrets bool) {
		t.Helper()
		if len(a.Data.Keys) != 2 || len(a.Data.Presets) != 2 || a.Data.Rate.RublesPerDollar == "" || len(a.Data.Lost) == 0 {
			t.Fatalf("%+v", a)
		}
		for _, k := range append(a.Data.Keys, a.Data.Presets[1]) {
			if k.Outcome != outcome || (k.Key != "") != (secrets && k.Name != "ok") {
				t.Errorf("%+v", k)
			}
		}
		if p := a.Data.Presets[0]; p.Outcome != "refused" || p.Reason != "invalid" || !strings.Contains(p.Sentence, "temperature") {
			t.Errorf("%+v", p)
		}
	}
	keys := func() int { return len(elements(o.Page(t, "/api/keys")["data"])) }
	before := keys()
	check(run(o.Pages, order), "new", false)
	if keys() != before || len(elements(o.Page(t, "/api/presets")["data"])) != 0 {
		t.Fatal("a look makes something")
	}
	order["dry_run"] = false
	made := run(o.Pages, order)
	check(made, "made", true)
	check(run(o.Pages, order), "exists", false)
	if keys() != before+2 {
		t.Errorf("%d keys", keys())
	}
	call := map[string]any{"model": "@preset/ok", "messages": []any{map[string]any{"role": "user", "content": "hello"}}}
	for i, status := range []int{http.StatusOK, http.StatusUnauthorized} {
		a := &apptest.Account{Gw: o.Account.Gw, Key: made.Data.Keys[i].Key}
		if got := a.Do(t, http.MethodPost, "/v1/chat/completions", call); got.Status != status {
			t.Errorf("%s: %d %s", made.Data.Keys[i].Name, got.Status, got.Body)
		}
	}
	if n := len(elements(other.Page(t, "/api/presets")["data"])); n != 0 {
		t.Errorf("another account has %d presets", n)
	}
	if got := o.Account.Do(t, http.MethodPost, "/api/import", order); got.Status != http.StatusForbidden {
		t.Errorf("a key of calls: %d", got.Status)
	}
	for source, text := range map[string]string{
		"new-api": `{"success":true,"data":{"page":1,"total":1,"items":[{"id":7,"user_id":3,"name":"Laptop","key":"abcd**********wxyz","status":1,"expired_time":-1,"remain_quota":1000000,"unlimited_quota":false,"model_limits_enabled":false}]}}`,
		"one-api": `{"success":true,"message":"","data":[{"id":8,"user_id":3,"name":"Desk","key":"abcd","status":1,"expired_time":-1,"remain_quota":1000000,"unlimited_quota":false}]}`,
	} {
		brought := run(o.Pages, map[string]any{"source": source, "dry_run": false, "files": []any{map[string]any{"text": text}}})
		if len(brought.Data.Keys) != 1 || brought.Data.Keys[0].Key == "" || brought.Data.Keys[0].Limit == "" {
			t.Errorf("%s: %+v", source, brought)
		}
	}
	for _, body := range []map[string]any{
		{"source": "portkey", "files": files}, {"source": "openrouter"}, {"source": "openrouter", "files": []any{}}, {"source": "openrouter", "files": "x"},
		{"source": "openrouter", "files": []any{map[string]any{"name": "x"}}}, {"source": "openrouter", "files": files, "dry_run": "no"}, {"source": "openrouter", "files": files, "user": other.User},
		{"source": "litellm", "files": files}, {"source": "litellm", "files": []any{map[string]any{"text": "a: &a [1]\nmodel_list: *a"}}},
	} {
		if got := o.Pages.Do(t, http.MethodPost, "/api/import", body); got.Status != http.StatusBadRequest {
			t.Errorf("%v: %d %s", body, got.Status, got.Body)
		}
	}
}

// An account gets no more keys and presets than it may have, and the answer says which are left out.
func TestImportIsBounded(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t, func(*apptest.Setup) {})
	o := gw.NewOwner(t, 100, apikey.NewKey{})
	entry := func(i int) string {
		n := strings.Repeat("x", i+1)
		return `{"hash":"` + n + `","name":"` + n + `"},{"slug":"` + n[:min(len(n), 60)] + `","designated_version":{"config":{"seed":1}}}`
	}
	var list []string
	for i := range 60 {
		list = append(list, entry(i))
	}
	body := map[string]any{"source": "openrouter", "dry_run": false, "files": []any{map[string]any{"text": `{"data":[` + strings.Join(list, ",") + `]}`}}}
	got := o.Pages.Do(t, http.MethodPost, "/api/import", body)
	if got.Status != http.StatusOK || !strings.Contains(string(got.Body), `"no_room"`) {
		t.Fatalf("%d %.300s", got.Status, got.Body)
	}
	if n := len(elements(o.Page(t, "/api/keys")["data"])); n != apikey.MaxPerUser {
		t.Errorf("%d keys", n)
	}
	if n := len(elements(o.Page(t, "/api/presets")["data"])); n != 60 {
		t.Errorf("%d presets", n)
	}
}

// Imports of one account at the same time, as of an impatient person, make each key once; the others say that one is running.
func TestImportsAtOnce(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t, func(*apptest.Setup) {})
	o := gw.NewOwner(t, 100, apikey.NewKey{})
	before := len(elements(o.Page(t, "/api/keys")["data"]))
	body := map[string]any{"source": "openrouter", "dry_run": false, "files": []any{map[string]any{"text": `{"data":[{"hash":"01","name":"One"},{"hash":"02","name":"Two"},{"hash":"03","name":"Three"}]}`}}}
	var all sync.WaitGroup
	var made atomic.Int64
	for range 8 {
		all.Go(func() {
			got := o.Pages.Do(t, http.MethodPost, "/api/import", body)
			made.Add(int64(strings.Count(string(got.Body), `"outcome":"made"`)))
			if got.Status == http.StatusTooManyRequests && !strings.Contains(string(got.Body), "An import of this account is running") || got.Status != http.StatusOK && got.Status != http.StatusTooManyRequests {
				t.Errorf("%d %s", got.Status, got.Body)
			}
		})
	}
	all.Wait()
	if n := len(elements(o.Page(t, "/api/keys")["data"])) - before; n != 3 || made.Load() != 3 {
		t.Errorf("%d keys, of which %d were said to be made; want 3", n, made.Load())
	}
}

// A file that is made to take memory is refused before it is read, also where nothing would be made of it.
func TestHostileImports(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t, func(*apptest.Setup) {})
	o := gw.NewOwner(t, 1, apikey.NewKey{})
	for _, piece := range []string{"[],", "{},", "1,", "a: "} {
		text := "a: [" + strings.Repeat(piece, (1<<20-8)/len(piece)) + "]"
		got := o.Pages.Do(t, http.MethodPost, "/api/import", map[string]any{"source": "litellm", "files": []any{map[string]any{"text": text}}})
		if got.Status != http.StatusBadRequest || !strings.Contains(string(got.Body), "too many values") {
			t.Errorf("1 MiB of %q: %d %.200s", piece, got.Status, got.Body)
		}
	}
}
