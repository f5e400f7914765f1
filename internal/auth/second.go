package auth

import (
	"context"
	"strings"

	"github.com/go-webauthn/webauthn/protocol"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/fault"
)

// Somebody may require a passkey after every other way to sign in. Until the passkey has answered there is no session, only a step, which ends
// after minutes, works once, and is good for nothing else. A sign-in with a passkey counts as both: devices check the person.

// toSecond is what the step after a password or another provider is for.
const toSecond = "second step"

// half begins the owner of such a step: who knows a password must not use up the steps of its owner, who is signed in. The user's id follows.
const half = "half:"

// half begins the second step of a user who has signed in another way.
func (m *Manager) half(ctx context.Context, user string, c Client) (Started, error) {
	if c.Site.Host == "" {
		return Started{}, fault.New(fault.PermissionDenied, "auth.half", "This account requires a passkey, and passkeys do not work at this address.")
	}
	random, err := protocol.CreateChallenge()
	if err != nil {
		return Started{}, fault.New(fault.Internal, "auth.half", "There is no randomness.").Because(err)
	}
	text, sum := newToken()
	t := stepToken(sum, half+user, toSecond, c.Site, random.String(), m.moment())
	return Started{Step: text}, m.store.AddToken(ctx, t, maxSteps)
}

// second finds who has a second step before them, and their step. It fails with fault.NotFound for one that is over, and for any other step.
func (m *Manager) second(ctx context.Context, step string) (p Person, t Token, err error) {
	t, err = m.store.TokenBy(ctx, Step, SumOf(step), m.moment())
	if err != nil {
		return p, t, err
	}
	user, ok := strings.CutPrefix(t.User, half)
	if !ok || t.Note != toSecond {
		return p, t, fault.New(fault.NotFound, "auth.second", "There is no such step.")
	}
	p, err = m.store.PersonOf(ctx, user)
	return p, t, err
}

// SecondStep is what the browser hands to a passkey to end a second step that has begun.
func (m *Manager) SecondStep(ctx context.Context, step string, at Site) (Challenge, error) {
	const op = "auth.SecondStep"
	p, t, err := m.second(ctx, step)
	if fault.Is(err, fault.NotFound) {
		return Challenge{}, fault.Field(op, "step", "This step was used already, or took too long. Begin again.").Coded("step_over").Because(err)
	}
	if err != nil {
		return Challenge{}, err
	}
	host, text, found := strings.Cut(t.Data, " ")
	if !found || host != at.Host {
		return Challenge{}, fault.Field(op, "step", "This step is for something else. Begin again.").Coded("step_other")
	}
	ch := Challenge{Step: step, Text: text, Site: at, Life: t.ExpiresAt.Sub(m.moment())}
	ch.Passkeys, err = m.knownPasskeys(ctx, p.ID)
	return ch, err
}

// needsPasskey is the error where something else than a passkey was given to prove who is signed in.
func needsPasskey(op string) *fault.Error {
	e := fault.New(fault.PermissionDenied, op, "This account requires a passkey: prove with one who you are.")
	e.Details = map[string]any{"sign_in": "again"}
	return e
}

// RequirePasskey has an account require a passkey from now on, which its person has just used: the answer ends a step of BeginProof. All other
// sessions end.
func (m *Manager) RequirePasskey(ctx context.Context, s *Session, p *Person, at Site, step string, answer []byte, c Client) error {
	if err := m.ProveWith(ctx, s, p, at, step, answer, c); err != nil {
		return err
	}
	err := m.store.SetSecondStep(ctx, p.ID, true, s.Hash, m.moment(), audit.Event{Actor: by(p.ID, c.Address), Action: audit.SecondStepOn, Target: p.ID})
	return m.noted(ctx, p.ID, MailSecondStepOn, err)
}

// ReleasePasskey has the account of who is signed in require no passkey any more.
func (m *Manager) ReleasePasskey(ctx context.Context, s *Session, c Client) error {
	err := m.store.SetSecondStep(ctx, s.User, false, s.Hash, m.moment(), audit.Event{Actor: by(s.User, c.Address), Action: audit.SecondStepOff, Target: s.User})
	return m.noted(ctx, s.User, MailSecondStepOff, err)
}

// ReleaseFor is ReleasePasskey for somebody who has lost theirs. All their sessions end.
func (m *Manager) ReleaseFor(ctx context.Context, u account.User, maker audit.Actor) error {
	err := m.store.SetSecondStep(ctx, u.ID, false, "", m.moment(), audit.Event{Actor: maker, Action: audit.SecondStepOff, Target: u.ID})
	return m.noted(ctx, u.ID, MailSecondStepOff, err)
}
