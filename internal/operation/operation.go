// Package operation turns functions of the domain into operations of the HTTP API. One declaration says the path, who may, what is read and what
// is answered: requests are read into the fields of one Go type, answers are written from another, and the API's description is made of both.
//
// A type for requests has a field for each thing that is read, with one of these tags: path, query and header name a parameter, json a member of the
// body; body is the whole body, with the name of its schema in the description. A member with omitempty may be left out, a Maybe may be left out or null, all else must be there. A body may have no other members, and none
// twice. Each parameter of the query may be left out, and is the zero value then.
package operation

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"reflect"
	"time"

	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/auth"
	"weir/internal/catalog/listing"
	"weir/internal/organization"
	"weir/internal/rawjson"
)

// Access is who may use an operation.
type Access uint8

// The kinds of access.
const (
	Public         Access = iota // anybody; a valid key makes the request its user's, a wrong one is as good as none
	AnyKey                       // an API key or a management key
	Inference                    // an API key
	Management                   // a session or a management key
	Unlimited                    // public and never refused: health
	Administration               // an administrator: a session or a management key; the public listener takes the key where that is configured
	Operating                    // likewise, for operators, too
	Visiting                     // anybody's browser, from a page of ours: what surrounds a sign-in
	SignedIn                     // a person's browser
	Notifying                    // another service's server, known by its address
	Linked                       // anyone with the link: the path is what lets them in, and neither key nor session is looked at
	Provisioning                 // the directory of an organization, by its token
)

// Operation is a route with what it does. Of makes one.
type Operation struct {
	Method  string
	Path    string // "/api/views/{id}": {id} is the field of the request with the tag path:"id"
	ID      string // in the API's description, in camel case; unique
	Access  Access
	Fresh   bool                   // a session must have begun, or its person have proved who they are, a short time ago
	Org     OrgRoles               // who may use it with the account of an organization; none: it belongs to a person's own account
	Whole   bool                   // it shows what all of an organization do: to managers only where they see all
	Private bool                   // its answer has a secret, or what a person has sent or received: operators who look as them do not get it
	Leaves  bool                   // an operator who looks at the interface as another person sees it may use it: it ends that
	Body    int64                  // largest body in bytes; 0: that of a small form
	Form    rawjson.Limits         // of the body's JSON; zero: those of a small form
	Asks    bool                   // it asks a provider though it reads no body, and is admitted as what reads one
	May     func(*Call) error      // refuses a caller before the body is read; nil: all who have access may
	From    func(netip.Addr) error // refuses other services by their addresses, before anything is counted; for Notifying
	Repeats bool                   // it answers 200 instead of Status where the request had succeeded before
	Status  int                    // of a success; 0: 200
	Cookies bool                   // a success sets a cookie or takes it away
	LiteLLM bool                   // a route of LiteLLM: its errors are in that form, and a key may come in x-api-key as well

	// ForeignQuery is the largest query in bytes, where others than clients of this API write it: what is malformed in it is left out. 0: it is refused.
	ForeignQuery int

	// For the API's description. Example is the body of a request, as JSON; Media the type of an answer that is a File; Waits says when the answer is
	// the second of an Or.
	Tag, Summary, Description, Answer, Example, Media, Waits string
	Events                                                   []any // of the types of what a Stream sends

	in, out reflect.Type
	plan    *plan
	run     func(context.Context, *Call) (any, error)
}

// Call is one request of an operation.
type Call struct {
	*apikey.Caller
	Actor   audit.Actor
	Session *auth.Session            // nil for a key
	Person  *auth.Person             // likewise
	Org     *organization.Membership // in whose account the person acts; nil: their own
	Address string                   // of the client, as it may be counted and stored
	At      time.Time
	Request http.Header // of the request
	Header  http.Header // of the answer

	// Charge takes bytes of the memory of the account and the node until the request ends; it refuses what is too much.
	Charge func(bytes int64) error

	// Base is the address of this gateway, as the client knows it, without a slash at its end.
	Base func() string

	Gates   Gates
	Browser Browser

	// Still fails when the caller has lost the right to a long answer meanwhile.
	Still func() error
	// Status replaces that of the operation, where it is not 0.
	Status int

	Values  []string   // of the segments in braces, in their order
	Query   url.Values // checked to be text
	Content []byte     // of the body: a JSON object without names that come twice; nil when none is read
}

// Gates count what an account may do only so often. Each refuses what is too much.
type Gates interface {
	// Redeem counts a try to redeem a voucher.
	Redeem() error
	// KeyTest counts a test of a provider key.
	KeyTest() error
	// Failure counts a secret that was wrong, for the address of the client.
	Failure() error
}

