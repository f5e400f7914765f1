package webhook

import (
	"bytes"
	"context"
	"time"

	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/seal"
)

// overlap is how long events are signed with a replaced secret, too, so that receivers may change at their leisure.
const overlap = 24 * time.Hour

// Sealed is the stored form of an account's secret.
type Sealed struct {
	Account       string
	Current       []byte
	Previous      []byte // the one before; nil: none
	PreviousUntil time.Time
	ChangedAt     time.Time // when Current was made
}

// SecretStore keeps sealed secrets.
type SecretStore interface {
	// WebhookSecret finds an account's secret. It fails with fault.NotFound.
	WebhookSecret(ctx context.Context, account string) (Sealed, error)
	// InsertWebhookSecret keeps a first secret, and does nothing when the account has one.
	InsertWebhookSecret(ctx context.Context, account string, current []byte, now time.Time) error
	// RotateWebhookSecret puts current in the place of the secret, which becomes the previous one until then.
	RotateWebhookSecret(ctx context.Context, account string, current []byte, until, now time.Time, e audit.Event) error
	// WebhookSecrets lists all.
	WebhookSecrets(ctx context.Context) ([]Sealed, error)
	// RewrapWebhookSecret puts to in the place of from, and does nothing when the secret was changed meanwhile.
	RewrapWebhookSecret(ctx context.Context, from, to Sealed) (done bool, err error)
}

// Secrets manages the secrets that sign accounts' events. Each account has one, made when its owner asks for it or when its first event
// is signed. Only Rotate shows one, and only once. It is safe for concurrent use.
type Secrets struct {
	store SecretStore
	ring  func() *seal.Ring
	now   func() time.Time
}

// NewSecrets makes Secrets. ring returns the current master keys.
func NewSecrets(s SecretStore, ring func() *seal.Ring, now func() time.Time) *Secrets {
	return &Secrets{store: s, ring: ring, now: now}
}

// Ready reports whether secrets can be kept. Where they cannot, no event can be signed, and none may be asked for.
func (s *Secrets) Ready() bool { return s.ring().Ready() }

// About is what is visible of a secret after it was shown.
type About struct {
	Last4         string
	ChangedAt     time.Time
	PreviousUntil time.Time // until then events are signed with the one before, too; zero: with one alone
}

// About returns what is visible of an account's secret. It fails with fault.NotFound where there is none, and with fault.Conflict without
// a master key.
func (s *Secrets) About(ctx context.Context, account string) (About, error) {
	if !s.Ready() {
		_, err := s.ring().Seal("", sealedRow(account), sealedColumn)
		return About{}, err
	}
	kept, err := s.store.WebhookSecret(ctx, account)
	if err != nil {
		return About{}, err
	}
	current, err := s.ring().Open(kept.Current, sealedRow(account), sealedColumn)
	if err != nil {
		return About{}, err
	}
	a := About{Last4: current[max(len(current)-4, 0):], ChangedAt: kept.ChangedAt}
	if kept.Previous != nil && s.now().Before(kept.PreviousUntil) {
		a.PreviousUntil = kept.PreviousUntil
	}
	return a, nil
}

// Rotate gives an account its first secret, or another one, and returns it: the only time. Events are signed with both for a day.
func (s *Secrets) Rotate(ctx context.Context, account string, by audit.Actor) (string, error) {
	secret := NewSecret()
	sealed, err := s.ring().Seal(secret, sealedRow(account), sealedColumn)
	if err != nil {
		return "", err
	}
	now := s.now()
	e := audit.Event{Actor: by, Action: audit.SecretRotated, Target: account, After: "webhook secret"}
	return secret, s.store.RotateWebhookSecret(ctx, account, sealed, now.Add(overlap), now, e)
}

const sealedColumn = "webhook_secret"

func sealedRow(account string) string { return "account/" + account }

// signing are the secrets that an account's events are signed with now, the current one first.
func (s *Secrets) signing(ctx context.Context, account string) ([]string, error) {
	kept, err := s.store.WebhookSecret(ctx, account)
	if fault.Is(err, fault.NotFound) {
		kept, err = s.first(ctx, account)
	}
	if err != nil {
		return nil, err
	}
	current, err := s.ring().Open(kept.Current, sealedRow(account), sealedColumn)
	if err != nil {
		return nil, err
	}
	all := []string{current}
	if kept.Previous != nil && s.now().Before(kept.PreviousUntil) {
		before, err := s.ring().Open(kept.Previous, sealedRow(account), sealedColumn)
		if err != nil {
			return nil, err
		}
		all = append(all, before)
	}
	return all, nil
}

// first makes the first secret of an account. Where two nodes do at once, both get the one that was kept.
func (s *Secrets) first(ctx context.Context, account string) (Sealed, error) {
	sealed, err := s.ring().Seal(NewSecret(), sealedRow(account), sealedColumn)
	if err != nil {
		return Sealed{}, err
	}
	if err := s.store.InsertWebhookSecret(ctx, account, sealed, s.now()); err != nil {
		return Sealed{}, err
	}
	return s.store.WebhookSecret(ctx, account)
}

// Rewrap wraps all secrets with the current master key, and reports how many it changed.
func (s *Secrets) Rewrap(ctx context.Context) (n int, err error) {
	all, err := s.store.WebhookSecrets(ctx)
	if err != nil {
		return 0, err
	}
	for _, from := range all {
		to := from
		if to.Current, err = s.rewrapped(from.Current, from.Account); err != nil {
			return n, err
		}
		if from.Previous != nil && !s.now().Before(from.PreviousUntil) {
			to.Previous = nil // its master key may no longer exist
		} else if to.Previous, err = s.rewrapped(from.Previous, from.Account); err != nil {
			return n, err
		}
		if bytes.Equal(to.Current, from.Current) && bytes.Equal(to.Previous, from.Previous) {
			continue
		}
		done, err := s.store.RewrapWebhookSecret(ctx, from, to)
		if err != nil {
			return n, err
		}
		if done {
			n++
		}
	}
	return n, nil
}

func (s *Secrets) rewrapped(sealed []byte, account string) ([]byte, error) {
	if sealed == nil {
		return nil, nil
	}
	out, _, err := s.ring().Rewrap(sealed, sealedRow(account), sealedColumn)
	return out, err
}
