package pagedb

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/invalidate"
	"weir/internal/preset"
	"weir/internal/store/auditdb"
	"weir/internal/store/sqldb"
)

// presets are heads, without the content of their versions.
var presets = sqldb.Map[preset.Preset, struct {
	User                 string `db:"user_id"`
	Name, Description    string
	Version              int64
	CreatedAt, UpdatedAt time.Time
}]("presets")

var presetVersions = sqldb.Map[preset.Version, struct {
	Number  int64
	Content string
	By      string `db:"actor"`
	At      time.Time
}]("preset_versions")

var (
	presetRead  = `SELECT ` + presets.Of("p") + `, v.content` + presetFrom
	presetHeads = `SELECT ` + presets.Of("p") + `, substr(v.content, 1, $2)` + presetFrom
)

const (
	presetFrom = `
		FROM presets p JOIN preset_versions v ON v.user_id = p.user_id AND v.name = p.name AND v.number = p.version WHERE p.user_id = $1`
)

func scanPreset(row sqldb.Scanner) (p preset.Preset, err error) {
	var content string
	p, err = presets.ScanWith(row, &content)
	p.Content = content
	return p, err
}

// PresetByName is preset.Store.PresetByName.
func (s *Pages) PresetByName(ctx context.Context, user, name string) (p preset.Preset, err error) {
	err = s.db.Find(ctx, func(row sqldb.Scanner) (err error) { p, err = scanPreset(row); return err }, presetRead+` AND p.name = $2`, user, name)
	return p, sqldb.NoneOf("store.PresetByName", "preset", err)
}

// ListPresets is preset.Store.ListPresets.
func (s *Pages) ListPresets(ctx context.Context, user string) ([]preset.Preset, error) {
	return sqldb.List(ctx, s.db, "store.ListPresets", scanPreset, presetHeads+` ORDER BY p.name`, user, preset.HeadChars)
}

// PresetVersions is preset.Store.PresetVersions.
func (s *Pages) PresetVersions(ctx context.Context, user, name string) ([]preset.Version, error) {
	all, err := presetVersions.List(ctx, s.db, "store.PresetVersions", `WHERE user_id = $1 AND name = $2 ORDER BY number DESC`, user, name)
	if err == nil && len(all) == 0 {
		return nil, sqldb.NoneOf("store.PresetVersions", "preset", sql.ErrNoRows)
	}
	return all, err
}

// PresetVersion is preset.Store.PresetVersion.
func (s *Pages) PresetVersion(ctx context.Context, user, name string, number int64) (v preset.Version, err error) {
	v, err = presetVersions.Find(ctx, s.db, `WHERE user_id = $1 AND name = $2 AND number = $3`, user, name, number)
	return v, sqldb.NoneOf("store.PresetVersion", "version", err)
}

// SavePreset is preset.Store.SavePreset. The user's row is locked, so that presets and their sizes are counted one change after another.
func (s *Pages) SavePreset(ctx context.Context, n preset.Save, e audit.Event) (p preset.Preset, err error) {
	err = s.db.Write(ctx, func(t *sqldb.Tx) (err error) {
		p, err = savePreset(t, &n, e)
		return err
	})
	return p, err
}

func savePreset(t *sqldb.Tx, n *preset.Save, e audit.Event) (preset.Preset, error) {
	const op = "store.SavePreset"
	if err := t.KnownUser(n.User); err != nil {
		return preset.Preset{}, sqldb.NoUser(op, err)
	}
	p, err := scanPreset(t.Row(presetRead+` AND p.name = $2`, n.User, n.Name))
	there := err == nil
	switch {
	case err != nil && !errors.Is(err, sql.ErrNoRows):
		return p, err
	case n.New && there:
		return p, fault.Newf(fault.Conflict, op, "There is a preset %q already. Save it as another version, or choose another name.", n.Name)
	case !n.New && !there:
		return p, sqldb.NoneOf(op, "preset", err)
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
		if err := addPresetVersion(t, n, p.Version, e.Name); err != nil {
			return p, err
		}
	}
	_, err = presets.Put(t, &p, `ON CONFLICT (user_id, name) DO UPDATE SET `+presets.Excluded("user_id", "name", "created_at"))
	if err != nil {
		return p, err
	}
	return p, errors.Join(t.Tell(invalidate.Presets, n.User), auditdb.Record(t, e, n.At))
}

