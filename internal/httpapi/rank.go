package httpapi

import (
	"context"
	"time"

	"weir/internal/catalog/listing"
	"weir/internal/loop"
)

// Popularity reports how much models are used. The store is one.
type Popularity interface {
	// ModelTokens sums the prompt and completion tokens of all wallets by the slug that served, variant suffix kept, over the UTC
	// days from..to (YYYY-MM-DD, both included).
	ModelTokens(ctx context.Context, from, to string) (map[string]int64, error)
}

// rankDays is how many days count for a rank, today included.
const rankDays = 7

// Ranks sorts the lists of models by how much each was used lately: at once, and then each time every has passed. While the store cannot be
// read, the ranks stay as they are.
func (a *API) Ranks(from Popularity, every time.Duration) *loop.Loop {
	return loop.New(0, func(ctx context.Context) time.Duration {
		today := a.Now().UTC()
		tokens, err := from.ModelTokens(ctx, today.AddDate(0, 0, 1-rankDays).Format(day), today.Format(day))
		if err == nil {
			a.models.Rank(listing.RanksOf(tokens), a.Catalog())
		} else if ctx.Err() == nil {
			a.Slog.Warn("the ranks of models could not be read", "cause", err)
		}
		return every
	})
}
