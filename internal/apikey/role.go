package apikey

// Role is what a user may do beyond their own wallet.
type Role string

// The roles. An administrator may do all that an operator may, and change providers, prices and rates.
const (
	User          Role = "user"
	Operator      Role = "operator"
	Administrator Role = "administrator"
)
