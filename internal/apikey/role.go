package apikey

// Role is a user's right to do more than use its own wallet.
type Role string

// The roles. An operator sees what the gateway does, helps its users and takes endpoints out of service. An administrator may do that, and change
// providers, prices, rates, roles and settings.
const (
	User          Role = "user"
	Operator      Role = "operator"
	Administrator Role = "administrator"
)

// Operates reports whether the role may run the gateway.
func (r Role) Operates() bool { return r == Operator || r == Administrator }

// OrgRole is what a person may do in an organization.
type OrgRole string

// The roles in an organization. An owner may do all; a manager has members, teams, budgets and keys; a member has own keys and own calls; billing reads
// money, pays, and has no keys.
const (
	OrgOwner   OrgRole = "owner"
	OrgManager OrgRole = "manager"
	OrgMember  OrgRole = "member"
	OrgBilling OrgRole = "billing"
)

// OrgRoles lists all of them, those who may most first.
func OrgRoles() []OrgRole { return []OrgRole{OrgOwner, OrgManager, OrgMember, OrgBilling} }

// Sight is whose calls and keys of an organization somebody sees. The zero value is all of an account.
type Sight struct {
	Member string // those of a person or service
	Team   string // and those of a team
}

// Of reports whether what a member with a team has is seen.
func (s Sight) Of(member, team string) bool {
	return s.All() || member == s.Member || s.Team != "" && team == s.Team
}

// All reports whether nothing of the account is hidden.
func (s Sight) All() bool { return s == Sight{} }
