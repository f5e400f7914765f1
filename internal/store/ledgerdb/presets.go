package ledgerdb

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"weir/internal/ledger"
	"weir/internal/store/sqldb"
)

// usePresets adds the calls of a batch to the uses of their presets.
func usePresets(t *sqldb.Tx, items []*ledger.Recorded, now time.Time) error {
	type use struct{ wallet, preset, day, key string }
	uses := map[use]int64{}
	for _, it := range items {
		if c := &it.Call; c.Preset != "" {
			uses[use{c.Wallet, c.Preset, c.At.UTC().Format(time.DateOnly), c.Key}]++
		}
	}
	if len(uses) == 0 {
		return nil
	}
	order := slices.SortedFunc(maps.Keys(uses), func(a, b use) int {
		return cmp.Or(cmp.Compare(a.wallet, b.wallet), cmp.Compare(a.preset, b.preset), cmp.Compare(a.day, b.day), cmp.Compare(a.key, b.key))
	})
	oldest := now.UTC().AddDate(0, 0, -presetUseDays).Format(time.DateOnly)
	var add, drop []any
	for i, u := range order {
		add = append(add, u.wallet, u.preset, u.day, u.key, uses[u])
		if i == 0 || order[i-1].wallet != u.wallet || order[i-1].preset != u.preset {
			drop = append(drop, u.wallet, u.preset, oldest)
		}
	}
	if _, err := t.ExecEach(presetUse, 5, add); err != nil {
		return err
	}
	_, err := t.ExecEach(presetUseDrop, 3, drop)
	return err
}

const presetUse = `INSERT INTO preset_calls AS c (wallet, preset, day, key_id, calls) VALUES ($1, $2, $3, $4, $5)
	ON CONFLICT (wallet, preset, day, key_id) DO UPDATE SET calls = c.calls + excluded.calls`

const presetUseDrop = `DELETE FROM preset_calls WHERE wallet = $1 AND preset = $2 AND day < $3`

const presetUseDays = 9 // that are kept: the last seven are asked for