func addPresetVersion(t *sqldb.Tx, n *preset.Save, number int64, by string) error {
	const op = "store.SavePreset"
	if _, err := t.Exec(`DELETE FROM preset_versions WHERE user_id = $1 AND name = $2 AND number <= $3`, n.User, n.Name, number-preset.MaxVersions); err != nil {
		return err
	}
	var have, bytes int64
	err := t.Row(`SELECT (SELECT COUNT(*) FROM presets WHERE user_id = $1), (SELECT CAST(COALESCE(SUM(size), 0) AS BIGINT) FROM preset_versions WHERE user_id = $1)`, n.User).Scan(&have, &bytes)
	switch {
	case err != nil:
		return err
	case n.New && have >= preset.MaxPerUser:
		return fault.Newf(fault.Invalid, op, "An account may have %d presets. Delete one that is not used.", preset.MaxPerUser)
	case bytes+int64(len(n.Content)) > preset.MaxBytes:
		return fault.Newf(fault.Invalid, op, "All versions of an account's presets may have %d bytes together. Delete a preset that is not used.", preset.MaxBytes)
	}
	return presetVersions.Insert(t, &preset.Version{Number: number, Content: n.Content, By: by, At: n.At}, "user_id", n.User, "name", n.Name, "size", len(n.Content))
}

// DeletePreset is preset.Store.DeletePreset.
func (s *Pages) DeletePreset(ctx context.Context, user, name string, version int64, now time.Time, e audit.Event) error {
	const op = "store.DeletePreset"
	return s.db.Write(ctx, func(t *sqldb.Tx) error {
		if err := t.KnownUser(user); err != nil {
			return sqldb.NoUser(op, err)
		}
		var current int64
		if err := t.Row(`SELECT version FROM presets WHERE user_id = $1 AND name = $2`, user, name).Scan(&current); err != nil {
			return sqldb.NoneOf(op, "preset", err)
		}
		if version != 0 && version != current {
			return fault.Newf(fault.Conflict, op, "The preset has version %d by now, and not %d. Read it again.", current, version)
		}
		if err := t.One(`DELETE FROM presets WHERE user_id = $1 AND name = $2`, user, name); err != nil {
			return sqldb.NoneOf(op, "preset", err)
		}
		if _, err := t.Exec(`DELETE FROM preset_versions WHERE user_id = $1 AND name = $2`, user, name); err != nil {
			return err
		}
		if _, err := t.Exec(`DELETE FROM preset_calls WHERE wallet = (SELECT wallet FROM users WHERE id = $1) AND preset = $2`, user, name); err != nil {
			return err
		}
		return errors.Join(t.Tell(invalidate.Presets, user), auditdb.Record(t, e, now))
	})
}

// PresetUses is preset.Store.PresetUses.
func (s *Pages) PresetUses(ctx context.Context, wallet string, since time.Time) (map[string]preset.Use, error) {
	type row struct {
		name string
		use  preset.Use
	}
	all, err := sqldb.List(ctx, s.db, "store.PresetUses", sqldb.Columns(func(r *row) []any { return []any{&r.name, &r.use.Calls, &r.use.Keys} }),
		`SELECT preset, CAST(SUM(calls) AS BIGINT), COUNT(DISTINCT key_id) FROM preset_calls WHERE wallet = $1 AND day >= $2 GROUP BY preset`, wallet, since.UTC().Format(time.DateOnly))
	uses := make(map[string]preset.Use, len(all))
	for _, r := range all {
		uses[r.name] = r.use
	}
	return uses, err
}
