package auth

import (
	"context"
	"crypto/subtle"
	"errors"
	"slices"
	"strings"
	"time"

	"weir/internal/account"
	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/usertext"
)

// Provider is where people may sign in instead of here.
type Provider struct {
	ID         string   `yaml:"id"`          // in addresses, such as "google"
	Name       string   `yaml:"name"`        // on buttons; "" in settings: ID
	Issuer     string   `yaml:"issuer"`      // its URL, without /.well-known/...
	Domains    []string `yaml:"domains"`     // of the e-mail addresses that may sign in; none: all
	SignUp     bool     `yaml:"sign_up"`     // people who sign in there may make an account here; otherwise they must have linked one
	TrustEmail bool     `yaml:"trust_email"` // it verifies addresses, also where it does not say so: an account with the same confirmed address is linked without asking
}

// Trip is one visit of a browser at a provider.
type Trip struct {
	State, Nonce, Verifier string // random; Verifier is the secret of PKCE
	Redirect               string // address of ours to which the provider sends the browser back
	Again                  bool   // the provider asks the person to sign in, even if they are
}

// Claims are what a provider says of a person, whom it has just seen.
type Claims struct {
	Issuer, Subject string
	Email           string    // "" none
	Verified        bool      // the provider says that Email is the person's
	Silent          bool      // it says nothing of that
	Name            string    // "" none
	SignedIn        time.Time // at the provider; zero: it does not say
	Groups          []string  // of which the person is a member
	Grouped         bool      // it has been asked for groups, and has said all of them
}

// Elsewhere asks other providers. *oidc.Client is one.
type Elsewhere interface {
	// Providers lists all of them, in the order of the configuration.
	Providers() []Provider
	// Begin makes the address to which the browser goes. It fails with fault.NotFound and fault.ProviderUnavailable.
	Begin(ctx context.Context, id string, t *Trip) (string, error)
	// Finish reads what the provider says, from the code of the browser and the issuer that came with it, "" none. It fails likewise.
	Finish(ctx context.Context, id string, t *Trip, code, issuer string) (Claims, error)
}

// What a visit at another provider is for, as its token notes it. The provider's id follows.
const (
	toVisit = "visit " // to sign in
	toLink  = "link "
	toShow  = "show " // to prove who is signed in
)

const maxIdentities = 20 // of one person

// Arrived is asked to follow the groups of a person who has signed in at a provider.
type Arrived func(ctx context.Context, user, provider string, groups []string) error

// FollowGroups has groups of other providers followed. It is called once, before the manager is used.
func (m *Manager) FollowGroups(f Arrived) { m.arrived = f }

// follow follows the groups of a person, if the provider has said them.
func (m *Manager) follow(ctx context.Context, user, provider string, said *Claims) error {
	if m.arrived == nil || !said.Grouped {
		return nil
	}
	return m.arrived(ctx, user, provider, said.Groups)
}

// AllowElsewhere lets people sign in at other providers. It is called once, before the manager is used.
func (m *Manager) AllowElsewhere(e Elsewhere) {
	m.elsewhere = e
	for _, p := range e.Providers() {
		m.cfg.Issuers = append(m.cfg.Issuers, p.Issuer)
	}
}

// Providers lists the other providers.
func (m *Manager) Providers() []Provider {
	if m.elsewhere == nil {
		return nil
	}
	return m.elsewhere.Providers()
}

func (m *Manager) provider(id string) (Provider, error) {
	for _, p := range m.Providers() {
		if p.ID == id {
			return p, nil
		}
	}
	return Provider{}, fault.New(fault.NotFound, "auth.provider", "There is no such provider here.")
}

// Aim is what a visit at another provider is for.
type Aim string

// The aims. Link and Show are of a person who is signed in.
const (
	Enter Aim = "sign_in" // begin a session
	Link  Aim = "link"    // sign in at the provider from now on
	Show  Aim = "prove"   // prove who is signed in
)

// Visit is what is asked of a visit at another provider.
type Visit struct {
	Provider   string // its id
	Aim        Aim
	Invitation string // token of an invitation, with which an account may be made; "" none
	To         string // path of the page to which the person goes afterwards
	Redirect   string // address of ours to which the provider sends the browser back
}

