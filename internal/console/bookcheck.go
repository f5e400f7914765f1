package console

import (
	"context"
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/loop"
)

// BookCheck is a check of the books that somebody asked for: the last one, or one that is under way.
type BookCheck struct {
	Node    string // where it runs
	By      string
	Began   time.Time
	Seen    time.Time // its last sign of life
	Ended   *time.Time
	Parts   []ledger.Check
	Stopped string // who asked that it ends early
	Failed  string // why it could not be finished
}

// Running reports whether it is under way.
func (k *BookCheck) Running() bool { return k.Ended == nil }

// Balanced reports whether it ended and everything was right.
func (k *BookCheck) Balanced() bool {
	for i := range k.Parts {
		if !k.Parts[i].OK {
			return false
		}
	}
	return k.Ended != nil && k.Stopped == "" && k.Failed == "" && len(k.Parts) > 0
}

// silentAfter is when a check without a sign of life is over: its node has ended.
const silentAfter = time.Minute

// bookCheckEvery is how often a check gives a sign of life and looks whether it should stop.
const bookCheckEvery = time.Second

// BookChecks runs checks of the books, of which a fleet has one at a time. The last one is kept in the database.
type BookChecks struct {
	Node   string
	Verify func(ctx context.Context, done func(ledger.Check)) (ledger.Report, error)
	Mark   func(ctx context.Context) (string, error)
	Swap   func(ctx context.Context, old, value string) (bool, error) // replaces the mark if it is still that one
	Now    func() time.Time

	mu      sync.Mutex
	life    context.Context // of the node: no check outlives it; nil: none is started yet, or any more
	running sync.WaitGroup
}

// Run lets checks be started until the node's life ends, and then waits for the one that runs.
func (c *BookChecks) Run(life context.Context) {
	c.mu.Lock()
	c.life = life
	c.mu.Unlock()
	<-life.Done()
	c.mu.Lock()
	c.life = nil
	c.mu.Unlock()
	c.running.Wait()
}

// Last returns the last check, nil when there was none.
func (c *BookChecks) Last(ctx context.Context) (*BookCheck, error) {
	_, k, err := c.read(ctx)
	return k, err
}

func (c *BookChecks) read(ctx context.Context) (text string, k *BookCheck, err error) {
	if text, err = c.Mark(ctx); err != nil || text == "" {
		return text, nil, err
	}
	if k, err = parseBookCheck(text); err != nil {
		return text, nil, nil //nolint:nilerr // it is replaced by the next one
	}
	if k.Running() && c.Now().Sub(k.Seen) > silentAfter {
		k.Ended, k.Failed = &k.Seen, "Its node has ended."
	}
	return text, k, nil
}

// Start begins a check. It fails with fault.Conflict while another one is under way.
func (c *BookChecks) Start(ctx context.Context, by string) (*BookCheck, error) {
	const op = "console.StartBookCheck"
	c.mu.Lock()
	defer c.mu.Unlock()
	life := c.life
	if life == nil {
		return nil, fault.New(fault.Draining, op, "This node is starting or ending. Try again, or ask another one.")
	}
	text, last, err := c.read(ctx)
	if err != nil {
		return nil, err
	}
	taken := fault.New(fault.Conflict, op, "A check of the books is under way. Wait for it, or stop it first.").Coded("book_check_runs")
	if last != nil && last.Running() {
		return nil, taken
	}
	now := c.Now().UTC()
	k := &BookCheck{Node: c.Node, By: by, Began: now, Seen: now, Parts: []ledger.Check{}}
	mine := written(k)
	if done, err := c.Swap(ctx, text, mine); err != nil || !done {
		if err == nil {
			err = taken
		}
		return nil, err
	}
	c.running.Go(func() { c.run(life, mine, *k) })
	return k, nil
}

// Stop asks the check that is under way to end early, on whatever node it runs. Where none runs, there is nothing to do.
func (c *BookChecks) Stop(ctx context.Context, by string) error {
	for ctx.Err() == nil {
		text, k, err := c.read(ctx)
		if err != nil {
			return err
		}
		if k == nil || !k.Running() {
			return nil
		}
		k.Stopped = by
		if done, err := c.Swap(ctx, text, written(k)); err != nil || done {
			return err
		}
	}
	return ctx.Err()
}

