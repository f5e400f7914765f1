package httpapi

import (
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"weir/internal/operation"
)

// access says who may use a route.
type access = operation.Access

const (
	public         = operation.Public
	anyKey         = operation.AnyKey
	inference      = operation.Inference
	management     = operation.Management
	unlimited      = operation.Unlimited
	administration = operation.Administration
	operating      = operation.Operating
	visiting       = operation.Visiting
	signedIn       = operation.SignedIn
	notifying      = operation.Notifying
	linked         = operation.Linked
	provisioning   = operation.Provisioning
)

// Route is one operation of the API.
type Route struct {
	Method  string
	Pattern string // "/v1/keys/{hash}": a segment in braces matches any one segment, and {name}:word any that ends with :word

	access   access
	body     func(*Config) int64    // largest body; nil: it reads none
	spooled  bool                   // the body goes to disk
	asks     bool                   // it asks a provider though it reads no body
	fresh    bool                   // a session must have begun, or its person have proved who they are, a short time ago
	roles    operation.OrgRoles     // who may use it with the account of an organization
	whole    bool                   // it shows what all of an organization do
	private  bool                   // the answer is for the person alone
	cookies  bool                   // a success sets a cookie or takes it away
	aside    bool                   // requests use no allowance of their key, though they have a body
	leaves   bool                   // it is open to a session that looks at the interface as another person sees it, and ends that
	from     func(netip.Addr) error // refuses other services by their addresses; only for notifying
	envelope envelope               // of its errors
	handle   func(*request) error
	segments []string
	metrics  *routeMetrics
}

// envelope is the form of errors.
type envelope uint8

const (
	standardEnvelope envelope = iota
	messagesEnvelope
	geminiEnvelope
	oauthEnvelope
	scimEnvelope
	liteLLMEnvelope
)

// admitted reports whether requests pass admit: all that read a body or ask a provider. The operators' routes do not: they are the way out
// of an overload. Neither do the small forms of a sign-in and notifications, which are counted by address.
func (r *Route) admitted() bool {
	return (r.body != nil || r.asks) && !r.inner() && r.access != visiting && r.access != signedIn && r.access != notifying && r.access != linked
}

// inner reports whether the route is for those who run the gateway.
func (r *Route) inner() bool { return r.access == administration || r.access == operating }

// rated reports whether requests use the allowances of their key.
func (r *Route) rated() bool {
	return r.body != nil && !r.aside && (r.access == inference || r.access == anyKey)
}

// changes reports whether requests may change something of an account, and so leave rows that stay. Administrators are trusted with that.
func (r *Route) changes() bool {
	return (r.access == management || r.access == signedIn || r.access == provisioning) && r.Method != http.MethodGet
}

// shown reports whether an operator who looks at the interface as another person sees it gets the answer: the route changes nothing, asks no provider
// and shows nothing that is for the person alone, as what models were sent and have answered.
func (r *Route) shown() bool {
	return r.Method == http.MethodGet && !r.asks && !r.private && !r.cookies && r.access != inference
}

// routeTable finds routes by path and method. It redirects nowhere and decodes a path once: what is not exactly a route is 404.
type routeTable struct {
	fixed    map[string][]*Route
	variable []*Route
}

func newRouteTable(routes []*Route) *routeTable {
	t := &routeTable{fixed: map[string][]*Route{}}
	for _, r := range routes {
		r.segments = strings.Split(r.Pattern[1:], "/")
		if strings.Contains(r.Pattern, "{") {
			t.variable = append(t.variable, r)
			continue
		}
		t.fixed[r.Pattern] = append(t.fixed[r.Pattern], r)
	}
	return t
}

// find returns the route and the values of its variable segments. Without a route for the method, allow lists the methods
// that the path has; it is empty for an unknown path.
func (t *routeTable) find(method string, u *url.URL) (found *Route, values [2]string, allow []string) {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	path := u.Path
	if u.RawPath != "" {
		path = u.RawPath // an encoded slash stays inside its segment
	}
	for _, root := range [...]string{"/v1", geminiRoot} {
		if rest, ok := strings.CutPrefix(path, "/api"+root); ok && (rest == "" || rest[0] == '/') { // not "/api/v1x"
			path = root + rest
			break
		}
	}
	if len(path) > 1 {
		path = strings.TrimSuffix(path, "/")
	}
	if u.RawPath == "" {
		if routes := t.fixed[path]; routes != nil {
			found, allow = choose(routes, method)
			return found, values, allow
		}
	}
	return t.search(method, path, u.RawPath != "")
}

// choose picks the route of a method.
func choose(routes []*Route, method string) (*Route, []string) {
	for _, r := range routes {
		if r.Method == method {
			return r, nil
		}
	}
	var allow []string
	for _, r := range routes {
		allow = append(allow, r.Method)
		if r.Method == http.MethodGet {
			allow = append(allow, http.MethodHead)
		}
	}
	return nil, append(allow, http.MethodOptions)
}

// search compares segment by segment; escaped reports that each is still to be decoded, once.
func (t *routeTable) search(method, path string, escaped bool) (*Route, [2]string, []string) {
	var values [2]string
	if path == "" || path[0] != '/' {
		return nil, values, nil
	}
	segments := strings.Split(path[1:], "/")
	for i, s := range segments {
		if escaped {
			decoded, err := url.PathUnescape(s)
			if err != nil {
				return nil, values, nil
			}
			segments[i], s = decoded, decoded
		}
		if s == "" || s == "." || s == ".." {
			return nil, values, nil
		}
	}
	if escaped {
		segments = splitSlug(segments)
	}
	var same []*Route
	for _, r := range t.variable {
		if _, ok := r.match(segments); ok {
			same = append(same, r)
		}
	}
	if same == nil && escaped && !slices.ContainsFunc(segments, func(s string) bool { return strings.Contains(s, "/") }) {
		same = t.fixed["/"+strings.Join(segments, "/")]
	}
	if same == nil {
		return nil, values, nil
	}
	found, allow := choose(same, method)
	if found != nil {
		values, _ = found.match(segments)
	}
	return found, values, allow
}

// splitSlug makes two segments of a model's slug that came as one, with an escaped slash.
func splitSlug(segments []string) []string {
	at := slices.Index(segments, "models") + 1
	if at == 0 || at == len(segments) {
		return segments
	}
	vendor, name, ok := strings.Cut(segments[at], "/")
	if !ok || vendor == "" || name == "" {
		return segments
	}
	return slices.Concat(segments[:at], []string{vendor, name}, segments[at+1:])
}

func (r *Route) match(segments []string) (values [2]string, ok bool) {
	if len(segments) != len(r.segments) {
		return values, false
	}
	n := 0
	for i, want := range r.segments {
		if want[0] == '{' {
			_, word, _ := strings.Cut(want, "}")
			value, fits := strings.CutSuffix(segments[i], word)
			if !fits || value == "" {
				return values, false
			}
			values[n] = value
			n++
		} else if want != segments[i] {
			return values, false
		}
	}
	return values, true
}