// Browser is what surrounds a sign-in: from where the page came, and the browser's cookies.
type Browser interface {
	// Client is the browser, for records of its session.
	Client() auth.Client
	// Site is where passkeys work. It fails where they do not.
	Site() (auth.Site, error)
	// Secure refuses a connection that others can read.
	Secure() error
	// Returns refuses a browser that no other site could send back here, because this gateway does not know its own address.
	Returns() error
	// Local reports whether the browser is on this machine, with no proxy between.
	Local() bool
	// Language and Theme are those that it asks for.
	Language() string
	Theme() string
	// Cookie is the value of a cookie, "" without it. SetCookie gives the browser one that no script reads, or takes it away with "".
	Cookie(name string) string
	SetCookie(name, value string, life time.Duration)
	// SetSession gives the browser the cookie of a session, or takes it away with "".
	SetSession(token string, life time.Duration)
}

// NoStore has browsers and proxies keep no copy of the answer.
func (c *Call) NoStore() { c.Header.Set("Cache-Control", "no-store") }

// Of declares an operation that f performs. In is a struct as the package describes, Out what the answer's JSON is made of. It panics on a
// type that cannot be read: declarations are fixed, and tests make all of them.
func Of[In, Out any](o Operation, f func(context.Context, *Call, *In) (Out, error)) Operation {
	o.in, o.out = reflect.TypeFor[In](), reflect.TypeFor[Out]()
	p, err := planOf(o.in, o.Path)
	if err != nil {
		panic(fmt.Sprintf("operation %s: %v", o.ID, err))
	}
	o.plan = p
	if o.Status == 0 {
		o.Status = http.StatusOK
	}
	o.run = func(ctx context.Context, c *Call) (any, error) {
		in := new(In)
		if err := p.read(reflect.ValueOf(in).Elem(), c); err != nil {
			return nil, err
		}
		return f(ctx, c, in)
	}
	return o
}

// HasBody reports whether the operation reads a body.
func (o *Operation) HasBody() bool { return o.plan.body }

// HasAnswer reports whether a success has a body: one of type None has none.
func (o *Operation) HasAnswer() bool { return o.out != reflect.TypeFor[None]() }

// In is the type of requests, for the description.
func (o *Operation) In() reflect.Type { return o.in }

// Out is the type of answers, for the description.
func (o *Operation) Out() reflect.Type { return o.out }

// Answer is what a request is answered with: one of its members.
type Answer struct {
	JSON   []byte
	Kept   *listing.Body // of a Cached
	File   *File
	Stream *Stream
}

// Serve performs a request.
func (o *Operation) Serve(ctx context.Context, c *Call) (Answer, error) {
	out, err := o.run(ctx, c)
	if err != nil {
		return Answer{}, err
	}
	switch a := out.(type) {
	case File:
		return Answer{File: &a}, nil
	case Stream:
		return Answer{Stream: &a}, nil
	case cached:
		return Answer{Kept: a.kept()}, nil
	case either:
		if out = a.answer(); a.waits() {
			c.Status = http.StatusAccepted
		}
	}
	b, err := JSON(out)
	return Answer{JSON: b}, err
}

// File is an answer that a browser saves. An account reads few of them at a time.
type File struct {
	Name      string // "weir-calls-2026-01-01-2026-01-31.csv"
	MediaType string

	// Write sends the content in pieces. An error before the first of them is an error answer; a later one cuts the connection, so that a part is not
	// taken for the whole.
	Write func(w io.Writer) error
}

// Stream is an answer of server-sent events, which ends when its client goes.
type Stream struct {
	// Follow writes the events: each Write is sent at once, and fails when the client has gone. It is not called for a HEAD request.
	Follow func(w io.Writer)
	// Close is called when the answer has ended.
	Close func()
}

// Data is an answer with one thing.
type Data[T any] struct {
	Data T `json:"data"`
}

// Deleted is the answer to what removes something.
type Deleted struct {
	Deleted True `json:"deleted"` // always
}

// True is a member that is always true.
type True bool

// Null is a member that is always null.
type Null struct{}

// Or is an answer that is a T, or a W with the status 202, where something must still happen.
type Or[T, W any] struct {
	Done  *T
	Waits *W // where Done is nil
}

// either is an Or.
type either interface {
	answer() any
	waits() bool
	types() (done, waits reflect.Type)
}

func (o Or[T, W]) answer() any {
	if o.Done != nil {
		return o.Done
	}
	return o.Waits
}

func (o Or[T, W]) waits() bool { return o.Done == nil }

func (Or[T, W]) types() (done, waits reflect.Type) { return reflect.TypeFor[T](), reflect.TypeFor[W]() }

// OrOf are the types of an Or, nil for other types.
func OrOf(t reflect.Type) (done, waits reflect.Type) {
	if o, ok := reflect.Zero(t).Interface().(either); ok {
		return o.types()
	}
	return nil, nil
}

// Empty is the type of requests whose body is an object without members.
type Empty struct{}

// None is the type of requests that say nothing but their path, where that has no segment in braces, and of answers without a body.
type None struct{}
