package app_test

import (
	"io"
	"net/http"
	"os"
	"reflect"
	"strings"
	"testing"

	"weir/internal/app/apptest"
	"weir/internal/config"
)

// A node serves the documentation with its own address and settings, and keeps what is not of it to the API.
func TestDocumentation(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t)
	get := func(path, accept string) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, gw.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept", accept)
		res, err := gw.Client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		b, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(b)
	}
	status, page := get("/docs/start", "text/html")
	if status != http.StatusOK || !strings.Contains(page, "export</span> BASE="+gw.URL+" ") {
		t.Errorf("%d: the first page lacks the address %s", status, gw.URL)
	}
	file, err := os.ReadFile("../../docs/money.md")
	if err != nil {
		t.Fatal(err)
	}
	if _, twin := get("/docs/money.md", "*/*"); twin != strings.ReplaceAll(string(file), "http://127.0.0.1:8080", gw.URL) {
		t.Error("the Markdown of a page differs from its file")
	}
	_, reference := get("/docs/settings.md", "*/*")
	var walk func(of reflect.Type, at string)
	walk = func(of reflect.Type, at string) {
		for f := range of.Fields() {
			name := f.Tag.Get("yaml")
			if name == ",inline" {
				walk(f.Type, at)
				continue
			}
			if key := strings.TrimPrefix(at+"."+name, "."); name != "" && !strings.Contains(reference, "`"+key) {
				t.Errorf("the setting %s is not in the reference", key)
			} else if name != "" && f.Type.Kind() == reflect.Struct {
				walk(f.Type, key)
			}
		}
	}
	walk(reflect.TypeFor[config.Config](), "")
	if status, list := get("/llms.txt", "*/*"); status != http.StatusOK || !strings.Contains(list, "]("+gw.URL+"/docs/money.md): ") {
		t.Errorf("/llms.txt: %d", status)
	}
	if status, answer := get("/docs/nothing", "application/json"); status != http.StatusNotFound || !strings.Contains(answer, `"error_type":"not_found"`) {
		t.Errorf("%d %s", status, answer)
	}
	if _, me := get("/api/me", "*/*"); !strings.Contains(me, `"docs":true`) {
		t.Errorf("/api/me: %s", me)
	}
}
