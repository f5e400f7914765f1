package ledgerdb

import "weir/internal/store/sqldb"

// SQL text of the ledger. Where a row is read to be changed, tx.lockedRow adds the lock.
const (
	nodePosition = `SELECT position FROM nodes WHERE id = $1`
	nodeAdd      = `INSERT INTO nodes (id) VALUES ($1) ON CONFLICT (id) DO NOTHING`
	nodeEpoch    = `SELECT epoch FROM nodes WHERE id = $1`
	nodeJoin     = `UPDATE nodes SET epoch = epoch + 1, beat = beat + 1, live = 1, seen_at = $2 WHERE id = $1 RETURNING epoch`
	nodeLeave    = `UPDATE nodes SET epoch = epoch + 1, live = 0 WHERE id = $1 AND epoch = $2`
	nodeBeat     = `UPDATE nodes SET beat = beat + 1, seen_at = $3 WHERE id = $1 AND epoch = $2`
	nodeEvict    = `UPDATE nodes SET epoch = epoch + 1, live = 0 WHERE id = $1 AND beat = $2 AND live = 1`
	nodeOthers   = `SELECT id, beat FROM nodes WHERE live = 1 AND id <> $1 ORDER BY id`
	nodeAdvance  = `UPDATE nodes SET position = $3 WHERE id = $1 AND position = $2 AND life = $4`
	nodePlace    = `SELECT position, life FROM nodes WHERE id = $1`
	nodeLife     = `SELECT life FROM nodes WHERE id = $1`
	nodeLive     = `UPDATE nodes SET life = $3 WHERE id = $1 AND life = $2`
	booksRead    = `SELECT id FROM books`
	booksAdd     = `INSERT INTO books (one, id) VALUES (1, $1) ON CONFLICT (one) DO NOTHING`
	asideCount   = `SELECT COUNT(*) FROM set_aside WHERE state = 'open'`
	asideState   = `SELECT state FROM set_aside WHERE generation = $1 AND state <> 'posted' ORDER BY id DESC LIMIT 1`
	asideDecide  = `UPDATE set_aside SET state = $2 WHERE id = $1`
	leasesOfNode = `SELECT wallet, key_id, period, start, id FROM leases WHERE node = $1 ORDER BY key_id, wallet, period, start, id`
	leaseFind    = `SELECT key_id, period, start, granted, consumed FROM leases WHERE node = $1 AND id = $2 AND wallet = $3`
	leaseAdd     = `INSERT INTO leases (wallet, key_id, period, start, node, id, epoch, granted, recall, at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`
	leaseExtend  = `UPDATE leases SET granted = granted + $4 WHERE node = $1 AND id = $2 AND wallet = $3`
	leaseReturn  = `UPDATE leases SET granted = granted - $4, recall = $5 WHERE node = $1 AND id = $2 AND wallet = $3`
	leaseConsume = `UPDATE leases SET consumed = consumed + $4 WHERE node = $1 AND id = $2 AND wallet = $3`
	leaseAnswer  = `UPDATE leases SET recall = $4 WHERE node = $1 AND id = $2 AND wallet = $3`
	leaseTell    = `UPDATE leases SET held = $5 WHERE node = $1 AND id = $2 AND wallet = $3 AND epoch = $4`
	leaseRemove  = `DELETE FROM leases WHERE node = $1 AND id = $2 AND wallet = $3`
	// Those of other nodes, and apart from them the escrows of jobs (epoch 0), which are not given back. Sums in two parts, because one of int64 may
	// not hold them.
	leasesElse = `SELECT CAST(COALESCE(SUM(CASE WHEN epoch > 0 THEN (granted - consumed) / 1000000000 END), 0) AS BIGINT), CAST(COALESCE(SUM(CASE WHEN epoch > 0 THEN (granted - consumed) % 1000000000 END), 0) AS BIGINT),
		CAST(COALESCE(SUM(CASE WHEN epoch = 0 THEN (granted - consumed) / 1000000000 END), 0) AS BIGINT), CAST(COALESCE(SUM(CASE WHEN epoch = 0 THEN (granted - consumed) % 1000000000 END), 0) AS BIGINT),
		COALESCE(MAX(CASE WHEN epoch > 0 AND recall < $5 THEN 1 ELSE 0 END), 0) FROM leases
		WHERE wallet = $1 AND key_id = $2 AND period = $3 AND start = $4 AND node <> $6 AND granted > consumed`
	leasesRecalled = `SELECT l.id FROM leases l JOIN wallets w ON w.id = l.wallet WHERE l.node = $1 AND l.key_id = '' AND l.recall < w.recall
		UNION ALL SELECT l.id FROM leases l JOIN key_spend k ON k.key_id = l.key_id AND k.period = l.period AND k.start = l.start AND k.wallet = l.wallet
		WHERE l.node = $1 AND l.key_id <> '' AND l.recall < k.recall`

	walletFund   = `SELECT credited - charged - leased, recall FROM wallets WHERE id = $1`
	walletLease  = `UPDATE wallets SET leased = leased + $2 WHERE id = $1`
	walletRecall = `UPDATE wallets SET recall = recall + 1 WHERE id = $1`
	walletCharge = `UPDATE wallets SET charged = charged + $2 WHERE id = $1`
	walletCredit = `UPDATE wallets SET credited = credited + $2 WHERE id = $1`
	walletRead   = `SELECT credited, charged, leased FROM wallets WHERE id = $1`
	walletAdd    = `INSERT INTO wallets (id, created_at) VALUES ($1, $2)`

	// The holds of calls as nodes reported them, except those of one node, and the holds of jobs (epoch 0).
	walletHeld = `SELECT credited, charged, leased, (SELECT CAST(COALESCE(SUM(CASE WHEN granted <= consumed THEN 0 WHEN epoch = 0 OR held > granted - consumed THEN granted - consumed ELSE held END), 0) AS BIGINT)
		FROM leases WHERE wallet = wallets.id AND key_id = '' AND node <> $2),
		COALESCE((SELECT string_agg(CAST(id AS TEXT) || ' ' || CAST(consumed AS TEXT), ' ') FROM leases WHERE wallet = wallets.id AND key_id = '' AND node = $2 AND epoch > 0), ''),
		COALESCE((SELECT epoch FROM nodes WHERE id = $2), 0), COALESCE((SELECT life FROM nodes WHERE id = $2), '') FROM wallets WHERE id = $1`

	keyFundAdd = `INSERT INTO key_spend (wallet, key_id, period, start) VALUES ($1, $2, $3, $4) ON CONFLICT (key_id, period, start, wallet) DO NOTHING`
	keyFund    = `SELECT spent - forgiven + leased, recall FROM key_spend WHERE wallet = $1 AND key_id = $2 AND period = $3 AND start = $4`
	keyLease   = `UPDATE key_spend SET leased = leased + $5 WHERE wallet = $1 AND key_id = $2 AND period = $3 AND start = $4`
	keyRecall  = `UPDATE key_spend SET recall = recall + 1 WHERE wallet = $1 AND key_id = $2 AND period = $3 AND start = $4`
	keyWallet  = `SELECT wallet FROM key_spend WHERE key_id = $1 LIMIT 1`
	keyForgive = `UPDATE key_spend SET forgiven = spent WHERE wallet = $1 AND key_id = $2 AND period = $3 AND start = $4`
	keySpend   = `SELECT COALESCE(SUM(spent), 0), COALESCE(SUM(forgiven), 0) FROM key_spend WHERE key_id = $1 AND period = $2 AND start = $3`

	// What calls hold of a fund, as in walletHeld.
	fundState = `SELECT spent - forgiven, (SELECT CAST(COALESCE(SUM(CASE WHEN granted <= consumed THEN 0 WHEN epoch = 0 OR held > granted - consumed THEN granted - consumed ELSE held END), 0) AS BIGINT)
		FROM leases l WHERE l.wallet = k.wallet AND l.key_id = k.key_id AND l.period = k.period AND l.start = k.start)
		FROM key_spend k WHERE k.wallet = $1 AND k.key_id = $2 AND k.period = $3 AND k.start = $4`

	generationKnown = `SELECT COUNT(*) FROM generations WHERE wallet = $1 AND id = $2`
	transactionAdd  = `INSERT INTO transactions (kind, ref, at, actor, reason) VALUES ($1, $2, $3, $4, $5) RETURNING id`
	// by the index of the second in the id; few calls have the same
	generationAny = `SELECT ` + storedColumns + ` FROM generations WHERE substr(id, 5, 10) = substr(CAST($1 AS TEXT), 5, 10) AND id = $1`
	// Movements are transactions with an entry of a wallet and one of another account. Indexes for their entries exist.
	movementOf = `SELECT t.id, t.kind, t.ref, t.at, t.actor, t.reason, w.account, w.amount, o.account FROM entries w JOIN transactions t ON t.id = w.transaction_id
		JOIN entries o ON o.transaction_id = w.transaction_id AND o.line <> w.line AND substr(o.ref, 1, 7) <> 'settle:'
		WHERE substr(w.account, 1, 7) = 'wallet:' AND substr(w.ref, 1, 7) <> 'settle:' AND t.ref = $1`
	// PostgreSQL cannot tell how few of an account's entries are postings. Joined, it would read all entries, and ordered by the bare number all
	// postings of the database; so what belongs to each is read by itself, in pages of which it knows the length.
	refundsOf = `SELECT e.transaction_id, ` + itsTransaction + `, COALESCE((SELECT w.account` + itsWallet + `), ''), COALESCE((SELECT w.amount` + itsWallet + `), 0), e.account
		FROM entries e WHERE e.account = $1 AND e.transaction_id > $2 AND substr(e.ref, 1, 7) <> 'settle:' ORDER BY e.transaction_id LIMIT 100`
	movementsOf = `SELECT e.transaction_id, ` + itsTransaction + `, e.account, e.amount, COALESCE((SELECT o.account FROM entries o
		WHERE o.transaction_id = e.transaction_id AND o.line <> e.line AND substr(o.ref, 1, 7) <> 'settle:' LIMIT 1), '')
		FROM entries e WHERE e.account = $1 AND e.transaction_id < $2 AND substr(e.ref, 1, 7) <> 'settle:' ORDER BY e.transaction_id + 0 DESC LIMIT $3`
	itsTransaction = `(SELECT t.kind FROM transactions t WHERE t.id = e.transaction_id), (SELECT t.ref FROM transactions t WHERE t.id = e.transaction_id),
		(SELECT t.at FROM transactions t WHERE t.id = e.transaction_id), (SELECT t.actor FROM transactions t WHERE t.id = e.transaction_id),
		(SELECT t.reason FROM transactions t WHERE t.id = e.transaction_id)`
	itsWallet = ` FROM entries w WHERE w.transaction_id = e.transaction_id AND w.line <> e.line AND substr(w.account, 1, 7) = 'wallet:' AND substr(w.ref, 1, 7) <> 'settle:' LIMIT 1`
	entriesOf = `SELECT e.transaction_id * 10000 + e.line, e.transaction_id, e.account, e.amount, e.ref, t.at
		FROM entries e JOIN transactions t ON t.id = e.transaction_id WHERE e.account = $1 AND e.ref = $2`

	activity = `SELECT day, model, SUM(cost), SUM(requests), SUM(prompt), SUM(completion), SUM(reasoning), SUM(refunded) FROM usage_daily
		WHERE wallet = $1 AND day >= $2 AND day <= $3 AND ($4 = '' OR key_id = $4) GROUP BY day, model HAVING SUM(requests) > 0
		ORDER BY day DESC, SUM(cost) DESC, model`
)

