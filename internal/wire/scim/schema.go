package scim

import (
	"strconv"

	"github.com/elimity-com/scim/optional"
	"github.com/elimity-com/scim/schema"

	"weir/internal/rawjson"
)

func line(name, description string, required bool, unique schema.AttributeUniqueness) schema.SimpleParams {
	return schema.SimpleStringParams(schema.StringParams{Name: name, Description: optional.NewString(description), Required: required, Uniqueness: unique})
}

func plain(name, description string) schema.SimpleParams {
	return line(name, description, false, schema.AttributeUniquenessNone())
}

var primary = schema.SimpleBooleanParams(schema.BooleanParams{Name: "primary", Description: optional.NewString("The value that counts.")})

// users is the schema of people: what is kept of them.
var users = schema.Schema{
	ID: userSchema, Name: optional.NewString("User"), Description: optional.NewString("A person of the organization"),
	Attributes: schema.Attributes{
		schema.SimpleCoreAttribute(line("userName", "The name by which the directory knows the person.", true, schema.AttributeUniquenessServer())),
		schema.SimpleCoreAttribute(plain("displayName", "The name that is shown.")),
		schema.ComplexCoreAttribute(schema.ComplexParams{Name: "name", Description: optional.NewString("The parts of the name."), SubAttributes: []schema.SimpleParams{
			plain("formatted", "The whole name."), plain("familyName", "The family name."), plain("givenName", "The given name."),
		}}),
		schema.ComplexCoreAttribute(schema.ComplexParams{Name: "emails", MultiValued: true, Description: optional.NewString("The address; one is kept."), SubAttributes: []schema.SimpleParams{
			plain("value", "The address."), plain("type", "work or another."), primary,
		}}),
		schema.SimpleCoreAttribute(schema.SimpleBooleanParams(schema.BooleanParams{Name: "active", Description: optional.NewString("Whether the person is a member.")})),
		schema.ComplexCoreAttribute(schema.ComplexParams{Name: "roles", MultiValued: true, Description: optional.NewString("The role: owner, manager, member or billing; one is kept."), SubAttributes: []schema.SimpleParams{
			plain("value", "The role."), plain("display", "Its name."), plain("type", "Not used."), primary,
		}}),
		schema.ComplexCoreAttribute(schema.ComplexParams{Name: "groups", MultiValued: true, Mutability: schema.AttributeMutabilityReadOnly(), Description: optional.NewString("The groups of the person."), SubAttributes: []schema.SimpleParams{
			plain("value", "Its id."), plain("display", "Its name."),
		}}),
	},
}

// groups is the schema of groups.
var groups = schema.Schema{
	ID: groupSchema, Name: optional.NewString("Group"), Description: optional.NewString("A group, which is a team of the organization"),
	Attributes: schema.Attributes{
		schema.SimpleCoreAttribute(line("displayName", "Its name.", true, schema.AttributeUniquenessServer())),
		schema.ComplexCoreAttribute(schema.ComplexParams{Name: "members", MultiValued: true, Description: optional.NewString("Its members."), SubAttributes: []schema.SimpleParams{
			plain("value", "The id of a User."), plain("display", "The userName."), plain("type", "User."),
		}}),
	},
}

// ErrorBody is the envelope of errors (RFC 7644, section 3.12).
func ErrorBody(status int, detail string) []byte {
	var w rawjson.Writer
	w.Object()
	w.Name("schemas").Array()
	w.Text("urn:ietf:params:scim:api:messages:2.0:Error")
	w.EndArray()
	w.Name("status").Text(strconv.Itoa(status))
	w.Name("detail").Text(detail)
	w.EndObject()
	return w.B
}
