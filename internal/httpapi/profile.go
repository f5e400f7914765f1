package httpapi

import (
	"cmp"

	"weir/internal/account"
	"weir/internal/fault"
	"weir/internal/rawjson"
)

// systemTheme is what pages call the theme of the browser's system, which is stored as "".
const systemTheme = "system"

// getProfile serves GET /api/account/profile.
func (x *exchange) getProfile() error {
	u, err := x.api.Accounts.ByID(x.context(), x.caller.User)
	if err != nil {
		return err
	}
	return x.replyProfile(&u)
}

func (x *exchange) replyProfile(u *account.User) error {
	email := ""
	if x.api.People != nil {
		p, err := x.api.People.Of(x.context(), u.ID)
		if err != nil {
			return err
		}
		email = p.Email
	}
	var o object
	o.Object()
	o.Name("data").Object()
	o.text("id", u.ID)
	o.text("name", u.Name)
	o.textOrNull("email", email)
	o.text("role", string(u.Role))
	o.textOrNull("language", u.Language)
	o.text("theme", cmp.Or(u.Theme, systemTheme))
	o.moment("created_at", u.CreatedAt)
	o.EndObject()
	o.EndObject()
	x.w.Header()["Cache-Control"] = noStore
	return x.reply(&o)
}

// patchProfile serves PATCH /api/account/profile.
func (x *exchange) patchProfile() error {
	body, err := x.readBody()
	if err != nil {
		return err
	}
	if err := rawjson.Check(body, rawjson.Limits{Depth: 2, Keys: 10, Values: 20}); err != nil {
		return err
	}
	if rawjson.KindOf(body) != rawjson.Object {
		return fault.New(fault.Invalid, "httpapi.patchProfile", "The body must be a JSON object.")
	}
	u, err := x.api.Accounts.ByID(x.context(), x.caller.User)
	if err != nil {
		return err
	}
	for m := rawjson.MembersOf(body); m.Next(); {
		name, kind := string(m.Name), rawjson.KindOf(m.Value)
		text := ""
		if kind == rawjson.String {
			text = rawjson.Text(m.Value)
		}
		switch {
		case name == "name" && kind == rawjson.String:
			u.Name = text
		case name == "language" && kind == rawjson.Null:
			u.Language = ""
		case name == "language" && text != "":
			u.Language = text
		case name == "theme" && text == systemTheme:
			u.Theme = ""
		case name == "theme" && text != "":
			u.Theme = text
		case name == "name", name == "language", name == "theme":
			return fault.Field("httpapi.patchProfile", name, "%s must be a text that is not empty.", name).Coded("not_empty")
		default:
			return fault.Field("httpapi.patchProfile", clip(name), "This route has no field of this name.").Coded("unknown_field")
		}
	}
	p := account.Profile{Name: u.Name, Language: u.Language, Theme: u.Theme}
	if err := x.api.Accounts.SetProfile(x.context(), u.ID, p, x.actor()); err != nil {
		return err
	}
	return x.replyProfile(&u)
}

// deleteAccount serves DELETE /api/account: the person who is signed in becomes anonymous. No key can do that.
func (x *exchange) deleteAccount() error {
	if err := x.api.Accounts.Forget(x.context(), x.caller.User, x.actor()); err != nil {
		return err
	}
	x.setSession("", 0)
	x.w.Header().Set("Clear-Site-Data", `"cache", "storage"`)
	return x.done()
}
