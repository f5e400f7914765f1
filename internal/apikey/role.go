package apikey

// Role is a user's right to do more than use its own wallet.
type Role string

// The roles. An administrator may do all that an operator may, and change providers, prices and rates.
const (
	User          Role = "user"
	Operator      Role = "operator"
	Administrator Role = "administrator"
)