// Leave begins a visit at another provider. It returns the address to which the browser goes, and the text of a cookie which shows that the
// browser that comes back is the same. p is who is signed in, nil none.
func (m *Manager) Leave(ctx context.Context, v Visit, p *Person, c Client) (address, cookie string, err error) {
	const op = "auth.Leave"
	if _, err := m.provider(v.Provider); err != nil {
		return "", "", err
	}
	purpose := map[Aim]string{Enter: toVisit, Link: toLink, Show: toShow}[v.Aim]
	switch {
	case purpose == "":
		return "", "", fault.Field(op, "purpose", "purpose must be sign_in, link or prove.").Coded("purpose")
	case v.Aim != Enter && p == nil:
		return "", "", ended("nobody is signed in")
	}
	now := m.moment()
	state, sum := newToken()
	cookie, seal := newToken()
	nonce, _ := newToken()
	one, _ := newToken()
	two, _ := newToken()
	trip := Trip{State: state, Nonce: nonce, Verifier: one + two, Redirect: v.Redirect, Again: v.Aim == Show}
	invitation := "-"
	if v.Invitation != "" {
		invitation = SumOf(v.Invitation)
	}
	t := Token{Hash: sum, ID: apikey.NewID("tok_"), Kind: Step, User: visitors + c.Network, Note: purpose + v.Provider, CreatedAt: now, ExpiresAt: now.Add(tripFor),
		Data: strings.Join([]string{seal, trip.Nonce, trip.Verifier, invitation, v.Redirect, v.To}, " ")}
	most := maxVisits
	if v.Aim != Enter {
		t.User, most = p.ID, maxSteps
	}
	if address, err = m.elsewhere.Begin(ctx, v.Provider, &trip); err != nil {
		return "", "", err
	}
	return address, cookie, m.store.AddToken(ctx, t, most)
}

// Returned is a browser that came back from another provider.
type Returned struct {
	Provider, State, Code string
	Issuer                string // "" the provider has not named itself
	Refusal               string // the provider's word for why there is no code
	Cookie                string
}

// Arrival is how a visit ended.
type Arrival struct {
	Aim     Aim
	To      string  // page to which the person goes
	Started Started // of an Aim to Enter
	Linked  bool    // an identity was added
}

// The problems of a visit that the person can do something about: Problem returns them.
const (
	ProblemStep       = "step"       // the visit took too long, came back twice, or began in another browser
	ProblemRefused    = "refused"    // the person or the provider has said no
	ProblemProvider   = "provider"   // the provider does not answer, or not as it should
	ProblemUnknown    = "unknown"    // no account has this identity, and it may not make one
	ProblemTaken      = "taken"      // the identity is another account's
	ProblemExists     = "exists"     // there is an account with this address, whose owner must sign in and link it
	ProblemAddress    = "address"    // the address is not of a domain that may sign in, or not verified
	ProblemDisabled   = "disabled"   // the account is disabled
	ProblemOther      = "other"      // the identity is not that of who is signed in
	ProblemPasskey    = "passkey"    // the account requires a passkey
	ProblemInvitation = "invitation" // the invitation does not work, or is for another address
)

func problem(kind fault.Kind, name, sentence string) *fault.Error {
	e := fault.New(kind, "auth.Return: "+name, sentence)
	e.Details = map[string]any{"problem": name}
	return e
}

// Problem is the name of a problem, "" for another error.
func Problem(err error) string {
	name, _ := fault.From(err).Details["problem"].(string)
	return name
}

