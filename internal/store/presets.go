package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"
	"time"

	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/invalidate"
	"weir/internal/ledger"
	"weir/internal/preset"
)

const (
	presetRead  = `SELECT p.user_id, p.name, p.description, p.version, v.content, p.created_at, p.updated_at` + presetFrom
	presetHeads = `SELECT p.user_id, p.name, p.description, p.version, substr(v.content, 1, $2), p.created_at, p.updated_at` + presetFrom
	presetFrom  = `
		FROM presets p JOIN preset_versions v ON v.user_id = p.user_id AND v.name = p.name AND v.number = p.version WHERE p.user_id = $1`
	presetVersions = `SELECT number, content, actor, at FROM preset_versions WHERE user_id = $1 AND name = $2`

	presetUse = `INSERT INTO preset_calls AS c (wallet, preset, day, key_id, calls) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (wallet, preset, day, key_id) DO UPDATE SET calls = c.calls + excluded.calls`
	presetUseDrop = `DELETE FROM preset_calls WHERE wallet = $1 AND preset = $2 AND day < $3`

	presetUseDays = 9 // that are kept: the last seven are asked for
)

func scanPreset(row Scanner) (p preset.Preset, err error) {
	var created, updated int64
	err = row.Scan(&p.User, &p.Name, &p.Description, &p.Version, &p.Content, &created, &updated)
	p.CreatedAt, p.UpdatedAt = time.UnixMicro(created).UTC(), time.UnixMicro(updated).UTC()
	return p, err
}

func scanPresetVersion(row Scanner) (v preset.Version, err error) {
	var at int64
	err = row.Scan(&v.Number, &v.Content, &v.By, &at)
	v.At = time.UnixMicro(at).UTC()
	return v, err
}

// PresetByName is preset.Store.PresetByName.
func (s *Pages) PresetByName(ctx context.Context, user, name string) (p preset.Preset, err error) {
	err = s.find(ctx, func(row Scanner) (err error) { p, err = scanPreset(row); return err }, presetRead+` AND p.name = $2`, user, name)
	return p, noneOf("store.PresetByName", "preset", err)
}

// ListPresets is preset.Store.ListPresets.
func (s *Pages) ListPresets(ctx context.Context, user string) ([]preset.Preset, error) {
	return list(ctx, s.db, "store.ListPresets", scanPreset, presetHeads+` ORDER BY p.name`, user, preset.HeadChars)
}

// PresetVersions is preset.Store.PresetVersions.
func (s *Pages) PresetVersions(ctx context.Context, user, name string) ([]preset.Version, error) {
	all, err := list(ctx, s.db, "store.PresetVersions", scanPresetVersion, presetVersions+` ORDER BY number DESC`, user, name)
	if err == nil && len(all) == 0 {
		return nil, noneOf("store.PresetVersions", "preset", sql.ErrNoRows)
	}
	return all, err
}

// PresetVersion is preset.Store.PresetVersion.
func (s *Pages) PresetVersion(ctx context.Context, user, name string, number int64) (v preset.Version, err error) {
	err = s.find(ctx, func(row Scanner) (err error) { v, err = scanPresetVersion(row); return err }, presetVersions+` AND number = $3`, user, name, number)
	return v, noneOf("store.PresetVersion", "version", err)
}

// SavePreset is preset.Store.SavePreset. The user's row is locked, so that presets and their sizes are counted one change after another.
func (s *Pages) SavePreset(ctx context.Context, n preset.Save, e audit.Event) (p preset.Preset, err error) {
	err = s.write(ctx, func(t *tx) (err error) {
		p, err = t.savePreset(&n, e)
		return err
	})
	return p, err
}

