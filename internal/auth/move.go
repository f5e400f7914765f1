package auth

import (
	"context"
	"time"

	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/fault"
)

const (
	moveFor = 24 * time.Hour
	keepFor = 7 * 24 * time.Hour

	maxMoves   = 5 // that a person asks for while the first link would work
	maxMovesTo = 3 // likewise, that anybody asks for with one address
)

// Move is how a user gets another address.
type Move struct {
	User  string
	Email string // the new one
	Use   string // hash of the link that was sent there; "" none, where an operator does it
	Keep  string // hash of the session that goes on; all others end
	Undo  Token  // takes it back; Hash "" where there was no address
	Now   time.Time
	Event audit.Event
}

// BeginMove sends a link to the new address of a signed-in person, and a notice to the present address, with a link that stops the change. Nothing
// changes before the first link is opened. The answer does not say whether the new address has an account.
func (m *Manager) BeginMove(ctx context.Context, p *Person, email, locale string, c Client) error {
	const op = "auth.BeginMove"
	if m.mail == nil {
		return fault.New(fault.PermissionDenied, op, "This gateway sends no mail, so it cannot check an address. Ask its operator to change yours.")
	}
	email, err := CheckEmail("email", email)
	if err != nil {
		return err
	}
	if email == p.Email && p.Confirmed { // else the link confirms it
		return fault.Field(op, "email", "email is your address already.").Coded("own_address_already")
	}
	l, err := m.store.LoginByEmail(ctx, email)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return err
	}
	free := err != nil || l.User == p.ID
	now := m.moment()
	text, sum := newToken()
	link := Token{Hash: sum, ID: apikey.NewID("tok_"), Kind: Address, User: p.ID, Email: email, CreatedAt: now, ExpiresAt: now.Add(moveFor)}
	back, undo := m.undo(p, email, now)
	done, err := m.store.AddMove(ctx, link, undo, maxMoves, maxMovesTo, audit.Event{Actor: by(p.ID, c.Address), Action: audit.AddressAsked, Target: p.ID})
	if err != nil || !done { // the address has had its mails for now
		return err
	}
	if free {
		m.send(Mail{To: email, Kind: MailMove, Link: "/new-email#" + text, Locale: locale})
	} else {
		m.send(Mail{To: email, Kind: MailTaken, Locale: locale})
	}
	if back != "" {
		m.send(Mail{To: p.Email, Kind: MailMoving, Link: back, Locale: p.locale(locale)})
	}
	return nil
}

// undo makes a link with which a person keeps or gets back the address that they have now. Its Hash is "" where they have none, or keep it anyway.
func (m *Manager) undo(p *Person, email string, now time.Time) (link string, t Token) {
	if p.Email == "" || p.Email == email {
		return "", Token{}
	}
	text, sum := newToken()
	t = Token{Hash: sum, ID: apikey.NewID("tok_"), Kind: Undo, User: p.ID, Email: p.Email, CreatedAt: now, ExpiresAt: now.Add(keepFor)}
	if !p.Confirmed {
		t.Data = Unproven
	}
	return "/keep-email#" + text, t
}

// locale is the language of a person's mails: what they have chosen, or else that of their page.
func (p *Person) locale(page string) string {
	if p.Language != "" {
		return p.Language
	}
	return page
}

// EndMove gives who is signed in the address to which the link was sent. They must have asked for it: otherwise people could be made to confirm
// their address for an account that somebody else can open. All other sessions end, and so do links that went to the former address.
func (m *Manager) EndMove(ctx context.Context, s *Session, p *Person, token string, c Client) error {
	const op = "auth.EndMove"
	now := m.moment()
	t, err := m.store.TokenBy(ctx, Address, SumOf(token), now)
	if err != nil {
		return linkError(op, err)
	}
	if t.User != p.ID {
		return fault.New(fault.PermissionDenied, op, "This link is for another account. Sign in to the one whose address is to change, and open the link again.")
	}
	return m.move(ctx, p, Move{User: p.ID, Email: t.Email, Use: t.Hash, Keep: s.Hash, Now: now,
		Event: audit.Event{Actor: by(p.ID, c.Address), Action: audit.AddressMoved, Target: p.ID, Before: p.Email, After: t.Email}})
}

// SetAddress gives a user an address, as an operator says. All their sessions end.
func (m *Manager) SetAddress(ctx context.Context, user, email string, maker audit.Actor) error {
	email, err := CheckEmail("email", email)
	if err != nil {
		return err
	}
	p, err := m.store.PersonOf(ctx, user)
	if err != nil {
		return err
	}
	if p.Email == email {
		return fault.Field("auth.SetAddress", "email", "This is the user's address already.").Coded("users_address_already")
	}
	return m.move(ctx, &p, Move{User: user, Email: email, Now: m.moment(), Event: audit.Event{Actor: maker, Action: audit.AddressMoved, Target: user, Before: p.Email, After: email}})
}

func (m *Manager) move(ctx context.Context, p *Person, n Move) error {
	back := ""
	if m.mail != nil { // the link can be sent
		back, n.Undo = m.undo(p, n.Email, n.Now)
	}
	err := m.store.Move(ctx, n)
	if fault.Is(err, fault.Conflict) {
		return fault.Field("auth.move", "email", "This address belongs to an account already, or did until a few days ago.").Coded("address_reserved").Because(err)
	}
	if err == nil && back != "" {
		m.send(Mail{To: p.Email, Kind: MailMoved, Link: back, Locale: p.Language})
	}
	return linkError("auth.move", err)
}

// KeepAddress stops a change of address with the link that the former address got, or takes it back. All sessions of the user end: who has asked for
// the change may not be the owner. It returns the address that the account has now.
func (m *Manager) KeepAddress(ctx context.Context, token string, c Client) (string, error) {
	const op = "auth.KeepAddress"
	now := m.moment()
	t, err := m.store.TokenBy(ctx, Undo, SumOf(token), now)
	if err != nil {
		return "", linkError(op, err)
	}
	err = m.store.Unmove(ctx, t, now, audit.Event{Actor: by(t.User, c.Address), Action: audit.AddressKept, Target: t.User, After: t.Email})
	return t.Email, linkError(op, err)
}