// Return ends a visit at another provider. p and s are who is signed in now, nil none. The Arrival has Aim and To also where it fails, if the
// visit is known.
func (m *Manager) Return(ctx context.Context, r *Returned, s *Session, p *Person, c Client) (a Arrival, err error) {
	a.Aim = Enter
	provider, err := m.provider(r.Provider)
	if err != nil {
		return a, err
	}
	broken := problem(fault.Invalid, ProblemStep, "This sign-in took too long, was used already, or began in another browser. Begin again.")
	t, err := m.store.UseToken(ctx, Step, SumOf(r.State), m.moment())
	if fault.Is(err, fault.NotFound) {
		return a, broken.Because(err)
	}
	if err != nil {
		return a, err
	}
	purpose, id, _ := strings.Cut(t.Note, " ")
	data := strings.SplitN(t.Data, " ", 6)
	if len(data) != 6 || id != r.Provider || subtle.ConstantTimeCompare([]byte(SumOf(r.Cookie)), []byte(data[0])) != 1 {
		return a, broken
	}
	a.Aim, a.To = map[string]Aim{toVisit: Enter, toLink: Link, toShow: Show}[purpose+" "], data[5]
	switch {
	case a.Aim == "":
		return a, broken
	case a.Aim != Enter && (p == nil || p.ID != t.User):
		return a, problem(fault.Authentication, ProblemStep, "The session in which this began has ended. Sign in, and begin again.")
	case r.Code == "":
		return a, problem(fault.PermissionDenied, ProblemRefused, "The provider has not let you in: "+usertext.Cut(r.Refusal, 60)+".")
	}
	trip := Trip{State: r.State, Nonce: data[1], Verifier: data[2], Redirect: data[4], Again: a.Aim == Show}
	said, err := m.elsewhere.Finish(ctx, r.Provider, &trip, r.Code, r.Issuer)
	if fault.Is(err, fault.ProviderUnavailable) {
		return a, problem(fault.ProviderUnavailable, ProblemProvider, "The provider does not answer as it should. Try again, or sign in another way.").Because(err)
	}
	if err != nil {
		return a, err
	}
	if said.Email, err = CheckEmail("email", said.Email); err != nil {
		said.Email, said.Verified = "", false
	}
	if said.Silent && said.Email != "" {
		said.Verified = provider.TrustEmail
	}
	c.proved = said.SignedIn
	if err := admits(&provider, &said); err != nil {
		return a, err
	}
	known, err := m.store.IdentityBy(ctx, said.Issuer, said.Subject)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return a, err
	}
	found := err == nil
	switch {
	case a.Aim == Link && found && known.User != p.ID:
		return a, problem(fault.Conflict, ProblemTaken, "Another account has linked this identity.")
	case a.Aim == Link && found:
		return a, nil
	case a.Aim == Link:
		a.Linked = true
		return a, m.link(ctx, p.ID, &said, c)
	case a.Aim == Show && (!found || known.User != p.ID):
		return a, problem(fault.PermissionDenied, ProblemOther, "This identity is not linked to the account that is signed in.")
	case a.Aim == Show && !said.SignedIn.IsZero() && m.now().Sub(said.SignedIn) > FreshFor+time.Minute: // it was asked to, and its clock may be late
		return a, problem(fault.ProviderUnavailable, ProblemProvider, "The provider has not asked you to sign in again. Prove in another way who you are.").
			Because(errors.New("auth_time is older than max_age"))
	case a.Aim == Show && p.SecondStep:
		return a, problem(fault.PermissionDenied, ProblemPasskey, "This account requires a passkey: prove with one who you are.")
	case a.Aim == Show:
		return a, m.store.TouchSession(ctx, s.Hash, m.moment(), true)
	case !found:
		a.Started, err = m.meet(ctx, &provider, &said, data[3], c)
		return a, err
	}
	owner, err := m.store.PersonOf(ctx, known.User)
	if err != nil {
		return a, err
	}
	if owner.Disabled {
		return a, problem(fault.PermissionDenied, ProblemDisabled, "This account is disabled. Ask the operator.")
	}
	if err := m.follow(ctx, known.User, provider.ID, &said); err != nil {
		return a, err
	}
	a.Started, err = m.begin(ctx, known.User, "oidc:"+provider.ID, c)
	return a, err
}

// admits refuses an address that the provider's domains do not have.
func admits(p *Provider, said *Claims) error {
	_, domain, _ := strings.Cut(said.Email, "@")
	if len(p.Domains) == 0 || said.Verified && slices.Contains(p.Domains, domain) {
		return nil
	}
	why := "the address is of another domain"
	switch {
	case said.Email == "":
		why = "there is no e-mail address in its claims: see email_claim and scopes"
	case said.Silent && !said.Verified:
		why = "email_verified is missing in its claims: set trust_email if it verifies addresses"
	case !said.Verified:
		why = "email_verified is false in its claims"
	}
	return problem(fault.PermissionDenied, ProblemAddress, "Only verified addresses of "+strings.Join(p.Domains, ", ")+" may sign in.").Because(errors.New(why))
}

