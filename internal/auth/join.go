package auth

import (
	"context"
	"slices"
	"strings"

	"weir/internal/account"
	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/limit"
	"weir/internal/usertext"
)

// Form is what somebody writes to make an account.
type Form struct {
	Email    string
	Name     string // "" takes the part of the address before the @
	Password string
	Token    string // of an invitation, or of the set-up
	Locale   string // language of the mails, "en" or "ru"
}

// read checks a form, except its token, and hashes the password.
func (m *Manager) read(ctx context.Context, f *Form) (hash string, err error) {
	if err := m.passwords("auth.SignUp"); err != nil {
		return "", err
	}
	if f.Email, err = CheckEmail("email", f.Email); err != nil {
		return "", err
	}
	if f.Name == "" {
		f.Name, _, _ = strings.Cut(f.Email, "@")
	}
	if err := account.CheckName(f.Name); err != nil {
		return "", err
	}
	if err := CheckPassword("password", f.Password, f.Email); err != nil {
		return "", err
	}
	return m.hash.hash(ctx, f.Password)
}

func taken(err error) error {
	if fault.Is(err, fault.Conflict) {
		return fault.Field("auth.SignUp", "email", "There is an account with this address already. Sign in, or recover the password.").Coded("address_taken_sign_in").Because(err)
	}
	return linkError("auth.SignUp", err)
}

// SignUp makes an account. With an invitation it begins a session at once. Without one a mail is sent to the address, which is all that may be
// given, whether or not it has an account: who opens the link in it chooses name and password. Then Started is empty.
func (m *Manager) SignUp(ctx context.Context, f Form, c Client) (Started, error) {
	switch {
	case m.cfg.SignUp == Closed:
		return Started{}, fault.New(fault.PermissionDenied, "auth.SignUp", "Sign-up is closed here. Ask the operator for an account.")
	case f.Token != "":
		return m.accept(ctx, f, c)
	case m.cfg.SignUp != Open || m.mail == nil:
		return Started{}, fault.New(fault.PermissionDenied, "auth.SignUp", "Sign-up needs an invitation here. Ask the operator for one.")
	}
	if err := m.passwords("auth.SignUp"); err != nil {
		return Started{}, err
	}
	email, err := CheckEmail("email", f.Email)
	if err != nil {
		return Started{}, err
	}
	for _, given := range [...]struct{ field, value string }{{"password", f.Password}, {"name", f.Name}} {
		if given.value != "" { // a stranger must not choose it for the person who opens the mail
			return Started{}, fault.Field("auth.SignUp", given.field, "%s is chosen with the link that comes by mail. Send email alone.", given.field).Coded("chosen_later")
		}
	}
	if !m.mayMail(email, c.Network) {
		return Started{}, nil // the mails that were sent are enough, and the answer is the same
	}
	_, err = m.store.LoginByEmail(ctx, email)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return Started{}, err
	}
	exists := err == nil
	text, sum := newToken() // stored for an account that exists, too, without its text: the time must not show which it is
	now := m.moment()
	if err := m.store.AddToken(ctx, Token{Hash: sum, ID: apikey.NewID("tok_"), Kind: Confirm, Email: email, CreatedAt: now, ExpiresAt: now.Add(confirmFor)}, maxLinks); err != nil {
		return Started{}, err
	}
	if exists {
		m.send(Mail{To: email, Kind: MailExists, Link: "/sign-in", Locale: f.Locale})
	} else {
		m.send(Mail{To: email, Kind: MailConfirm, Link: "/sign-up#" + text, Locale: f.Locale})
	}
	return Started{}, nil
}

// Confirm ends a sign-up with the token of its mail, which proves the address and nothing else: the rest is what its owner writes now.
func (m *Manager) Confirm(ctx context.Context, f Form, c Client) (Started, error) {
	now := m.moment()
	t, err := m.store.TokenBy(ctx, Confirm, SumOf(f.Token), now)
	if err != nil {
		return Started{}, linkError("auth.Confirm", err)
	}
	f.Email = t.Email
	hash, err := m.read(ctx, &f)
	if err != nil {
		return Started{}, err
	}
	u, err := account.Make(f.Name, apikey.User, now)
	if err != nil {
		return Started{}, err
	}
	return m.add(ctx, u, Login{User: u.ID, Email: f.Email, Password: hash, Confirmed: true, CreatedAt: now}, nil, t.Hash, "password", c)
}

