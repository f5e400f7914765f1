package ledgerdb

import (
	"context"
	"time"

	"weir/internal/catalog/edit"
	"weir/internal/store/sqldb"
)

// SoldByEndpoint adds up the charged calls of all wallets by endpoint, over whole hours from..to. It reads the roll-up by hour, account by
// account: hours of all of them have no index by time.
func (s *Ledger) SoldByEndpoint(ctx context.Context, from, to time.Time) (map[string]edit.Sold, error) {
	type row struct {
		endpoint string
		sold     edit.Sold
	}
	list, err := sqldb.List(ctx, s.db, "store.SoldByEndpoint", func(r sqldb.Scanner) (x row, err error) {
		err = r.Scan(&x.endpoint, &x.sold.Calls, &x.sold.Prompt, &x.sold.CacheRead, &x.sold.CacheWrite, &x.sold.Completion, &x.sold.Reasoning, (*int64)(&x.sold.Revenue))
		return x, err
	}, `SELECT endpoint, CAST(SUM(requests) AS BIGINT), CAST(SUM(prompt) AS BIGINT), CAST(SUM(cache_read) AS BIGINT), CAST(SUM(cache_write) AS BIGINT), CAST(SUM(completion) AS BIGINT),
		CAST(SUM(reasoning) AS BIGINT), CAST(SUM(cost - refunded) AS BIGINT)
		FROM wallets w CROSS JOIN usage_hourly h WHERE h.wallet = w.id AND hour >= $1 AND hour < $2 AND requests > 0 AND endpoint <> '' GROUP BY endpoint`,
		from.Unix(), to.Unix())
	out := map[string]edit.Sold{}
	for i := range list {
		out[list[i].endpoint] = list[i].sold
	}
	return out, err
}
