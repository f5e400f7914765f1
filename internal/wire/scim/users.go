package scim

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/elimity-com/scim"

	"weir/internal/apikey"
	"weir/internal/fault"
	"weir/internal/organization"
)

// people are the users of a directory.
type people struct{ *asked }

// resource is how a person is shown.
func (p *people) resource(u *organization.Listed, d *organization.Directory) scim.Resource {
	of := scim.ResourceAttributes{"userName": u.Login, "active": u.Active}
	set := func(to map[string]any, name, value string) {
		if value != "" {
			to[name] = value
		}
	}
	set(of, "displayName", u.Display)
	name := map[string]any{}
	set(name, "formatted", u.Formatted)
	set(name, "givenName", u.Given)
	set(name, "familyName", u.Family)
	if len(name) > 0 {
		of["name"] = name
	}
	if u.Email != "" {
		of["emails"] = []any{map[string]any{"value": u.Email, "type": "work", "primary": true}}
	}
	if u.Role != "" {
		of["roles"] = []any{map[string]any{"value": string(u.Role), "primary": true}}
	}
	var in []any
	for i := range d.Groups {
		if g := &d.Groups[i]; slices.Contains(g.Members, u.User) {
			in = append(in, map[string]any{"value": g.ID, "display": g.Name})
		}
	}
	if in != nil {
		of["groups"] = in
	}
	return scim.Resource{ID: u.User, ExternalID: optionalText(u.ExternalID), Attributes: of, Meta: meta(u.CreatedAt, u.UpdatedAt)}
}

// read reads a whole person; active is as it was where it is left out.
func read(u *organization.Listed, of scim.ResourceAttributes) error {
	name := object(of["name"])
	u.Login, u.ExternalID, u.Display = text(of["userName"]), text(of["externalId"]), text(of["displayName"])
	u.Formatted, u.Given, u.Family = text(name["formatted"]), text(name["givenName"]), text(name["familyName"])
	u.Email = cmp.Or(emailOf(of["emails"]), addressIn(u.Login))
	if active, said := of["active"].(bool); said {
		u.Active = active
	}
	return setRole(u, of["roles"])
}

// emailOf is the address that counts: the primary one, else that of work, else the first.
func emailOf(v any) string {
	best, rank := "", 0
	for _, e := range valuesOf(v) {
		r := 1
		if strings.EqualFold(text(e["type"]), "work") {
			r = 2
		}
		if e["primary"] == true {
			r = 3
		}
		if r > rank && text(e["value"]) != "" {
			best, rank = text(e["value"]), r
		}
	}
	return best
}

// addressIn is a name that is an address, "" another.
func addressIn(name string) string {
	if strings.Contains(name, "@") {
		return name
	}
	return ""
}

// setRole sets the role of the first value, the primary one before others.
func setRole(u *organization.Listed, v any) error {
	all := valuesOf(v)
	slices.SortStableFunc(all, func(a, b map[string]any) int {
		return cmp.Compare(boolOf(b["primary"]), boolOf(a["primary"]))
	})
	u.Role = ""
	if len(all) == 0 {
		return nil
	}
	return nameRole(u, text(all[0]["value"]))
}

func boolOf(v any) int {
	if v == true {
		return 1
	}
	return 0
}

func nameRole(u *organization.Listed, name string) error {
	u.Role = apikey.OrgRole(strings.ToLower(name))
	if u.Role != "" && !slices.Contains(apikey.OrgRoles(), u.Role) {
		return fault.Field("scim.roles", "roles", "roles must have the value owner, manager, member or billing.")
	}
	return nil
}

// Create adds a person.
func (p *people) Create(r *http.Request, of scim.ResourceAttributes) (scim.Resource, error) {
	u := organization.Listed{Active: true}
	err := read(&u, of)
	if err == nil {
		u, err = p.s.all.AddListed(r.Context(), p.in.Org, u, p.in.By)
	}
	if err != nil {
		return scim.Resource{}, p.refuse(err)
	}
	return p.Get(r, u.User)
}