// passwords refuses whatever uses or sets a password where they are switched off.
func (m *Manager) passwords(op string) error {
	if m.cfg.Passwords {
		return nil
	}
	return fault.New(fault.PermissionDenied, op, "Passwords are switched off here. Sign in with one of the providers, or with a passkey.")
}

// add makes a user with a login, and begins their first session.
func (m *Manager) add(ctx context.Context, u account.User, l Login, i *Identity, use, method string, c Client) (Started, error) {
	err := m.store.AddPerson(ctx, u, l, i, use, account.CreatedEvent(&u, by(u.ID, c.Address)))
	if err != nil {
		return Started{}, taken(err)
	}
	return m.begin(ctx, u.ID, method, c)
}

// accept makes an account with an invitation.
func (m *Manager) accept(ctx context.Context, f Form, c Client) (Started, error) {
	now := m.moment()
	t, err := m.invitation(ctx, SumOf(f.Token))
	if err != nil {
		return Started{}, linkError("auth.SignUp", err)
	}
	if t.Email != "" {
		f.Email = t.Email
	}
	hash, err := m.read(ctx, &f)
	if err != nil {
		return Started{}, err
	}
	if err := m.mayTest("invitation " + t.Hash); err != nil {
		return Started{}, err
	}
	u, err := account.Make(f.Name, t.Role, now)
	if err != nil {
		return Started{}, err
	}
	return m.add(ctx, u, Login{User: u.ID, Email: f.Email, Password: hash, Confirmed: t.Email != "" && m.mail != nil, CreatedAt: now}, nil, t.Hash, "password", c)
}

// mayTest counts an address that somebody has written down who learns whether it has an account.
func (m *Manager) mayTest(who string) error {
	v := m.tests.Take(m.now(), who, &testRate, limit.Cost{1})
	if v.OK {
		return nil
	}
	e := fault.New(fault.RateLimited, "auth.mayTest", "Too many addresses were tried. Wait, or ask the operator.")
	e.RetryAfter = v.Wait
	return e
}

// MayInvite reports whether somebody of a role may invite others to a role.
func MayInvite(maker, to apikey.Role) bool {
	return maker == apikey.Administrator || maker == apikey.Operator && to == apikey.User
}

// invitation finds one by its hash. It fails with fault.NotFound for one whose maker could not make it now: an account that was disabled, or has
// a lower role, lets no one in. Those that commands made have no maker.
func (m *Manager) invitation(ctx context.Context, hash string) (Token, error) {
	t, err := m.store.TokenBy(ctx, Invitation, hash, m.moment())
	if err != nil {
		return t, err
	}
	ended := fault.New(fault.NotFound, "auth.invitation", "This invitation does not work any more.")
	if m.cfg.SignUp == Closed {
		return t, ended
	}
	if t.User == "" {
		return t, nil
	}
	maker, err := m.store.PersonOf(ctx, t.User)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return t, err
	}
	if err != nil || maker.Disabled || !MayInvite(maker.Role, t.Role) {
		return t, ended
	}
	return t, nil
}

// Invite makes a link with which somebody may sign up, and sends it if mail is on and there is an address. The text of the link is returned once.
func (m *Manager) Invite(ctx context.Context, email, note string, role apikey.Role, maker audit.Actor, owner string) (link string, t Token, err error) {
	if email != "" {
		if email, err = CheckEmail("email", email); err != nil {
			return "", t, err
		}
		if _, err := m.store.LoginByEmail(ctx, email); err == nil {
			return "", t, fault.Field("auth.Invite", "email", "There is an account with this address already.").Coded("address_taken")
		}
	}
	if len(note) > 200 || !usertext.Is(note) {
		return "", t, fault.Field("auth.Invite", "note", "note must be one line of at most 200 bytes.").Coded("note")
	}
	if m.cfg.SignUp == Closed {
		return "", t, fault.New(fault.Conflict, "auth.Invite", "Sign-up is closed: set sign_in.sign_up to invitation.")
	}
	now := m.moment()
	text, sum := newToken()
	t = Token{Hash: sum, ID: apikey.NewID("tok_"), Kind: Invitation, User: owner, Email: email, Role: role, Note: note, CreatedAt: now, ExpiresAt: now.Add(inviteFor)}
	e := audit.Event{Actor: maker, Action: audit.Invited, Target: t.ID, After: string(role) + " " + email}
	if err := m.store.AddToken(ctx, t, maxInvitations, e); err != nil {
		return "", t, err
	}
	link = "/invite#" + text
	if email != "" {
		m.send(Mail{To: email, Kind: MailInvited, Link: link})
	}
	return link, t, nil
}

