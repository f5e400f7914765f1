// Package organization is accounts in which several people act: their members with roles and teams, invitations, and services. An organization is a
// user with a wallet, as a person is one, so that all that an account has works for it: keys, calls, the ledger, invoices. It cannot sign in: a person
// acts in it. It must not know HTTP.
package organization

import (
	"time"

	"weir/internal/apikey"
)

// The prefixes of ids.
const (
	Prefix           = "org_"
	TeamPrefix       = "team_"
	ServicePrefix    = "svc_"
	InvitationPrefix = "inv_"
)

// Sees is whose calls and keys a manager sees.
type Sees string

// What managers see.
const (
	SeesTeam Sees = "team"
	SeesAll  Sees = "all"
)

// Source is whose directory says which role and team a member has.
type Source string

// The sources. Members of Here are managed by the people of the organization.
const (
	Here Source = ""
	OIDC Source = "oidc"
	SCIM Source = "scim"
)

// Organization is an account of several people.
type Organization struct {
	ID        string // "org_..."
	Name      string
	Wallet    string // "wal_..."
	Creator   string // id of the person who made it
	Sees      Sees
	Disabled  bool // its operator has blocked it
	CreatedAt time.Time
	ClosedAt  time.Time // zero: open
}

// Member is a person in an organization.
type Member struct {
	Org      string
	User     string // "usr_..."
	Name     string
	Email    string // "" none
	Role     apikey.OrgRole
	Team     string // "team_...", "" none
	Source   Source
	JoinedAt time.Time
}

// Named is what a member, a service or a team is called, and the team of the first two, "" none.
type Named struct{ Name, Team string }

// Membership is an organization of a person, with their part in it.
type Membership struct {
	Organization
	Role   apikey.OrgRole
	Team   string
	WebKey string // hash of the key of their calls from the browser, "" none yet
}

// Team is some members and services of an organization. A member is in one at most.
type Team struct {
	ID        string // "team_..."
	Org       string
	Name      string
	CreatedAt time.Time
}

// Service is a program that works for an organization, and not for one of its people.
type Service struct {
	ID        string // "svc_..."
	Org       string
	Name      string
	Team      string // "" none
	Creator   string
	CreatedAt time.Time
	EndedAt   time.Time // zero: it works
}

// Invitation lets people become members. Its link works for as many as it has places.
type Invitation struct {
	ID        string // "inv_...", which is no secret
	Hash      string // of the text of its link
	Org       string
	Email     string // whom it is for; "": anybody with the link
	Role      apikey.OrgRole
	Team      string
	Note      string
	Places    int
	Taken     int
	Maker     string
	CreatedAt time.Time
	SentAt    time.Time // by mail, the last time; zero: never
	OpenedAt  time.Time // the first time; zero: never
	ExpiresAt time.Time
}
