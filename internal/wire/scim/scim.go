// Package scim answers the directories of organizations: SCIM 2.0 (RFC 7643, RFC 7644), as far as Entra ID, Okta and Keycloak ask for it. It knows who is in
// a directory by package organization, and no HTTP of ours: a request is a method, a path and a body.
package scim

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/elimity-com/scim"
	scimerrors "github.com/elimity-com/scim/errors"
	"github.com/elimity-com/scim/optional"
	"github.com/elimity-com/scim/schema"
	"github.com/scim2/filter-parser/v2"

	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/organization"
)

// Directories keeps who is in a directory. *organization.Manager is one.
type Directories interface {
	Directory(ctx context.Context, org string) (organization.Directory, error)
	AddListed(ctx context.Context, org string, u organization.Listed, by audit.Actor) (organization.Listed, error)
	AddGroup(ctx context.Context, org string, g organization.Group, by audit.Actor) (organization.Group, error)
	ChangeDirectory(ctx context.Context, org string, by audit.Actor, f func(*organization.Edit) error) error
}

// Root is the path below which all of it is.
const Root = "/scim/v2"

// Type is the media type of requests and answers.
const Type = "application/scim+json"

const (
	userSchema  = "urn:ietf:params:scim:schemas:core:2.0:User"
	groupSchema = "urn:ietf:params:scim:schemas:core:2.0:Group"
)

// Request is one of a directory.
type Request struct {
	Method string
	Path   string // below Root, such as "/Users/usr_1"
	Query  url.Values
	Body   []byte
	Base   string // the address of this gateway
	Org    string // whose directory asks
	By     audit.Actor
}

// Answer is what it gets.
type Answer struct {
	Status   int
	Location string // "" none
	Body     []byte
	Err      error // why it was refused, for the log; nil: it was not, or by its form
}

// Server answers requests. It is safe for concurrent use.
type Server struct {
	all    Directories
	status func(error) (int, string) // of a fault, and its sentence
}

// Entra ID writes booleans as text: the setting is of the library as a whole, so it is made once.
func init() { schema.SetAllowStringValues(true) }

// New makes a Server. status says with which HTTP status a fault is answered, and with which sentence.
func New(all Directories, status func(error) (int, string)) *Server {
	return &Server{all, status}
}

// most is how many resources a page has.
const most = 200

var about = scim.ServiceProviderConfig{
	MaxResults: most, SupportFiltering: true, SupportPatch: true,
	AuthenticationSchemes: []scim.AuthenticationScheme{{Type: scim.AuthenticationTypeOauthBearerToken, Name: "Token of the directory", Description: "The token that an owner of the organization has made", Primary: true}},
}

// Answer answers one request.
func (s *Server) Answer(ctx context.Context, in *Request) Answer {
	a := asked{s: s, in: in}
	body, refused := a.tidy()
	if refused != nil {
		return *refused
	}
	types := []scim.ResourceType{
		{ID: optional.NewString("User"), Name: "User", Endpoint: "/Users", Schema: users, Handler: &people{&a}},
		{ID: optional.NewString("Group"), Name: "Group", Endpoint: "/Groups", Schema: groups, Handler: &bands{&a}},
	}
	server, err := scim.NewServer(&scim.ServerArgs{ServiceProviderConfig: &about, ResourceTypes: types}, scim.WithBaseURL(in.Base+Root))
	if err != nil {
		return a.failed(err)
	}
	r := (&http.Request{Method: in.Method, URL: &url.URL{Path: in.Path, RawQuery: in.Query.Encode()}, Header: http.Header{}}).WithContext(ctx)
	r.Body = closer{bytes.NewReader(body)}
	if f := in.Query.Get("filter"); f != "" {
		in.Query.Set("filter", tidyFilter(f))
		r.URL.RawQuery = in.Query.Encode()
	}
	var w recorder
	server.ServeHTTP(&w, r)
	return Answer{Status: w.status, Location: w.Header().Get("Location"), Body: w.body.Bytes(), Err: a.err}
}

type closer struct{ *bytes.Reader }

func (closer) Close() error { return nil }

type recorder struct {
	head   http.Header
	status int
	body   bytes.Buffer
}