func (t *tx) savePreset(n *preset.Save, e audit.Event) (preset.Preset, error) {
	const op = "store.SavePreset"
	var user string
	if err := t.lockedRow(`SELECT id FROM users WHERE id = $1`, n.User).Scan(&user); err != nil {
		return preset.Preset{}, noUser(op, err)
	}
	p, err := scanPreset(t.row(presetRead+` AND p.name = $2`, n.User, n.Name))
	there := err == nil
	switch {
	case err != nil && !errors.Is(err, sql.ErrNoRows):
		return p, err
	case n.New && there:
		return p, fault.Newf(fault.Conflict, op, "There is a preset %q already. Save it as another version, or choose another name.", n.Name)
	case !n.New && !there:
		return p, noneOf(op, "preset", err)
	case n.From != 0 && n.From != p.Version:
		return p, fault.Newf(fault.Conflict, op, "The preset has version %d by now, and this change is of version %d. Read it again.", p.Version, n.From)
	case there && p.Content == n.Content && p.Description == n.Description:
		return p, nil
	}
	p.User, p.Name, p.Description, p.UpdatedAt = n.User, n.Name, n.Description, n.At.UTC().Truncate(time.Microsecond)
	if !there {
		p.CreatedAt = p.UpdatedAt
	}
	if p.Content != n.Content {
		p.Version++
		p.Content = n.Content
		if err := t.addPresetVersion(n, p.Version, e.Name); err != nil {
			return p, err
		}
	}
	_, err = t.exec(`INSERT INTO presets (user_id, name, description, version, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (user_id, name) DO UPDATE SET description = excluded.description, version = excluded.version, updated_at = excluded.updated_at`,
		p.User, p.Name, p.Description, p.Version, p.CreatedAt.UnixMicro(), p.UpdatedAt.UnixMicro())
	if err != nil {
		return p, err
	}
	return p, errors.Join(t.tell(invalidate.Presets, n.User), t.record(e, n.At))
}

func (t *tx) addPresetVersion(n *preset.Save, number int64, by string) error {
	const op = "store.SavePreset"
	if _, err := t.exec(`DELETE FROM preset_versions WHERE user_id = $1 AND name = $2 AND number <= $3`, n.User, n.Name, number-preset.MaxVersions); err != nil {
		return err
	}
	var presets, bytes int64
	err := t.row(`SELECT (SELECT COUNT(*) FROM presets WHERE user_id = $1), (SELECT CAST(COALESCE(SUM(size), 0) AS BIGINT) FROM preset_versions WHERE user_id = $1)`, n.User).Scan(&presets, &bytes)
	switch {
	case err != nil:
		return err
	case n.New && presets >= preset.MaxPerUser:
		return fault.Newf(fault.Invalid, op, "An account may have %d presets. Delete one that is not used.", preset.MaxPerUser)
	case bytes+int64(len(n.Content)) > preset.MaxBytes:
		return fault.Newf(fault.Invalid, op, "All versions of an account's presets may have %d bytes together. Delete a preset that is not used.", preset.MaxBytes)
	}
	_, err = t.exec(`INSERT INTO preset_versions (user_id, name, number, size, content, actor, at) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
		n.User, n.Name, number, len(n.Content), n.Content, by, n.At.UnixMicro())
	return err
}

// DeletePreset is preset.Store.DeletePreset.
func (s *Pages) DeletePreset(ctx context.Context, user, name string, now time.Time, e audit.Event) error {
	return s.write(ctx, func(t *tx) error {
		if err := t.one(`DELETE FROM presets WHERE user_id = $1 AND name = $2`, user, name); err != nil {
			return noneOf("store.DeletePreset", "preset", err)
		}
		if _, err := t.exec(`DELETE FROM preset_versions WHERE user_id = $1 AND name = $2`, user, name); err != nil {
			return err
		}
		if _, err := t.exec(`DELETE FROM preset_calls WHERE wallet = (SELECT wallet FROM users WHERE id = $1) AND preset = $2`, user, name); err != nil {
			return err
		}
		return errors.Join(t.tell(invalidate.Presets, user), t.record(e, now))
	})
}

// PresetUses is preset.Store.PresetUses.
func (s *Pages) PresetUses(ctx context.Context, wallet string, since time.Time) (map[string]preset.Use, error) {
	type row struct {
		name string
		use  preset.Use
	}
	all, err := list(ctx, s.db, "store.PresetUses", columns(func(r *row) []any { return []any{&r.name, &r.use.Calls, &r.use.Keys} }),
		`SELECT preset, CAST(SUM(calls) AS BIGINT), COUNT(DISTINCT key_id) FROM preset_calls WHERE wallet = $1 AND day >= $2 GROUP BY preset`, wallet, since.UTC().Format(time.DateOnly))
	uses := make(map[string]preset.Use, len(all))
	for _, r := range all {
		uses[r.name] = r.use
	}
	return uses, err
}

// usePresets adds the calls of a batch to the uses of their presets.
func (t *tx) usePresets(items []*ledger.Recorded, now time.Time) error {
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
