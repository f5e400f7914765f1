package httpapi

import (
	"context"
	"net/http"
	"strings"

	"weir/internal/apikey"
	"weir/internal/fault"
	"weir/internal/httpserver"
	"weir/internal/organization"
	"weir/internal/wire/scim"
)

// Directories are those of organizations. *organization.Manager is one.
type Directories interface {
	scim.Directories
	// DirectoryOf finds the organization of a token. It fails with fault.NotFound.
	DirectoryOf(ctx context.Context, token string) (organization.Organization, error)
}

var scimType = []string{scim.Type}

// verifyDirectory finds the organization whose directory asks, by its token.
func (x *request) verifyDirectory() (*apikey.Caller, error) {
	x.watchPeer()
	text, why := bearer(x.r.Header["Authorization"])
	if why != "" || x.api.Directories == nil {
		return nil, noDirectory("httpapi.bearer: " + why)
	}
	if err := x.MayAsk(); err != nil {
		return nil, err
	}
	o, err := x.api.Directories.DirectoryOf(x.context(), text)
	if fault.Is(err, fault.NotFound) {
		x.Missed()
		return nil, noDirectory("httpapi.verifyDirectory")
	}
	return &apikey.Caller{User: o.ID, Wallet: o.Wallet, Role: apikey.User}, err
}

func noDirectory(op string) error {
	return fault.New(fault.Authentication, op, "The token is missing or wrong. Send the one that an owner of the organization has made for its directory as Authorization: Bearer <token>.")
}

// provision answers the directory of an organization.
func (x *request) provision() error {
	in := scim.Request{Method: x.r.Method, Path: strings.TrimSuffix(strings.TrimPrefix(x.route.Pattern, scim.Root), "/{id}"), Base: x.base(), Org: x.caller.User}
	in.Path = strings.TrimSuffix(in.Path, "/{name}")
	if x.values[0] != "" {
		in.Path += "/" + x.values[0]
	}
	if in.Method == http.MethodHead {
		in.Method = http.MethodGet
	}
	if len(x.r.URL.RawQuery) > maxFilter {
		return fault.Newf(fault.Invalid, "httpapi.provision", "The query must have at most %d bytes.", maxFilter)
	}
	in.Query = x.r.URL.Query()
	in.By = Actor{Name: "scim:" + x.caller.User, From: httpserver.ShowAddress(x.client())}
	if x.route.body != nil {
		body, err := x.readBytes()
		if err != nil {
			return err
		}
		in.Body = body
	}
	a := scim.New(x.api.Directories, func(err error) (int, string) {
		e := fault.From(err)
		return httpserver.Status(e), httpserver.Sentence(e, httpserver.FieldName(e.Param))
	}).Answer(x.context(), &in)
	if a.Err != nil {
		e := fault.From(a.Err)
		if httpserver.Status(e) >= http.StatusInternalServerError {
			return e
		}
		x.fault = e
	}
	if a.Location != "" {
		x.w.Header().Set("Location", a.Location)
	}
	if a.Status >= http.StatusBadRequest {
		a.Body = x.api.Redact(a.Body)
	}
	x.writeBody(a.Status, scimType, a.Body)
	return nil
}

const maxFilter = 4096
