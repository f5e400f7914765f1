package ledgerdb

import (
	"fmt"
	"time"

	"weir/internal/batch"
	"weir/internal/money"
	"weir/internal/record"
)

const (
	checkBatchItems = `SELECT b.id, b.wallet, b.created_at, i.line, i.tries, i.generation, i.stage, i.cost FROM batch_items i JOIN batches b ON b.id = i.batch`
	checkItemless   = `SELECT i.batch FROM batch_items i WHERE NOT EXISTS (SELECT 1 FROM batches b WHERE b.id = i.batch) LIMIT 5`
	// While a batch runs, its lines are there, and it has their sums.
	checkBatchSums = `SELECT b.id FROM batches b LEFT JOIN (SELECT batch, SUM(cost) AS cost, COUNT(CASE WHEN outcome = 'succeeded' THEN 1 END) AS succeeded,
		COUNT(CASE WHEN outcome = 'errored' THEN 1 END) AS failed FROM batch_items WHERE stage = 'done' GROUP BY batch) i ON i.batch = b.id
		WHERE b.` + ActiveBatch + ` AND (b.cost <> COALESCE(i.cost, 0) OR b.succeeded <> COALESCE(i.succeeded, 0) OR b.failed <> COALESCE(i.failed, 0)) LIMIT 5`
	checkBatchCount = `SELECT COUNT(*), COUNT(CASE WHEN ` + ActiveBatch + ` THEN 1 END) FROM batches`
)

// request is what a call of a batch must be: the one whose answer the line has, or one that failed before.
type request struct {
	batch  string
	line   int64
	former bool // a later call took its place, so it must not be charged
	done   bool
	cost   money.Nano
	posted bool
}

// requests reads the lines that batches have begun. The records of their calls are compared with them as they come by.
func (c *checker) requests() {
	c.each(checkBatchItems, func(v []any) {
		id, wallet, generation := text(v[0]), text(v[1]), text(v[5])
		created, _ := v[2].(int64)
		line, _ := v[3].(int64)
		tries, _ := v[4].(int64)
		cost, _ := v[7].(int64)
		at := time.UnixMicro(created).UTC()
		for n := range min(tries+1, mostTries) {
			name := batch.GenerationOf(id, at, line, n)
			if name != generation {
				c.books.requests[wallet+"\x00"+name] = &request{batch: id, line: line, former: true}
			}
		}
		if generation != "" {
			c.books.requests[wallet+"\x00"+generation] = &request{batch: id, line: line, done: text(v[6]) == string(batch.Done), cost: money.Nano(cost)}
		}
	})
}

// mostTries bounds how many calls of a line are looked for: providers cannot fail one so often.
const mostTries = 100

// request compares the record of a call with the line of a batch that it belongs to, if it does, and returns what is wrong with it.
func (b *books) request(c *record.Call) string {
	r := b.requests[c.Wallet+"\x00"+c.Generation]
	switch {
	case r == nil:
		return ""
	case r.former && c.Settled:
		return fmt.Sprintf("line %d of batch %s was charged %s rubles by %s, whose answer it does not have", r.line, r.batch, c.Cost, c.Generation)
	case r.former:
		return ""
	}
	if r.posted = true; r.done && c.Cost != r.cost {
		return fmt.Sprintf("line %d of batch %s cost %s rubles, its call %s", r.line, r.batch, r.cost, c.Cost)
	}
	return ""
}

// batches says whether each request of the batches that run was charged once, and whether batches have the sums of their lines. wrong is what
// the records of calls said.
func (c *checker) batches(wrong differences) {
	var n, active int64
	c.one(checkBatchCount, &n, &active)
	lines, posted := 0, 0
	for _, r := range c.books.requests {
		if r.former {
			continue
		}
		if lines++; r.posted {
			posted++
		}
	}
	wrong = append(wrong, c.wrong("lines of batch %s are left, which does not exist", checkItemless)...)
	wrong = append(wrong, c.wrong("batch %s has other sums than its lines", checkBatchSums)...)
	c.add("batches", wrong, "%d batches, of which %d run; of %d requests begun %d have a record, each charged at most once", n, active, lines, posted)
}

// ActiveBatch is the condition of batches that have not ended.
const ActiveBatch = `state IN ('validating', 'in_progress', 'finalizing', 'cancelling')`
