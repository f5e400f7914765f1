package auth

import (
	"context"
	"time"

	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/limit"
)

// Ways are the ways to sign in that the configuration has open.
type Ways struct {
	Passwords bool
	Issuers   []string // of other providers
	Always    bool     // nothing is needed, as in a demo
}

// Removal is what all removals of a way to sign in have in common.
type Removal struct {
	User  string
	Ways  Ways   // one of which must be left to the user
	Keep  string // hash of the session that goes on; all others end
	Now   time.Time
	Event audit.Event
}

func (m *Manager) ways(user string) Ways {
	demo := m.demo.Load()
	return Ways{Passwords: m.cfg.Passwords, Issuers: m.cfg.Issuers, Always: demo != nil && *demo == user}
}

func (m *Manager) removal(s *Session, action, before string, c Client) Removal {
	return Removal{User: s.User, Ways: m.ways(s.User), Keep: s.Hash, Now: m.moment(), Event: audit.Event{Actor: by(s.User, c.Address), Action: action, Target: s.User, Before: before}}
}

// RemovePasskey removes a passkey of who is signed in, unless it is their last way to sign in. Their other sessions end: the device may be lost.
func (m *Manager) RemovePasskey(ctx context.Context, s *Session, id string, c Client) error {
	err := m.store.DeletePasskey(ctx, id, m.removal(s, audit.PasskeyRemoved, id, c))
	return m.noted(ctx, s.User, MailPasskeyRemoved, err)
}

// Unlink parts who is signed in from an identity, unless it is their last way to sign in. Their other sessions end.
func (m *Manager) Unlink(ctx context.Context, s *Session, id string, c Client) error {
	all, err := m.store.IdentitiesOf(ctx, s.User)
	if err != nil {
		return err
	}
	for _, i := range all {
		if i.ID() == id {
			err := m.store.DeleteIdentity(ctx, i.Issuer, i.Subject, m.removal(s, audit.IdentityRemoved, i.Issuer+" "+i.Subject, c))
			return m.noted(ctx, s.User, MailIdentityRemoved, err)
		}
	}
	return fault.New(fault.NotFound, "auth.Unlink", "There is no such identity.")
}

// RemovePassword removes the password of who is signed in, unless it is their last way to sign in. Their other sessions end, and so do links for
// a new password. It fails with fault.NotFound when there is no password.
func (m *Manager) RemovePassword(ctx context.Context, s *Session, c Client) error {
	return m.noted(ctx, s.User, MailPasswordRemoved, m.store.DeletePassword(ctx, m.removal(s, audit.PasswordRemoved, "", c)))
}

// noted sends a person a mail that how they sign in has changed. It returns what has become of the change.
func (m *Manager) noted(ctx context.Context, user string, kind MailKind, err error) error {
	if err != nil || m.mail == nil {
		return err
	}
	if p, err := m.store.PersonOf(ctx, user); err == nil && p.Email != "" {
		m.send(Mail{To: p.Email, Kind: kind, Locale: p.Language})
	}
	return nil // the change is made, whether or not the mail can be sent
}

// noticeRate is how many mails of one kind an address gets without having asked. Mails with links are counted by their tokens. The
// address of an account need not be its owner's: an invitation needs no confirmed address.
var noticeRate = limit.Rates{{Amount: 5, Per: 24 * time.Hour}}

// send sends a mail, unless it is a notice and the address had enough of its kind. One kind does not use up the room of another: who provokes
// notices of one kind cannot hide what they do besides.
func (m *Manager) send(mail Mail) {
	if m.mail == nil {
		return
	}
	if mail.Kind.notice() && !m.notices.Take(m.now(), string(mail.Kind)+" "+mail.To, &noticeRate, limit.Cost{1}).OK {
		return
	}
	m.mail.Send(mail)
}

// notice reports whether mails of a kind are not counted by tokens.
func (k MailKind) notice() bool {
	switch k {
	case MailConfirm, MailReset, MailInvited, MailJoin, MailMove, MailTaken, MailMoving, MailMoved:
		return false
	}
	return true
}