var entries = sqldb.Table{Name: "entries", Columns: []string{"account", "ref", "transaction_id", "line", "amount"}}

var keySpending = sqldb.Table{Name: "key_spend", Columns: []string{"wallet", "key_id", "period", "start", "spent"},
	// A refund of a call from before a reset is not forgiven twice.
	Merge: "ON CONFLICT (key_id, period, start, wallet) DO UPDATE SET spent = key_spend.spent + excluded.spent, forgiven = CASE WHEN key_spend.forgiven > key_spend.spent + excluded.spent THEN key_spend.spent + excluded.spent ELSE key_spend.forgiven END"}

// keyDropped notes what calls had spent beside their keys, when they are dropped.
const keyDropped = `UPDATE key_spend SET dropped = dropped + $5 WHERE wallet = $1 AND key_id = $2 AND period = $3 AND start = $4`

// maxEntries is how many entries a transaction may have: an entry's id is its transaction's times that, and its line.
const maxEntries = 10_000

// SQL text of the checks. Each lists errors. Sums are cast, because PostgreSQL gives another type for them.
const (
	checkOrphans     = `SELECT DISTINCT e.transaction_id FROM entries e WHERE NOT EXISTS (SELECT 1 FROM transactions t WHERE t.id = e.transaction_id) LIMIT 5`
	checkWallets     = `SELECT id, credited, charged FROM wallets`
	checkStrayLeases = `SELECT l.node, l.id, l.wallet FROM leases l LEFT JOIN nodes n ON n.id = l.node
		WHERE (l.epoch <> 0 AND (n.id IS NULL OR n.epoch <> l.epoch OR n.live = 0)) OR (l.epoch = 0 AND substr(l.node, 1, 4) <> 'job:') LIMIT 5`
	checkLostLeases = `SELECT l.node, l.id, l.wallet FROM leases l WHERE NOT EXISTS (SELECT 1 FROM wallets w WHERE w.id = l.wallet) OR (l.key_id <> '' AND NOT EXISTS
		(SELECT 1 FROM key_spend k WHERE k.wallet = l.wallet AND k.key_id = l.key_id AND k.period = l.period AND k.start = l.start)) LIMIT 5`
	checkStrangers    = `SELECT DISTINCT e.account FROM entries e WHERE substr(e.account, 1, 7) = 'wallet:' AND NOT EXISTS (SELECT 1 FROM wallets w WHERE w.id = substr(e.account, 8)) LIMIT 5`
	checkLeases       = `SELECT wallet, key_id, period, start, node, granted, consumed FROM leases`
	checkWalletLeased = `SELECT id, leased FROM wallets`
	checkKeyLeased    = `SELECT wallet, key_id, period, start, leased FROM key_spend`
	checkUncharged    = `SELECT g.id FROM generations g LEFT JOIN entries e ON e.account = 'wallet:' || g.wallet AND e.ref = 'settle:' || g.id
		WHERE (g.settled = 1 AND (e.ref IS NULL OR e.amount <> -g.cost)) OR (g.settled = 0 AND (e.ref IS NOT NULL OR g.cost <> 0)) LIMIT 5`
	checkUnrecorded = `SELECT e.ref FROM entries e WHERE substr(e.account, 1, 7) = 'wallet:' AND substr(e.ref, 1, 7) = 'settle:'
		AND NOT EXISTS (SELECT 1 FROM generations g WHERE g.wallet = substr(e.account, 8) AND g.id = substr(e.ref, 8)) LIMIT 5`
	checkUnrecordedSum = `SELECT COUNT(*), CAST(COALESCE(SUM(e.amount / 1000000000), 0) AS BIGINT), CAST(COALESCE(SUM(e.amount % 1000000000), 0) AS BIGINT) FROM entries e
		WHERE substr(e.account, 1, 7) = 'wallet:' AND substr(e.ref, 1, 7) = 'settle:' AND NOT EXISTS (SELECT 1 FROM generations g WHERE g.wallet = substr(e.account, 8) AND g.id = substr(e.ref, 8))`
	// Sums in two parts, because one of int64 does not hold them.
	checkCounts   = `SELECT COUNT(*), CAST(COALESCE(SUM(settled), 0) AS BIGINT), CAST(COALESCE(SUM(cost / 1000000000), 0) AS BIGINT), CAST(COALESCE(SUM(cost % 1000000000), 0) AS BIGINT) FROM generations`
	checkKeySpend = `SELECT wallet, key_id, period, start, spent, dropped FROM key_spend`
)

// Hot are the statements that run for each batch or lease; an engine may prepare them.
var Hot = []string{
	nodeEpoch, nodeBeat, nodeOthers, nodeAdvance,
	leaseFind, leaseAdd, leaseExtend, leaseReturn, leaseConsume, leaseTell, leaseAnswer, leaseRemove,
	walletFund, walletLease, walletCharge, keyFundAdd, keyFund, keyLease,
	transactionAdd, chainLock, chainLast, chainAdd,
}
