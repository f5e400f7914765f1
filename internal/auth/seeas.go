package auth

import (
	"context"
	"time"

	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/fault"
)

// SeeFor is how long an operator looks at the interface as another person sees it.
const SeeFor = 15 * time.Minute

// Seeing is that an operator looks at the interface as another person sees it, in one session. It is kept with the session and not in the browser:
// no cookie begins, extends or moves it.
type Seeing struct {
	Session        string // hash of the session
	By, User       string // who looks, and as whom
	BeganAt, Until time.Time
}

// Why it has ended, in the audit.
const (
	seenEnough   = "asked"
	seenLong     = "time"    // SeeFor is over
	seenSignOut  = "session" // the session has ended
	seenNotAgain = "refused" // the operator or the person is not any more who may look, or be looked at
)

// See has a session look at the interface as another person sees it.
func (m *Manager) See(ctx context.Context, s *Session, p *Person, user string, c Client) error {
	seen, err := m.store.PersonOf(ctx, user)
	if err != nil {
		return err
	}
	if err := maySee(p, &seen); err != nil {
		return err
	}
	now := m.moment()
	n := Seeing{Session: s.Hash, By: p.ID, User: user, BeganAt: now, Until: now.Add(SeeFor)}
	return m.store.BeginSeeing(ctx, n, audit.Event{Actor: by(p.ID, c.Address), Action: audit.SeeingBegan, Target: user, After: "until " + n.Until.Format(time.RFC3339)})
}

// maySee refuses who may not look, and who may not be looked at.
func maySee(p, seen *Person) error {
	const op = "auth.See"
	switch {
	case !p.Role.Operates():
		return fault.New(fault.PermissionDenied, op, "Only operators may look at the pages of another person.")
	case p.ID == seen.ID:
		return fault.New(fault.Conflict, op, "This is your own account.")
	case seen.Role == apikey.Administrator && p.Role != apikey.Administrator:
		return fault.New(fault.PermissionDenied, op, "This is an administrator. Only another administrator may see what they see.")
	case seen.Disabled:
		return fault.New(fault.Conflict, op, "This person is blocked and sees no pages. Unblock them first.")
	}
	return nil
}

// Seen is the person as whom a session looks at the interface, nil for none. What must end ends here: when the time is over, or one of the two is not
// any more who they were.
func (m *Manager) Seen(ctx context.Context, s *Session, p *Person) (*Person, error) {
	if s.Sees == "" {
		return nil, nil
	}
	seen, err := m.store.PersonOf(ctx, s.Sees)
	var why string
	switch {
	case err != nil && !fault.Is(err, fault.NotFound):
		return nil, err
	case !m.moment().Before(s.SeesUntil):
		why = seenLong
	case err != nil, maySee(p, &seen) != nil:
		why = seenNotAgain
	default:
		return &seen, nil
	}
	err = m.endSeeing(ctx, s, why, "")
	s.Sees, s.SeesSince, s.SeesUntil = "", time.Time{}, time.Time{}
	return nil, err
}

// SeeNoMore ends that a session looks at the interface as another person. It may be repeated.
func (m *Manager) SeeNoMore(ctx context.Context, s *Session, c Client) error {
	if s.Sees == "" {
		return nil
	}
	return m.endSeeing(ctx, s, seenEnough, c.Address)
}

func (m *Manager) endSeeing(ctx context.Context, s *Session, why, from string) error {
	return m.endSeen(ctx, &Seeing{Session: s.Hash, By: s.User, User: s.Sees, BeganAt: s.SeesSince, Until: s.SeesUntil}, why, from)
}

func (m *Manager) endSeen(ctx context.Context, n *Seeing, why, from string) error {
	e := audit.Event{Actor: by(n.By, from), Action: audit.SeeingEnded, Target: n.User, Before: "since " + n.BeganAt.Format(time.RFC3339), After: why}
	if err := m.store.EndSeeing(ctx, n.Session, m.moment(), e); !fault.Is(err, fault.NotFound) { // another request was quicker
		return err
	}
	return nil
}

// sweepSeeing ends what no request has ended, at most n, and returns how many.
func (m *Manager) sweepSeeing(ctx context.Context, n int) (int, error) {
	now := m.moment()
	over, err := m.store.SeeingOver(ctx, now, n)
	for i := range over {
		why := seenSignOut
		if !now.Before(over[i].Until) {
			why = seenLong
		}
		if err := m.endSeen(ctx, &over[i], why, ""); err != nil {
			return i, err
		}
	}
	return len(over), err
}
