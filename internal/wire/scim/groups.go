package scim

import (
	"net/http"
	"slices"

	"github.com/elimity-com/scim"
	"github.com/scim2/filter-parser/v2"

	"weir/internal/fault"
	"weir/internal/organization"
)

// bands are the groups of a directory.
type bands struct{ *asked }

func (b *bands) resource(g *organization.Group, d *organization.Directory) scim.Resource {
	members := make([]any, 0, len(g.Members))
	for _, id := range g.Members {
		if u := d.User(id); u != nil {
			members = append(members, map[string]any{"value": id, "display": u.Login, "type": "User", "$ref": b.in.Base + Root + "/Users/" + id})
		}
	}
	of := scim.ResourceAttributes{"displayName": g.Name, "members": members}
	return scim.Resource{ID: g.ID, ExternalID: optionalText(g.ExternalID), Attributes: of, Meta: meta(g.CreatedAt, g.UpdatedAt)}
}

// idsOf are the members that a value names.
func idsOf(v any) (out []string) {
	for _, m := range valuesOf(v) {
		out = append(out, text(m["value"]))
	}
	return out
}

// Create adds a group.
func (b *bands) Create(r *http.Request, of scim.ResourceAttributes) (scim.Resource, error) {
	g, err := b.s.all.AddGroup(r.Context(), b.in.Org, organization.Group{Name: text(of["displayName"]), ExternalID: text(of["externalId"]), Members: idsOf(of["members"])}, b.in.By)
	if err != nil {
		return scim.Resource{}, b.refuse(err)
	}
	return b.Get(r, g.ID)
}

// Get finds a group.
func (b *bands) Get(r *http.Request, id string) (scim.Resource, error) {
	d, err := b.s.all.Directory(r.Context(), b.in.Org)
	if err != nil {
		return scim.Resource{}, b.refuse(err)
	}
	g := d.Group(id)
	if g == nil {
		return scim.Resource{}, notFound(id)
	}
	one := b.resource(g, &d)
	b.cut(one)
	return one, nil
}

// GetAll lists groups.
func (b *bands) GetAll(r *http.Request, params scim.ListRequestParams) (scim.Page, error) {
	d, err := b.s.all.Directory(r.Context(), b.in.Org)
	if err != nil {
		return scim.Page{}, b.refuse(err)
	}
	all := make([]scim.Resource, len(d.Groups))
	for i := range d.Groups {
		all[i] = b.resource(&d.Groups[i], &d)
	}
	page := listOf(all, params)
	for _, one := range page.Resources { // a filter may be about what is left out
		b.cut(one)
	}
	return page, nil
}

// cut leaves out the members of a group, of which there may be thousands, where the request says so.
func (b *bands) cut(one scim.Resource) {
	if b.without("members") {
		delete(one.Attributes, "members")
	}
}

func (b *bands) change(r *http.Request, id string, f func(*organization.Group) error) (scim.Resource, error) {
	err := b.s.all.ChangeDirectory(r.Context(), b.in.Org, b.in.By, func(e *organization.Edit) error {
		g := e.Group(id)
		if g == nil {
			return notFound(id)
		}
		return f(g)
	})
	if err != nil {
		return scim.Resource{}, b.refuse(err)
	}
	return b.Get(r, id)
}

// Replace gives a group another name and other members: Keycloak leaves members out of a group that has none.
func (b *bands) Replace(r *http.Request, id string, of scim.ResourceAttributes) (scim.Resource, error) {
	return b.change(r, id, func(g *organization.Group) error {
		g.Name, g.ExternalID, g.Members = text(of["displayName"]), text(of["externalId"]), idsOf(of["members"])
		return nil
	})
}

// Delete takes a group out. Its team stays.
func (b *bands) Delete(r *http.Request, id string) error {
	return b.refuse(b.s.all.ChangeDirectory(r.Context(), b.in.Org, b.in.By, func(e *organization.Edit) error {
		if e.Group(id) == nil {
			return notFound(id)
		}
		e.RemoveGroup(id)
		return nil
	}))
}

// Patch changes name and members.
func (b *bands) Patch(r *http.Request, id string, all []scim.PatchOperation) (scim.Resource, error) {
	return b.change(r, id, func(g *organization.Group) error {
		for _, o := range all {
			if err := patchGroup(g, &o); err != nil {
				return err
			}
		}
		return nil
	})
}

func patchGroup(g *organization.Group, o *scim.PatchOperation) error {
	attribute, _ := pathOf(o.Path)
	removes := o.Op == scim.PatchOperationRemove
	switch attribute {
	case "displayName":
		g.Name = text(o.Value)
	case "externalId":
		if g.ExternalID = text(o.Value); removes {
			g.ExternalID = ""
		}
	case "members":
		named := idsOf(o.Value)
		if o.Path.ValueExpression != nil {
			id, ok := namedMember(o.Path.ValueExpression)
			if !ok || !removes {
				return fault.Field("scim.members", "path", `path of members must be members or, to remove one, members[value eq "id"].`)
			}
			named = []string{id}
		}
		switch {
		case removes && o.Value == nil && o.Path.ValueExpression == nil:
			g.Members = nil
		case removes:
			g.Members = slices.DeleteFunc(g.Members, func(id string) bool { return slices.Contains(named, id) })
		case o.Op == scim.PatchOperationReplace:
			g.Members = named
		default:
			g.Members = append(g.Members, named...)
		}
	}
	return nil
}

// namedMember is the id in value eq "id".
func namedMember(e filter.Expression) (id string, ok bool) {
	x, is := e.(*filter.AttributeExpression)
	if !is || x.Operator != filter.EQ || x.AttributePath.AttributeName != "value" {
		return "", false
	}
	id, ok = x.CompareValue.(string)
	return id, ok
}
