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
