package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"weir/internal/accountapi"
	"weir/internal/adminapi"
	"weir/internal/audit"
	"weir/internal/catalog"
	"weir/internal/catalog/edit"
	"weir/internal/fault"
	"weir/internal/operation"
	"weir/internal/preset"
	"weir/internal/rawjson"
	"weir/internal/resource"
)

// StateKinds are the kinds of what operators set, each after those that it needs.
func StateKinds() []resource.Kind {
	sources := stateSources(adminapi.Deps{}, nil, "")
	kinds := make([]resource.Kind, len(sources))
	for i := range sources {
		kinds[i] = sources[i].Kind
	}
	return kinds
}

// stateSources are what operators set, and then the presets of an account, which name models.
func stateSources(d adminapi.Deps, presets *preset.Manager, user string) []resource.Source {
	return append(adminapi.Resources(d), accountapi.PresetState(presets, user, func(ctx context.Context) (*catalog.Snapshot, error) {
		b, err := d.Editor.Built(ctx)
		if err != nil {
			return nil, err
		}
		return b.Snapshot, nil
	}))
}

// LocalState is the gateway whose database an editor works on, with the presets of an account; "": of none.
func LocalState(o *Admin, e *edit.Editor, user string, by audit.Actor) resource.Gateway {
	return &resource.Local{Sources: stateSources(adminapi.Deps{Editor: e, Alerts: o.alerts}, preset.NewManager(o.Store.Pages, time.Now), user), By: by}
}

// remoteState is a gateway that is asked over its API.
type remoteState struct {
	base, key string
	client    *http.Client
}

// RemoteState is the gateway at an address, asked with the management key of an administrator.
func RemoteState(base, key string) (resource.Gateway, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil || u.RawQuery != "" {
		return nil, fmt.Errorf("%q is no address of a gateway, such as https://weir.example.com", base)
	}
	if key == "" {
		return nil, errors.New("the management key is missing")
	}
	// the key goes to this address alone, also when it answers with another one
	stays := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &remoteState{base: strings.TrimSuffix(base, "/"), key: key, client: &http.Client{Timeout: time.Minute, CheckRedirect: stays}}, nil
}

// maxState is how much of an answer is read: a page is two hundred rows of at most a few hundred short fields.
const maxState = 64 << 20

func (r *remoteState) ask(ctx context.Context, method, path string, query url.Values, body []byte) ([]byte, error) {
	target := r.base + path
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, method, target, strings.NewReader(string(body)))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+r.key)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := r.client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("the gateway does not answer: %w", err)
	}
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(res.Body, maxState))
	if err != nil {
		return nil, fmt.Errorf("the gateway's answer ended early: %w", err)
	}
	if res.StatusCode/100 == 2 && rawjson.Valid(answer) {
		return answer, nil
	}
	says := rawjson.TextAt(rawjson.Find(answer, "error"), "message")
	switch {
	case says == "":
		return nil, fmt.Errorf("%s %s: the answer has status %d and is not one of Weir", method, target, res.StatusCode)
	case res.StatusCode == http.StatusNotFound:
		return nil, fault.New(fault.NotFound, "app.remoteState", says+" With a key, /api/admin is on the operators' listener, and on the public one with server.admin_api.")
	case res.StatusCode == http.StatusConflict:
		return nil, fault.New(fault.Conflict, "app.remoteState", says)
	}
	return nil, fault.New(fault.Invalid, "app.remoteState", says)
}

// List lists the resources of a kind.
func (r *remoteState) List(ctx context.Context, k *resource.Kind) (l resource.Listing, err error) {
	for after := ""; ; {
		answer, err := r.ask(ctx, http.MethodGet, cmp.Or(k.Lists, "/api/admin/state/"+url.PathEscape(k.Name)), url.Values{"limit": {"200"}, "after": {after}}, nil)
		if err != nil {
			return l, err
		}
		for e := rawjson.ElementsOf(rawjson.Find(answer, "data")); e.Next(); {
			l.Items = append(l.Items, itemOf(e.Value))
		}
		next := rawjson.TextAt(answer, "next")
		if next == "" {
			l.Notes = nil
			for e := rawjson.ElementsOf(rawjson.Find(answer, "notes")); e.Next(); {
				l.Notes = append(l.Notes, rawjson.Text(e.Value))
			}
			return l, nil
		}
		if next <= after {
			return l, fmt.Errorf("the gateway's list of %s does not end", k.Name)
		}
		after = next
	}
}

func itemOf(v []byte) resource.Item {
	is := func(name string) bool {
		value, _ := rawjson.Bool(rawjson.Find(v, name))
		return value
	}
	x := resource.Item{ID: rawjson.TextAt(v, "id"), Where: rawjson.TextAt(v, "where"), HasKey: is("has_key"), Last4: rawjson.TextAt(v, "last4"), Builtin: is("builtin"), Fields: resource.Fields{}}
	x.Version, _ = rawjson.Int(rawjson.Find(v, "version"))
	for m := rawjson.MembersOf(rawjson.Find(v, "fields")); m.Next(); {
		x.Fields[string(m.Name)] = rawjson.Text(m.Value)
	}
	return x
}

func conditionOf(only resource.Condition) url.Values {
	q := url.Values{}
	if only.Version != 0 {
		q.Set("version", fmt.Sprint(only.Version))
	}
	if only.New {
		q.Set("new", "true")
	}
	if only.Dry {
		q.Set("dry_run", "true")
	}
	return q
}

func pathOf(k *resource.Kind, id string) string {
	return strings.Replace(k.Path, "{id}", url.PathEscape(id), 1)
}

// Put makes one what the fields say.
func (r *remoteState) Put(ctx context.Context, k *resource.Kind, id string, f resource.Fields, key *string, only resource.Condition) (resource.Outcome, error) {
	members := k.Tree(f)
	if members == nil {
		members = map[string]any{}
	}
	switch {
	case key != nil && *key == "":
		members[k.Key] = nil
	case key != nil:
		members[k.Key] = *key
	}
	body, err := operation.JSON(members)
	if err != nil {
		return "", err
	}
	answer, err := r.ask(ctx, http.MethodPut, pathOf(k, id), conditionOf(only), body)
	return resource.Outcome(rawjson.TextAt(answer, "result")), err
}

// Delete removes one.
func (r *remoteState) Delete(ctx context.Context, k *resource.Kind, id string, only resource.Condition) error {
	_, err := r.ask(ctx, http.MethodDelete, pathOf(k, id), conditionOf(only), nil)
	return err
}
