package reconcile

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/usertext"
)

// Outcome is what an operator decided on a difference.
type Outcome string

// The outcomes.
const (
	Loss      Outcome = "loss"      // the gateway bears it
	Explained Outcome = "explained" // there is a reason for it that is not in the calls
)

// Settlement is a decision on a difference. It holds for each comparison that finds the same difference.
type Settlement struct {
	Provider, Mark string
	Outcome        Outcome
	Reason         string
	Actor          string
	At             time.Time
}

const maxSettleReason = 500 // bytes

// mark gives each difference a name that follows from what it is, and not from the file or the comparison: the same days, compared again, have the same ones.
// One that has grown is another one.
func (r *Result) mark() {
	seen := map[string]int{}
	for i := range r.Differences {
		d := &r.Differences[i]
		dollars := ""
		if d.Delta.Dollars != nil {
			dollars = d.Delta.Dollars.RatString()
		}
		text := strings.Join([]string{string(d.Kind), d.Day, d.Model, d.Key, d.Answer, fmt.Sprint(d.N, d.Delta.Calls, d.Delta.Prompt, d.Delta.Completion), dollars}, "\x1f")
		seen[text]++
		sum := sha256.Sum256(fmt.Appendf(nil, "%s\x1f%d", text, seen[text]))
		d.Mark = hex.EncodeToString(sum[:8])
	}
}

// Open is how many differences an operator has not decided on, without late calls, which cost nothing.
func (r *Result) Open() (n int) {
	for i := range r.Differences {
		if d := &r.Differences[i]; d.Kind != Late && d.Settled == nil {
			n++
		}
	}
	return n
}

// settle marks differences, and adds what was decided on them.
func (m *Manager) settle(ctx context.Context, provider string, r *Result) error {
	r.mark()
	known, err := m.Store.Settlements(ctx, provider)
	if err != nil {
		return err
	}
	for i := range r.Differences {
		if s, is := known[r.Differences[i].Mark]; is {
			r.Differences[i].Settled = &s
		}
	}
	return nil
}

// ByID is a comparison with what was decided on its differences. It fails with fault.NotFound.
func (m *Manager) ByID(ctx context.Context, id string) (Kept, error) {
	k, err := m.Store.ReconciliationByID(ctx, id)
	if err != nil {
		return k, err
	}
	return k, m.settle(ctx, k.Provider, &k.Result)
}

// find is the difference of a mark. It fails with fault.NotFound.
func (r *Result) find(mark string) (*Difference, error) {
	for i := range r.Differences {
		if r.Differences[i].Mark == mark {
			return &r.Differences[i], nil
		}
	}
	return nil, fault.New(fault.NotFound, "reconcile.find", "There is no such difference in this comparison.").Coded("no_difference")
}

// Settle keeps what an operator decided on a difference. It fails with fault.NotFound and fault.Invalid.
func (m *Manager) Settle(ctx context.Context, provider string, r *Result, mark string, as Outcome, reason string, by audit.Actor) error {
	const op = "reconcile.Settle"
	d, err := r.find(mark)
	if err != nil {
		return err
	}
	if as != Loss && as != Explained {
		return fault.Field(op, "outcome", "outcome must be loss or explained.").Coded("settle_outcome")
	}
	if reason = strings.TrimSpace(reason); reason == "" || len(reason) > maxSettleReason || !usertext.Is(reason) {
		return fault.Field(op, "reason", "reason must be one line of at most %d bytes, and not empty.", maxSettleReason).Coded("settle_reason", "most", maxSettleReason)
	}
	s := Settlement{Provider: provider, Mark: mark, Outcome: as, Reason: reason, Actor: by.Name, At: m.Now().UTC().Truncate(time.Microsecond)}
	e := audit.Event{Actor: by, Action: audit.DifferenceSettled, Target: provider, Before: d.words() + d.Settled.words(), After: s.words()}
	if err := m.Store.SettleDifference(ctx, &s, e); err != nil {
		return err
	}
	d.Settled = &s
	return nil
}

// Reopen takes a decision back. It fails with fault.NotFound.
func (m *Manager) Reopen(ctx context.Context, provider string, r *Result, mark string, by audit.Actor) error {
	d, err := r.find(mark)
	if err != nil {
		return err
	}
	e := audit.Event{Actor: by, Action: audit.DifferenceReopened, Target: provider, Before: d.words() + d.Settled.words()}
	if err := m.Store.ReopenDifference(ctx, provider, mark, m.Now(), e); err != nil {
		return err
	}
	d.Settled = nil
	return nil
}

// words are for the audit log.
func (d *Difference) words() string {
	text := fmt.Sprintf("%s: %s %s", d.Mark, d.Kind, d.Day)
	for _, part := range []string{d.Model, d.Key, d.Answer} {
		if part != "" {
			text += " " + part
		}
	}
	text += fmt.Sprintf(", %d calls, %d tokens", d.Delta.Calls, d.Delta.Prompt+d.Delta.Completion)
	if d.Delta.Dollars != nil {
		text += ", $" + d.Delta.Dollars.FloatString(9)
	}
	return text
}

func (s *Settlement) words() string {
	if s == nil {
		return ""
	}
	return fmt.Sprintf(" (%s: %s)", s.Outcome, s.Reason)
}
