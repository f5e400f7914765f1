package store

import "context"

// ModelTokens sums the prompt and completion tokens of all wallets by the slug that served, variant suffix kept, over the UTC days
// from..to (YYYY-MM-DD, both included). It fails with fault.StorageUnavailable.
func (s *Store) ModelTokens(ctx context.Context, from, to string) (map[string]int64, error) {
	type sum struct {
		model  string
		tokens int64
	}
	rows, err := list(ctx, s, "store.ModelTokens", columns(func(r *sum) []any { return []any{&r.model, &r.tokens} }),
		`SELECT g.value, CAST(SUM(g.prompt + g.completion) AS BIGINT) FROM wallets w JOIN usage_groups g ON g.wallet = w.id AND g.part = '`+byModel+`' AND g.day >= $1 AND g.day <= $2
		WHERE g.value <> '' GROUP BY g.value`, from, to)
	if err != nil {
		return nil, err
	}
	tokens := make(map[string]int64, len(rows))
	for _, r := range rows {
		tokens[r.model] = r.tokens
	}
	return tokens, nil
}
