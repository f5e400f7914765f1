package accountapi

import (
	"context"
	"time"

	"weir/internal/operation"
	"weir/internal/view"
)

// View is a page with filters, under a name: its address is /page?query.
type View struct {
	ID        string    `json:"id" pattern:"^view_"`
	Page      string    `json:"page" enum:"activity,calls"`
	Name      string    `json:"name" maxLength:"60"`    // one line; the page has no other view of this name
	Query     string    `json:"query" maxLength:"2000"` // of the page's address, without "?"
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

func viewOf(v *view.View) View {
	return View{ID: v.ID, Page: v.Page, Name: v.Name, Query: v.Query, CreatedAt: v.CreatedAt, UpdatedAt: v.UpdatedAt}
}

// ViewList is all views of an account, or those of one page.
type ViewList struct {
	Data []View         `json:"data"`
	Most int            `json:"most"` // views that an account may have
	Next operation.Null `json:"next"` // they come at once
}

type listViews struct {
	Page string `json:"-" query:"page" enum:"activity,calls"` // of one page only
}

// ViewInput is a new view.
type ViewInput struct {
	Page string `json:"page" enum:"activity,calls"`
	Name string `json:"name" minLength:"1" maxLength:"60"` // one line

	// The query of the address of the page, encoded: of /activity by, days, from, key, kind, model, provider, result, rows, show and to; of /calls
	// days, from, id, key, kind, member, min, model, provider, result and to. from and to come together and without days. "" is the page without
	// filters.
	Query string `json:"query" maxLength:"2000"`
}

// ViewChange is what is to be different. What is left out stays.
type ViewChange struct {
	ID    string  `json:"-" path:"id" pattern:"^view_"`
	Name  *string `json:"name,omitempty" minLength:"1" maxLength:"60"`
	Query *string `json:"query,omitempty" maxLength:"2000"`
}

type viewID struct {
	ID string `json:"-" path:"id" pattern:"^view_"`
}

func views(m *view.Manager) []operation.Operation {
	return []operation.Operation{
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/views", ID: "listViews", Org: operation.Workers, Access: operation.Management, Tag: "pages",
			Summary: "The saved views of the account, by page and name", Description: "A view is a page with filters, under a name: the address of the page is /page?query.",
			Answer: "All views; there are at most 50",
		}, func(ctx context.Context, c *operation.Call, in *listViews) (ViewList, error) {
			all, err := m.List(ctx, c.User, in.Page)
			list := ViewList{Data: make([]View, len(all)), Most: view.MaxPerUser}
			for i := range all {
				list.Data[i] = viewOf(&all[i])
			}
			return list, err
		}),
		operation.Of(operation.Operation{
			Method: "POST", Path: "/api/views", ID: "createView", Org: operation.Leaders, Access: operation.Management, Status: 201, Tag: "pages",
			Summary: "Save a view of a page", Answer: "The new view", Example: `{"page": "activity", "name": "By key, this week", "query": "by=key&days=7"}`,
		}, func(ctx context.Context, c *operation.Call, in *ViewInput) (operation.Data[View], error) {
			v, err := m.Add(ctx, view.View{User: c.User, Page: in.Page, Name: in.Name, Query: in.Query})
			return operation.Data[View]{Data: viewOf(&v)}, err
		}),
		operation.Of(operation.Operation{
			Method: "PATCH", Path: "/api/views/{id}", ID: "changeView", Org: operation.Leaders, Access: operation.Management, Tag: "pages",
			Summary: "Rename a view, or give it other filters", Answer: "The view as it is now", Example: `{"name": "By key, a month", "query": "by=key"}`,
		}, func(ctx context.Context, c *operation.Call, in *ViewChange) (operation.Data[View], error) {
			v, err := m.Change(ctx, c.User, in.ID, in.Name, in.Query)
			return operation.Data[View]{Data: viewOf(&v)}, err
		}),
		operation.Of(operation.Operation{
			Method: "DELETE", Path: "/api/views/{id}", ID: "deleteView", Org: operation.Leaders, Access: operation.Management, Tag: "pages",
			Summary: "Delete a view", Answer: "It is deleted",
		}, func(ctx context.Context, c *operation.Call, in *viewID) (operation.Deleted, error) {
			return operation.Deleted{}, m.Delete(ctx, c.User, in.ID)
		}),
	}
}