// Invitations lists those that are open, the newest first.
func (m *Manager) Invitations(ctx context.Context) ([]Token, error) {
	return m.store.Tokens(ctx, Invitation, m.moment())
}

// Uninvite withdraws an invitation.
func (m *Manager) Uninvite(ctx context.Context, id string, maker audit.Actor) error {
	return m.store.DeleteToken(ctx, Invitation, id, m.moment(), audit.Event{Actor: maker, Action: audit.Uninvited, Target: id})
}

// LookAt says what a link is for, without using it.
func (m *Manager) LookAt(ctx context.Context, kind, token string) (Token, error) {
	if !slices.Contains([]string{Invitation, Reset, Setup, Confirm, Address, Undo}, kind) {
		return Token{}, fault.Field("auth.LookAt", "kind", "kind must be invitation, reset, setup, confirm, address or undo.").Coded("link_kind")
	}
	if kind == Invitation {
		t, err := m.invitation(ctx, SumOf(token))
		return t, linkError("auth.LookAt", err)
	}
	t, err := m.store.TokenBy(ctx, kind, SumOf(token), m.moment())
	return t, linkError("auth.LookAt", err)
}

// Recover sends a link for a new password, if the address has an account. The answer does not say whether it has.
func (m *Manager) Recover(ctx context.Context, email, locale string, c Client) error {
	if m.mail == nil {
		return fault.New(fault.PermissionDenied, "auth.Recover", "This gateway sends no mail. Ask its operator for a link to set a new password.")
	}
	email, err := CheckEmail("email", email)
	if err != nil {
		return err
	}
	if err := m.passwords("auth.Recover"); err != nil {
		return err
	}
	if !m.mayMail(email, c.Network) {
		return nil
	}
	l, err := m.store.LoginByEmail(ctx, email)
	unknown := fault.Is(err, fault.NotFound)
	if err != nil && !unknown {
		return err
	}
	if unknown { // a link that is not sent: the time must not show whether there is an account
		l = Login{Email: email}
	}
	link, err := m.resetLink(ctx, &l, "", nil)
	if err == nil && !unknown {
		m.send(Mail{To: l.Email, Kind: MailReset, Link: link, Locale: locale})
	}
	return err
}

// ResetLink makes a link for a new password, which an operator hands over.
func (m *Manager) ResetLink(ctx context.Context, user string, maker audit.Actor) (string, error) {
	if err := m.passwords("auth.ResetLink"); err != nil {
		return "", err
	}
	l, err := m.store.LoginOf(ctx, user)
	if fault.Is(err, fault.NotFound) {
		return "", fault.New(fault.NotFound, "auth.ResetLink", "This user has no login. Invite them instead.")
	}
	if err != nil {
		return "", err
	}
	return m.resetLink(ctx, &l, handedOver, []audit.Event{{Actor: maker, Action: audit.ResetLink, Target: user}})
}

// SendsMail reports whether links go to the addresses of people.
func (m *Manager) SendsMail() bool { return m.mail != nil }

// SendReset sends a user a link for a new password, which somebody else has asked for. It fails with fault.NotFound for a user without an address,
// and must not be called where SendsMail is false.
func (m *Manager) SendReset(ctx context.Context, user string, maker audit.Actor) error {
	const op = "auth.SendReset"
	if err := m.passwords(op); err != nil {
		return err
	}
	p, err := m.store.PersonOf(ctx, user)
	if err != nil {
		return err
	}
	if p.Email == "" {
		return fault.New(fault.NotFound, op, "This user has no address. Invite them instead.")
	}
	link, err := m.resetLink(ctx, &Login{User: user, Email: p.Email}, "", []audit.Event{{Actor: maker, Action: audit.ResetLink, Target: user, After: "sent to the address"}})
	if err == nil {
		m.send(Mail{To: p.Email, Kind: MailReset, Link: link, Locale: p.Language})
	}
	return err
}

