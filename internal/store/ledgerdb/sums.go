package ledgerdb

import (
	"time"

	"weir/internal/invoice"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/store/sqldb"
)

// SumsBefore sums what moved a wallet before the beginning of an hour. row asks a transaction.
func SumsBefore(row func(text string, args ...any) sqldb.Scanner, z sqldb.Zones, wallet string, at time.Time) (s invoice.Sums, err error) {
	h := z[wallet]
	day := h.Day(at)
	var days, hours, back int64
	if err = row(daySum, wallet, "", day.Format(time.DateOnly)).Scan(&days); err != nil {
		return s, err
	}
	if err = row(spentInHours, wallet, h.Start(day).Unix(), at.Unix()).Scan(&hours); err != nil {
		return s, err
	}
	err = row(postedBefore, ledger.WalletAccount+wallet, at.UnixMicro()).Scan((*int64)(&s.ToppedUp), &back)
	s.Spent = money.Nano(days + hours - back)
	return s, err
}

const spentInHours = `SELECT CAST(COALESCE(SUM(cost), 0) AS BIGINT) FROM usage_hourly WHERE wallet = $1 AND hour >= $2 AND hour < $3`

const postedBefore = `SELECT CAST(COALESCE(SUM(CASE WHEN kind = '` + ledger.TopUpKind + `' THEN amount ELSE 0 END), 0) AS BIGINT), CAST(COALESCE(SUM(CASE WHEN kind = '` + ledger.TopUpKind + `' THEN 0 ELSE amount END), 0) AS BIGINT)
	FROM (SELECT amount, (SELECT t.at FROM transactions t WHERE t.id = transaction_id) AS at, (SELECT t.kind FROM transactions t WHERE t.id = transaction_id) AS kind
	FROM entries WHERE account = $1 AND transaction_id >= 0 AND substr(ref, 1, 7) <> 'settle:') e WHERE at < $2`