// run checks the books, and says every second how far it is. mine is the mark as it was written last.
func (c *BookChecks) run(life context.Context, mine string, k BookCheck) {
	ctx, stop := context.WithCancel(life)
	defer stop()
	var mu sync.Mutex
	signs := loop.New(bookCheckEvery, func(ctx context.Context) time.Duration {
		mu.Lock()
		defer mu.Unlock()
		k.Seen = c.Now().UTC()
		if mine = c.tell(ctx, mine, &k); k.Stopped != "" {
			stop()
		}
		return bookCheckEvery
	})
	signs.Start()
	known := 0
	report, err := c.Verify(ctx, func(part ledger.Check) {
		mu.Lock()
		defer mu.Unlock()
		known++
		k.Parts = append(k.Parts, part)
	})
	signs.Stop()
	if err == nil && known < len(report.Checks) {
		k.Parts = append(k.Parts, report.Checks[known:]...) // of the journal and the holds of this node, of which the store knows nothing
	}
	now := c.Now().UTC()
	k.Ended = &now
	switch {
	case k.Stopped != "":
	case life.Err() != nil:
		k.Failed = "Its node has ended."
	case err != nil:
		k.Failed = fault.From(err).Public
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(life), 5*time.Second)
	defer cancel()
	c.tell(end, mine, &k)
}

// tell writes how far a check is, and takes over that somebody has stopped it. A database that is away gets it the next time.
func (c *BookChecks) tell(ctx context.Context, mine string, k *BookCheck) string {
	next := written(k)
	if done, err := c.Swap(ctx, mine, next); err != nil || done {
		if err != nil {
			return mine
		}
		return next
	}
	text, other, err := c.read(ctx)
	if err != nil || other == nil || !other.Began.Equal(k.Began) {
		k.Stopped = fmt.Sprintf("%s, by another check", k.By)
		return mine
	}
	k.Stopped = other.Stopped
	next = written(k)
	if done, err := c.Swap(ctx, text, next); err != nil || !done {
		return text
	}
	return next
}

// written is a check as its mark has it: one record of it, and one of each part.
func written(k *BookCheck) string {
	var b strings.Builder
	w := csv.NewWriter(&b)
	moment := func(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
	ended := ""
	if k.Ended != nil {
		ended = moment(*k.Ended)
	}
	_ = w.Write([]string{k.Node, k.By, moment(k.Began), moment(k.Seen), ended, k.Stopped, k.Failed}) // a builder takes everything
	for _, part := range k.Parts {
		_ = w.Write([]string{part.Name, strconv.FormatBool(part.OK), part.Detail})
	}
	w.Flush()
	return b.String()
}

// parseBookCheck reads what written wrote.
func parseBookCheck(text string) (*BookCheck, error) {
	r := csv.NewReader(strings.NewReader(text))
	r.FieldsPerRecord = -1
	rows, err := r.ReadAll()
	if err != nil || len(rows) == 0 || len(rows[0]) != 7 {
		return nil, fault.New(fault.Internal, "console.parseBookCheck", "The last check of the books cannot be read. Start another one.").Because(err)
	}
	head := rows[0]
	k := &BookCheck{Node: head[0], By: head[1], Parts: []ledger.Check{}, Stopped: head[5], Failed: head[6]}
	k.Began, _ = time.Parse(time.RFC3339Nano, head[2])
	k.Seen, _ = time.Parse(time.RFC3339Nano, head[3])
	if head[4] != "" {
		ended, _ := time.Parse(time.RFC3339Nano, head[4])
		k.Ended = &ended
	}
	for _, row := range rows[1:] {
		if len(row) == 3 {
			k.Parts = append(k.Parts, ledger.Check{Name: row[0], OK: row[1] == "true", Detail: row[2]})
		}
	}
	return k, nil
}
