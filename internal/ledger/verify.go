package ledger

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"weir/internal/fault"
	"weir/internal/ledger/journal"
)

// Report is the outcome of Verify.
type Report struct {
	At     time.Time
	Checks []Check
	Chain  Anchor // where the chain of postings ends
}

// OK reports whether all laws hold.
func (r Report) OK() bool {
	for _, c := range r.Checks {
		if !c.OK {
			return false
		}
	}
	return len(r.Checks) > 0
}

// WriteTo writes the report as text, one check a line.
func (r Report) WriteTo(w io.Writer) (int64, error) {
	var s strings.Builder
	for _, c := range r.Checks {
		word := "ok  "
		if !c.OK {
			word = "FAIL"
		}
		fmt.Fprintf(&s, "%s  %-22s  %s\n", word, c.Name, c.Detail)
	}
	if r.OK() {
		s.WriteString("balanced\n")
	} else {
		s.WriteString("NOT balanced\n")
	}
	n, err := io.WriteString(w, s.String())
	return int64(n), err
}

// Verify recomputes everything in the store from the rows, and reads the journal in dir ("" none) for records that are not applied yet.
// It changes nothing, and may run while nodes are running. noted is an earlier anchor, or the zero one.
func Verify(ctx context.Context, store Store, dir string, noted Anchor, now time.Time) (Report, error) {
	return verify(ctx, store, dir, noted, now, nil)
}

func verify(ctx context.Context, store Store, dir string, noted Anchor, now time.Time, done func(Check)) (Report, error) {
	r := Report{At: now}
	var err error
	if r.Checks, r.Chain, err = store.Checks(ctx, noted, done); err != nil {
		return r, err
	}
	if dir == "" {
		return r, nil
	}
	c, err := journalCheck(ctx, store, dir)
	if err != nil {
		return r, err
	}
	r.Checks = append(r.Checks, c)
	return r, nil
}

func journalCheck(ctx context.Context, store Store, dir string) (Check, error) {
	c := Check{Name: "journal", OK: true, Detail: "there is none"}
	node, err := journal.Node(dir)
	if err != nil || node == "" {
		return c, err
	}
	position, err := store.Position(ctx, node)
	if err != nil {
		return c, err
	}
	tail, err := journal.Inspect(dir, position)
	if err != nil {
		c.OK, c.Detail = false, fault.From(err).Error()
		return c, nil
	}
	c.Detail = fmt.Sprintf("every record is applied (position %d)", position)
	if tail.Records > 0 {
		c.Detail = fmt.Sprintf("%d whole records wait to be applied; a running node does it at once, any other at its next start", tail.Records)
	}
	return c, nil
}

// Verify is Verify after a flush, with a look at this node's open holds. done hears of each check of the store as it ends; it may be nil.
func (b *Book) Verify(ctx context.Context, done func(Check)) (Report, error) {
	if err := b.Flush(ctx); err != nil {
		return Report{At: b.cfg.Now()}, err
	}
	r, err := verify(ctx, b.store, b.cfg.Dir, Anchor{}, b.cfg.Now(), done)
	if err != nil {
		return r, err
	}
	holds, sum := b.Open()
	r.Checks = append(r.Checks, Check{Name: "holds", OK: holds >= 0 && sum >= 0 && (holds > 0 || sum == 0),
		Detail: fmt.Sprintf("%d open on this node, %s rubles", holds, sum)})
	return r, nil
}
