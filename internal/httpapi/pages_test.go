package httpapi_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"weir/internal/fault"
	"weir/internal/httpapi"
	"weir/internal/webui"
)

const browser = "text/html,application/xhtml+xml,*/*;q=0.8"

func withPages(t *testing.T, edit func(*httpapi.Config)) *node {
	t.Helper()
	page := &fstest.MapFile{Data: []byte(`<html lang="__LANG__" data-theme="__THEME__"><meta content="__NONCE__"></head>the page`)}
	site, err := webui.New(fstest.MapFS{"index.html": page, "assets/a.js": {Data: []byte("script")}})
	if err != nil {
		t.Fatal(err)
	}
	at := time.Now() // stands still: no allowance refills while a slow machine asks
	return startWith(t, relayFunc(hello), edit, func(d *httpapi.Deps) { d.Pages, d.Now = []httpapi.Pages{site}, func() time.Time { return at } })
}

func TestPagesBesideTheAPI(t *testing.T) {
	t.Parallel()
	n := withPages(t, nil)
	for path, want := range map[string]string{"/": "the page", "/models/a/b": "the page", "/assets/a.js": "script", "/v2/models": "the page", "/apis": "the page", "/v1x": "the page"} {
		if r := n.do("GET", path, "", "Accept", browser); r.StatusCode != 200 || !strings.HasSuffix(string(r.body), want) {
			t.Errorf("GET %s got %d %s", path, r.StatusCode, r.body)
		}
		if r := n.do("HEAD", path, "", "Accept", browser); r.StatusCode != 200 || len(r.body) != 0 || r.ContentLength <= 0 {
			t.Errorf("HEAD %s got %d, %d bytes announced", path, r.StatusCode, r.ContentLength)
		}
	}
	// what belongs to the API has its envelope, whatever a browser would like
	for _, path := range []string{"/v1", "/v1/", "/v1/nothing", "/api", "/api/", "/api/nothing", "/api/v1/nothing", "/%76%31/nothing", "/v1%2fnothing", "/%61pi/x", "/assets/gone.js"} {
		wantError(t, n.do("GET", path, "", "Accept", browser), 404, fault.NotFound)
	}
	// a program whose base address lacks /v1 is told so
	for _, path := range []string{"/models", "/chat/completions", "/nothing"} {
		wantError(t, n.do("GET", path, "", "Authorization", "Bearer x", "Accept", "application/json"), 404, fault.NotFound)
	}
	for _, method := range []string{"POST", "PUT", "DELETE", "PATCH"} {
		wantError(t, n.do(method, "/models", `{}`, "Accept", browser), 404, fault.NotFound)
	}
	if r := n.do("GET", "/v1/models", "", "Accept", browser); r.Header.Get("Content-Type") != "application/json; charset=utf-8" {
		t.Errorf("the API answers a browser with %s", r.Header.Get("Content-Type"))
	}
	if r := n.do("GET", "/readyz", "", "Accept", browser); !strings.Contains(string(r.body), `"ok"`) {
		t.Errorf("%s", r.body)
	}
}

// A flood of one address is refused, and pages take nothing from the allowance of files.
func TestPagesAreBounded(t *testing.T) {
	t.Parallel()
	n := withPages(t, func(c *httpapi.Config) { c.AnonymousPerSecond, c.AnonymousBurst = 1, 3 })
	ask := func(path string, times int) (refused int) {
		for range times {
			if r := n.do("GET", path, "", "Accept", browser); r.StatusCode == http.StatusTooManyRequests {
				refused++
			}
		}
		return refused
	}
	if got := ask("/models", 10); got != 7 {
		t.Errorf("%d of 10 pages were refused", got)
	}
	if got := ask("/assets/a.js", 25); got != 0 {
		t.Errorf("%d of 25 files were refused", got)
	}
	if got := ask("/assets/a.js", 100); got < 50 {
		t.Errorf("%d of 100 more files were refused", got)
	}
}