// Get finds a person.
func (p *people) Get(r *http.Request, id string) (scim.Resource, error) {
	d, err := p.s.all.Directory(r.Context(), p.in.Org)
	if err != nil {
		return scim.Resource{}, p.refuse(err)
	}
	u := d.User(id)
	if u == nil {
		return scim.Resource{}, notFound(id)
	}
	return p.resource(u, &d), nil
}

// GetAll lists people.
func (p *people) GetAll(r *http.Request, params scim.ListRequestParams) (scim.Page, error) {
	d, err := p.s.all.Directory(r.Context(), p.in.Org)
	if err != nil {
		return scim.Page{}, p.refuse(err)
	}
	all := make([]scim.Resource, len(d.Users))
	for i := range d.Users {
		all[i] = p.resource(&d.Users[i], &d)
	}
	return listOf(all, params), nil
}

// change changes a person.
func (p *people) change(r *http.Request, id string, f func(*organization.Listed) error) (scim.Resource, error) {
	err := p.s.all.ChangeDirectory(r.Context(), p.in.Org, p.in.By, func(e *organization.Edit) error {
		u := e.User(id)
		if u == nil {
			return notFound(id)
		}
		return f(u)
	})
	if err != nil {
		return scim.Resource{}, p.refuse(err)
	}
	return p.Get(r, id)
}

// Replace gives a person other attributes.
func (p *people) Replace(r *http.Request, id string, of scim.ResourceAttributes) (scim.Resource, error) {
	return p.change(r, id, func(u *organization.Listed) error { return read(u, of) })
}

// Delete takes a person out: their membership ends.
func (p *people) Delete(r *http.Request, id string) error {
	return p.refuse(p.s.all.ChangeDirectory(r.Context(), p.in.Org, p.in.By, func(e *organization.Edit) error {
		if e.User(id) == nil {
			return notFound(id)
		}
		e.Remove(id)
		return nil
	}))
}

// Patch changes some attributes of a person.
func (p *people) Patch(r *http.Request, id string, all []scim.PatchOperation) (scim.Resource, error) {
	return p.change(r, id, func(u *organization.Listed) error {
		for _, o := range all {
			if err := patchUser(u, &o); err != nil {
				return err
			}
		}
		return nil
	})
}

// patchUser carries one operation out. Of a removal the value is nil, so that the attribute becomes empty.
func patchUser(u *organization.Listed, o *scim.PatchOperation) error {
	attribute, part := pathOf(o.Path)
	value := o.Value
	if o.Op == scim.PatchOperationRemove {
		value = nil
	}
	switch attribute {
	case "userName":
		u.Login = text(value)
	case "externalId":
		u.ExternalID = text(value)
	case "displayName":
		u.Display = text(value)
	case "active":
		active, said := value.(bool)
		if !said {
			return fault.Field("scim.active", "active", "active must be true or false.")
		}
		u.Active = active
	case "name":
		patchName(u, part, value)
	case "emails":
		switch {
		case part == "" && o.Path.ValueExpression == nil:
			u.Email = emailOf(value)
		case part == "":
			u.Email = text(object(value)["value"])
		case strings.EqualFold(part, "value"):
			u.Email = text(value)
		}
	case "roles":
		if strings.EqualFold(part, "value") {
			return nameRole(u, text(value))
		}
		if part == "" {
			return setRole(u, value)
		}
	}
	return nil
}

func patchName(u *organization.Listed, part string, value any) {
	whole := object(value)
	for name, to := range map[string]*string{"formatted": &u.Formatted, "givenName": &u.Given, "familyName": &u.Family} {
		switch {
		case strings.EqualFold(part, name):
			*to = text(value)
		case part == "" && (value == nil || whole[name] != nil):
			*to = text(whole[name])
		}
	}
}