func (w *recorder) Header() http.Header {
	if w.head == nil {
		w.head = http.Header{}
	}
	return w.head
}
func (w *recorder) WriteHeader(status int)      { w.status = status }
func (w *recorder) Write(b []byte) (int, error) { return w.body.Write(b) }

// asked is one request while it is answered.
type asked struct {
	s   *Server
	in  *Request
	err error // why it was refused
}

// tidy is the body in the forms that the standard has. A PATCH of which nothing is left becomes a GET.
func (a *asked) tidy() (body []byte, refused *Answer) {
	kept := ofUsers
	if strings.HasPrefix(a.in.Path, "/Groups") {
		kept = ofGroups
	}
	var err error
	switch a.in.Method {
	case http.MethodPost, http.MethodPut:
		body, err = tidyResource(a.in.Body, kept)
	case http.MethodPatch:
		var none bool
		if body, none, err = tidyPatch(a.in.Body, kept); none && err == nil {
			a.in.Method = http.MethodGet
		}
	}
	if err != nil {
		out := a.failed(err)
		return nil, &out
	}
	return body, nil
}

// refuse makes a fault an error of SCIM, and keeps it for the log.
func (a *asked) refuse(err error) error {
	var own scimerrors.ScimError
	if err == nil || errors.As(err, &own) {
		return err
	}
	a.err = err
	status, sentence := a.s.status(err)
	out := scimerrors.ScimError{Status: status, Detail: sentence}
	switch {
	case fault.Is(err, fault.Conflict):
		out.ScimType = scimerrors.ScimTypeUniqueness
	case fault.Is(err, fault.Invalid), fault.Is(err, fault.DuplicateKey), fault.Is(err, fault.TooDeep):
		out.ScimType = scimerrors.ScimTypeInvalidValue
	}
	return out
}

func (a *asked) failed(err error) Answer {
	status, sentence := a.s.status(err)
	return Answer{Status: status, Body: ErrorBody(status, sentence), Err: err}
}

func notFound(id string) error { return scimerrors.ScimErrorResourceNotFound(id) }

// listOf filters, sorts and cuts resources.
func listOf(all []scim.Resource, p scim.ListRequestParams) scim.Page {
	out := []scim.Resource{}
	for _, one := range all {
		if p.FilterValidator != nil {
			whole := map[string]any{"id": one.ID}
			for k, v := range one.Attributes {
				whole[k] = v
			}
			if one.ExternalID.Present() {
				whole["externalId"] = one.ExternalID.Value()
			}
			if p.FilterValidator.PassesFilter(whole) != nil {
				continue
			}
		}
		out = append(out, one)
	}
	total := len(out)
	from := min(p.StartIndex-1, total)
	return scim.Page{TotalResults: total, Resources: out[from:min(from+p.Count, total)]}
}

func meta(created, updated time.Time) scim.Meta {
	return scim.Meta{Created: &created, LastModified: &updated}
}

func optionalText(s string) optional.String {
	if s == "" {
		return optional.String{}
	}
	return optional.NewString(s)
}

// text is a text among attributes.
func text(v any) string {
	s, _ := v.(string)
	return s
}

// object is an object among attributes.
func object(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

// valuesOf are the objects of an attribute that has several values.
func valuesOf(v any) []map[string]any {
	var out []map[string]any
	switch list := v.(type) {
	case []any:
		for _, one := range list {
			out = append(out, object(one))
		}
	case map[string]any:
		out = append(out, list)
	}
	return out
}

// without reports whether a request leaves an attribute out of the answer.
func (a *asked) without(attribute string) bool {
	names := func(parameter string) []string { return strings.Split(a.in.Query.Get(parameter), ",") }
	is := func(s string) bool { return strings.EqualFold(strings.TrimSpace(s), attribute) }
	return slices.ContainsFunc(names("excludedAttributes"), is) || a.in.Query.Get("attributes") != "" && !slices.ContainsFunc(names("attributes"), is)
}

// pathOf are the attribute and the part of it that an operation is about.
func pathOf(p *filter.Path) (attribute, part string) {
	attribute = p.AttributePath.AttributeName
	if part = p.AttributePath.SubAttributeName(); part == "" {
		part = p.SubAttributeName()
	}
	return attribute, part
}
