package ledgerdb

import (
	"context"
	"database/sql"
)

// PaidTokens gives each the prompt and completion tokens of every wallet by the slug that served, variant suffix kept, over the UTC days
// from..to (YYYY-MM-DD, both included): all of a wallet one after the other. Of a key's calls on a day with one model and provider it counts
// those with an answer, whole or canceled, if they cost more than was given back: neither free calls nor failed ones. It fails with
// fault.StorageUnavailable.
func (s *Ledger) PaidTokens(ctx context.Context, from, to string, each func(wallet, model string, tokens int64)) error {
	return s.db.Walk(ctx, func(ctx context.Context, tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, `SELECT w.id, d.model, CAST(SUM(d.prompt + d.completion) AS BIGINT) FROM wallets w JOIN usage_daily d ON d.wallet = w.id AND d.day >= $1 AND d.day <= $2
			WHERE d.model <> '' AND d.cost > d.refunded AND d.result IN ('ok', 'canceled') GROUP BY w.id, d.model ORDER BY w.id`, from, to)
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			var wallet, model string
			var tokens int64
			if err := rows.Scan(&wallet, &model, &tokens); err != nil {
				return err
			}
			each(wallet, model, tokens)
		}
		return rows.Err()
	})
}
