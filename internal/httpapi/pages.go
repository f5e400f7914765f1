package httpapi

import (
	"net/http"
	"strings"
)

// Pages are what people read: the interface and the documentation. *webui.Site and *docsite.Site are some.
type Pages interface {
	// Open finds what answers a GET of a path outside the API, or nil. base is the gateway's address for its clients, and
	// cheap says that the answer is a file, which costs no more than a refusal.
	Open(r *http.Request, base string) (h http.Handler, cheap bool)
}

// openPage finds the page or file that answers a request without a route. Nothing under /v1 and /api is one, whatever pages there are.
func (x *request) openPage() (http.Handler, bool) {
	p := x.r.URL.Path
	if len(x.api.Pages) == 0 || x.table == x.api.inner || x.r.Method != http.MethodGet && x.r.Method != http.MethodHead || len(p) == 0 || p[0] != '/' || ofAPI(p) {
		return nil, false
	}
	for _, pages := range x.api.Pages {
		if h, cheap := pages.Open(x.r, x.base()); h != nil {
			return h, cheap
		}
	}
	return nil, false
}

// ofAPI reports whether a path belongs to the API, so that its errors have the API's envelope.
func ofAPI(path string) bool {
	for _, root := range []string{"/v1", "/api", geminiRoot} {
		if rest, ok := strings.CutPrefix(path, root); ok && (rest == "" || rest[0] == '/') {
			return true
		}
	}
	return false
}

// servePage answers with a page. Files have an allowance of their own, because a page needs many of them at once.
func (x *request) servePage(h http.Handler, cheap bool) error {
	x.route = x.api.pageRoute
	count := x.api.quotas.Anonymous
	if cheap {
		x.route, count = x.api.fileRoute, x.api.quotas.File
	}
	if err := count(x.at, x.addressName()); err != nil {
		return err
	}
	h.ServeHTTP(pageWriter{x}, x.r)
	return nil
}

// pageWriter lets a page answer a request.
type pageWriter struct{ x *request }

func (w pageWriter) Header() http.Header { return w.x.w.Header() }

func (w pageWriter) WriteHeader(status int) { w.x.w.WriteHeader(status) }

func (w pageWriter) Write(b []byte) (int, error) {
	if w.x.w.Status() == 0 {
		w.WriteHeader(http.StatusOK)
	}
	return w.x.w.Write(b)
}
