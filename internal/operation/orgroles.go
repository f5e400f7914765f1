package operation

import "weir/internal/apikey"

// OrgRoles are the roles in an organization that may use an operation with its account. None: it belongs to a person's own account.
type OrgRoles uint8

// The sets of roles.
const (
	Owners   OrgRoles = 1 << iota // owners
	managers                      // managers
	members                       // members
	payers                        // billing

	Leaders  = Owners | managers           // who manage people and keys
	Workers  = Owners | managers | members // who have keys
	Payers   = Owners | payers             // who see to money
	Watchers = Leaders | payers            // who see what all do
	Anyone   = Workers | payers
)

// Has reports whether a role is among them.
func (r OrgRoles) Has(role apikey.OrgRole) bool {
	for i, one := range apikey.OrgRoles() {
		if one == role {
			return r&(1<<i) != 0
		}
	}
	return false
}

// Names are the names of the roles.
func (r OrgRoles) Names() []string {
	names := []string{}
	for _, one := range apikey.OrgRoles() {
		if r.Has(one) {
			names = append(names, string(one))
		}
	}
	return names
}
