// Package view keeps named views of pages: the filters of a page as the query of its address, for one account. It checks that a query has
// members of its page and nothing else; it does not know what they mean, and follows no address.
package view

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"weir/internal/apikey"
	"weir/internal/fault"
	"weir/internal/usertext"
)

// Bounds of one account.
const (
	MaxPerUser = 50
	MaxName    = 60   // characters
	MaxQuery   = 2000 // bytes
	maxValue   = 300  // characters of one member
)

// View is a page with filters, under a name.
type View struct {
	ID        string // "view_..."
	User      string // "usr_..."
	Page      string // one of Pages
	Name      string // one line; different ones on a page
	Query     string // encoded, without "?"; the members in alphabetical order, "" is the page without filters
	CreatedAt time.Time
	UpdatedAt time.Time
}

// members are the pages that have views, with the members of their addresses that belong to one.
var members = map[string][]string{
	"activity": {"by", "days", "from", "key", "kind", "member", "model", "provider", "result", "rows", "show", "to"},
	"calls":    {"days", "from", "id", "key", "kind", "member", "min", "model", "provider", "result", "to"},
}

// Pages lists the pages that have views.
func Pages() []string { return []string{"activity", "calls"} }

// Store keeps views. A view of another user is not found (fault.NotFound).
type Store interface {
	// ListViews lists a user's views by page and name.
	ListViews(ctx context.Context, user string) ([]View, error)
	// AddView fails with fault.Conflict when the page has a view of this name, and with fault.Invalid when the account has no room.
	AddView(ctx context.Context, v View) error
	// ChangeView gives the view of v.ID and v.User the name and the query that change returns for the present ones.
	ChangeView(ctx context.Context, user, id string, now time.Time, change func(*View) error) (View, error)
	DeleteView(ctx context.Context, user, id string) error
}

// Manager makes, changes and finds views. It is safe for concurrent use.
type Manager struct {
	store Store
	now   func() time.Time
}

// NewManager makes a Manager over a store.
func NewManager(s Store, now func() time.Time) *Manager { return &Manager{store: s, now: now} }

// List lists a user's views by page and name; page "" is all.
func (m *Manager) List(ctx context.Context, user, page string) ([]View, error) {
	if page != "" {
		if err := checkPage(page); err != nil {
			return nil, err
		}
	}
	all, err := m.store.ListViews(ctx, user)
	if page != "" {
		all = slices.DeleteFunc(all, func(v View) bool { return v.Page != page })
	}
	return all, err
}

// Add makes a view of v's user, page, name and query.
func (m *Manager) Add(ctx context.Context, v View) (View, error) {
	if err := checkPage(v.Page); err != nil {
		return View{}, err
	}
	if err := v.set(v.Name, v.Query); err != nil {
		return View{}, err
	}
	v.ID = apikey.NewID("view_")
	v.CreatedAt = m.now().UTC().Truncate(time.Microsecond)
	v.UpdatedAt = v.CreatedAt
	return v, m.store.AddView(ctx, v)
}

// Change renames a view or gives it another query; nil leaves the present one.
func (m *Manager) Change(ctx context.Context, user, id string, name, query *string) (View, error) {
	return m.store.ChangeView(ctx, user, id, m.now().UTC().Truncate(time.Microsecond), func(v *View) error {
		n, q := v.Name, v.Query
		if name != nil {
			n = *name
		}
		if query != nil {
			q = *query
		}
		return v.set(n, q)
	})
}

// Delete removes a view.
func (m *Manager) Delete(ctx context.Context, user, id string) error {
	return m.store.DeleteView(ctx, user, id)
}

func checkPage(page string) error {
	if members[page] == nil {
		return fault.Field("view.Add", "page", "page must be activity or calls.").Coded("page_without_views")
	}
	return nil
}

func (v *View) set(name, query string) error {
	const op = "view.Set"
	name = strings.TrimSpace(name)
	if n := utf8.RuneCountInString(name); n == 0 || n > MaxName || !usertext.Is(name) {
		return fault.Field(op, "name", "name must be one line of 1 to %d characters.", MaxName).Coded("one_line", "most", MaxName)
	}
	query, err := clean(v.Page, query)
	if err != nil {
		return err
	}
	v.Name, v.Query = name, query
	return nil
}

// clean checks the query of a page and writes it in its one form.
func clean(page, query string) (string, error) {
	const op = "view.Clean"
	if len(query) > MaxQuery {
		return "", fault.Field(op, "query", "query must have at most %d bytes.", MaxQuery).Coded("filters_bytes", "most", MaxQuery)
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return "", fault.Field(op, "query", "query is not the query of an address, such as by=key&days=7.").Coded("filters_unreadable")
	}
	for name, all := range values {
		switch {
		case !slices.Contains(members[page], name):
			return "", fault.Field(op, "query", "query has a member that this page does not have. It may have %s.", strings.Join(members[page], ", ")).Coded("filter_unknown", "allowed", strings.Join(members[page], ", "))
		case len(all) > 1:
			return "", fault.Field(op, "query", "query has a member twice.").Coded("filter_twice")
		case all[0] == "" || utf8.RuneCountInString(all[0]) > maxValue || !usertext.Is(all[0]):
			return "", fault.Field(op, "query", "Each member of query must be one line of 1 to %d characters.", maxValue).Coded("filter_value", "most", maxValue)
		}
	}
	if (values["from"] == nil) != (values["to"] == nil) || values["from"] != nil && values["days"] != nil {
		return "", fault.Field(op, "query", "query must have from and to together, or days, or none of them.").Coded("filter_period")
	}
	encoded := values.Encode()
	if len(encoded) > MaxQuery { // what was not escaped is now
		return "", fault.Field(op, "query", "query must have at most %d bytes.", MaxQuery).Coded("filters_bytes", "most", MaxQuery)
	}
	return encoded, nil
}