func (m *Manager) link(ctx context.Context, user string, said *Claims, c Client) error {
	all, err := m.store.IdentitiesOf(ctx, user)
	if err != nil {
		return err
	}
	if len(all) >= maxIdentities {
		return fault.Newf(fault.Conflict, "auth.link", "An account may have %d linked sign-ins. Remove one that is not used.", maxIdentities)
	}
	i := Identity{Issuer: said.Issuer, Subject: said.Subject, User: user, Email: said.Email, CreatedAt: m.moment()}
	err = m.store.AddIdentity(ctx, i, audit.Event{Actor: by(user, c.Address), Action: audit.IdentityAdded, Target: user, After: said.Issuer + " " + said.Subject})
	if fault.Is(err, fault.Conflict) {
		return problem(fault.Conflict, ProblemTaken, "Another account has linked this identity.").Because(err)
	}
	return m.noted(ctx, user, MailIdentityAdded, err)
}

// meet begins a session of somebody whose identity is not linked: with an account of the same address, or with a new one.
func (m *Manager) meet(ctx context.Context, p *Provider, said *Claims, invitation string, c Client) (Started, error) {
	vouched := p.TrustEmail && said.Verified && said.Email != ""
	if said.Email != "" {
		if err := m.mayTest(said.Issuer + " " + said.Subject); err != nil {
			return Started{}, err
		}
		l, err := m.store.LoginByEmail(ctx, said.Email)
		switch {
		case err == nil && vouched && l.Confirmed: // an unconfirmed address may belong to an attacker who waits for its owner
			owner, err := m.store.PersonOf(ctx, l.User)
			if err != nil {
				return Started{}, err
			}
			if owner.Disabled {
				return Started{}, problem(fault.PermissionDenied, ProblemDisabled, "This account is disabled. Ask the operator.")
			}
			if owner.SecondStep { // nothing changes in the account before its passkey has answered
				return Started{}, problem(fault.Conflict, ProblemExists, "There is an account with this address. Sign in to it, and link this provider in its settings.")
			}
			if err := m.link(ctx, l.User, said, c); err != nil {
				return Started{}, err
			}
			if err := m.follow(ctx, l.User, p.ID, said); err != nil {
				return Started{}, err
			}
			return m.begin(ctx, l.User, "oidc:"+p.ID, c)
		case err == nil:
			return Started{}, problem(fault.Conflict, ProblemExists, "There is an account with this address. Sign in to it, and link this provider in its settings.")
		case !fault.Is(err, fault.NotFound):
			return Started{}, err
		}
	}
	role, use := apikey.User, ""
	if invitation != "-" {
		t, err := m.invitation(ctx, invitation)
		if fault.Is(err, fault.NotFound) || err == nil && t.Email != "" && (t.Email != said.Email || !said.Verified) {
			return Started{}, problem(fault.PermissionDenied, ProblemInvitation, "The invitation was used already, has expired, or is for another address.")
		}
		if err != nil {
			return Started{}, err
		}
		role, use = t.Role, t.Hash
	} else if !p.SignUp {
		return Started{}, problem(fault.PermissionDenied, ProblemUnknown, "No account has linked this identity. Sign in another way, and link it in the settings.")
	}
	now := m.moment()
	u, err := account.Make(nameOf(said), role, now)
	if err != nil {
		return Started{}, err
	}
	l := Login{User: u.ID, CreatedAt: now}
	if vouched {
		l.Email, l.Confirmed = said.Email, true
	}
	i := Identity{Issuer: said.Issuer, Subject: said.Subject, User: u.ID, Email: said.Email, CreatedAt: now}
	s, err := m.add(ctx, u, l, &i, use, "oidc:"+p.ID, c)
	if fault.Is(err, fault.Invalid) { // the address, the identity or the invitation was used at the same moment
		return Started{}, problem(fault.Conflict, ProblemStep, "Somebody was quicker. Begin again.").Because(err)
	}
	if err == nil {
		err = m.follow(ctx, u.ID, p.ID, said)
	}
	return s, err
}

// nameOf is a name that accounts may have.
func nameOf(said *Claims) string {
	before, _, _ := strings.Cut(said.Email, "@")
	for _, name := range []string{said.Name, before, said.Subject} {
		if name = strings.TrimSpace(usertext.Cut(name, 64)); account.CheckName(name) == nil {
			return name
		}
	}
	return "person"
}

// Identities lists a user's identities at other providers, oldest first.
func (m *Manager) Identities(ctx context.Context, user string) ([]Identity, error) {
	return m.store.IdentitiesOf(ctx, user)
}

// ID names an identity in addresses.
func (i *Identity) ID() string { return "idn_" + SumOf(i.Issuer + " " + i.Subject)[:32] }