// handedOver is the note of a link that an operator has made: it did not travel to a mailbox, so it proves no address.
const handedOver = "handed over"

func (m *Manager) resetLink(ctx context.Context, l *Login, note string, events []audit.Event) (string, error) {
	now := m.moment()
	text, sum := newToken()
	t := Token{Hash: sum, ID: apikey.NewID("tok_"), Kind: Reset, User: l.User, Email: l.Email, Note: note, CreatedAt: now, ExpiresAt: now.Add(resetFor)}
	return "/reset#" + text, m.store.AddToken(ctx, t, maxLinks, events...)
}

// Reset sets a new password with the token of a link, ends all sessions and begins one.
func (m *Manager) Reset(ctx context.Context, token, password string, c Client) (Started, error) {
	if err := m.passwords("auth.Reset"); err != nil {
		return Started{}, err
	}
	now := m.moment()
	t, err := m.store.TokenBy(ctx, Reset, SumOf(token), now)
	if err != nil {
		return Started{}, linkError("auth.Reset", err)
	}
	if err := CheckPassword("password", password, t.Email); err != nil {
		return Started{}, err
	}
	hash, err := m.hash.hash(ctx, password)
	if err != nil {
		return Started{}, err
	}
	e := audit.Event{Actor: by(t.User, c.Address), Action: audit.PasswordSet, Target: t.User, After: "by a link"}
	if err := m.store.SetPassword(ctx, t.User, hash, "", t.Hash, t.Note != handedOver, now, e); err != nil {
		return Started{}, linkError("auth.Reset", err)
	}
	_ = m.noted(ctx, t.User, MailPassword, nil)
	return m.begin(ctx, t.User, "password", c)
}

// maxSetups is how many set-up links work at one time: each start of a node prints another.
const maxSetups = 100

// BeginSetup makes the link with which the first administrator signs in. It is "" when an administrator can sign in already.
func (m *Manager) BeginSetup(ctx context.Context) (string, error) {
	f, err := m.Features(ctx)
	if err != nil || !f.Setup {
		return "", err
	}
	now := m.moment()
	text, sum := newToken()
	t := Token{Hash: sum, ID: apikey.NewID("tok_"), Kind: Setup, CreatedAt: now, ExpiresAt: now.Add(setupFor)}
	return "/welcome#" + text, m.store.AddToken(ctx, t, maxSetups)
}

// Setup makes the first administrator, or lets the one sign in that a command has made.
func (m *Manager) Setup(ctx context.Context, f Form, c Client) (Started, error) {
	now := m.moment()
	t, err := m.store.TokenBy(ctx, Setup, SumOf(f.Token), now)
	if err != nil {
		return Started{}, linkError("auth.Setup", err)
	}
	hash, err := m.read(ctx, &f)
	if err != nil {
		return Started{}, err
	}
	u, ready, err := m.store.FirstAdministrator(ctx)
	switch {
	case fault.Is(err, fault.NotFound):
		if u, err = account.Make(f.Name, apikey.Administrator, now); err != nil {
			return Started{}, err
		}
		return m.add(ctx, u, Login{User: u.ID, Email: f.Email, Password: hash, CreatedAt: now}, nil, t.Hash, "link", c)
	case err != nil:
		return Started{}, err
	case ready:
		return Started{}, fault.New(fault.Conflict, "auth.Setup", "There is an administrator already. Sign in.")
	}
	l := Login{User: u.ID, Email: f.Email, Password: hash, CreatedAt: now}
	if err := m.store.AddLogin(ctx, l, t.Hash, audit.Event{Actor: by(u.ID, c.Address), Action: audit.LoginAdded, Target: u.ID, After: "by the set-up link"}); err != nil {
		return Started{}, taken(err)
	}
	return m.begin(ctx, u.ID, "link", c)
}
