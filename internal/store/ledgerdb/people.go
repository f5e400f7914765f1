package ledgerdb

import (
	"context"
	"database/sql"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"weir/internal/money"
	"weir/internal/report"
	"weir/internal/store/sqldb"
)

// What is shown of each user is read by itself, for the users of the page alone: of calls only roll-ups of one wallet. A month has begun at most
// 14 hours earlier for one account than for another, so each has two sums, which are nearly always the same.
const (
	peoplePage = `SELECT u.id, u.name, COALESCE((SELECT l.email FROM logins l WHERE l.user_id = u.id), ''), u.role, u.disabled, u.wallet, w.credited - w.charged,
		(SELECT CAST(COALESCE(SUM(CASE WHEN granted <= consumed THEN 0 WHEN epoch = 0 OR held > granted - consumed THEN granted - consumed ELSE held END), 0) AS BIGINT)
			FROM leases WHERE wallet = u.wallet AND key_id = ''),
		(` + monthOf + `$1), (` + monthOf + `$2),
		(SELECT MAX(g.last_at) FROM usage_groups g WHERE g.wallet = u.wallet AND g.part = '` + byKind + `' AND g.day = (SELECT MAX(d.day) FROM usage_groups d WHERE d.wallet = u.wallet AND d.part = '` + byKind + `')),
		u.created_at FROM (SELECT id, name, role, disabled, wallet, created_at FROM users`
	monthOf = `SELECT CAST(COALESCE(SUM(g.cost), 0) AS BIGINT) FROM usage_groups g WHERE g.wallet = u.wallet AND g.part = '` + byKind + `' AND g.day >= `
)

// People is report.Store.People.
func (s *Ledger) People(ctx context.Context, q report.PeopleSearch) ([]report.Person, error) {
	z, err := s.db.ZonesNow(ctx)
	if err != nil {
		return nil, err
	}
	now := s.db.Now().UTC()
	early, late := report.Month.Floor(now.Add(-12*time.Hour)), report.Month.Floor(now.Add(14*time.Hour))
	c := sqldb.Conditions{Args: []any{early.Format(time.DateOnly), late.Format(time.DateOnly)}}
	if q.After != "" {
		var created int64
		err := s.db.Find(ctx, func(row sqldb.Scanner) error { return row.Scan(&created) }, `SELECT created_at FROM users WHERE id = $1`, q.After)
		if err != nil {
			return nil, sqldb.NoUser("store.People", err)
		}
		c.Add("created_at <= ? AND (created_at < ? OR id < ?)", created, created, q.After)
	}
	if q.Disabled != nil {
		c.Add("disabled = ?", *q.Disabled)
	}
	c.Equal("role", q.Role)
	c.Equal("id", q.ID)
	if q.KeyID != "" {
		c.Add("id = (SELECT user_id FROM api_keys WHERE id = ?)", q.KeyID)
	}
	if q.Label != "" { // deleted keys have a label, too, and their user may ask about them
		c.Add("id IN (SELECT user_id FROM api_keys WHERE substr(label, 16) = substr(CAST(? AS TEXT), 16) AND label = ?)", q.Label, q.Label)
	}
	if q.Text != "" {
		named(&c, q.Text, q.KeyEnd)
	}
	text := peoplePage + c.Where() + ` ORDER BY created_at DESC, id DESC LIMIT ` + strconv.Itoa(q.Limit) + `) u JOIN wallets w ON w.id = u.wallet ORDER BY u.created_at DESC, u.id DESC`
	return sqldb.List(ctx, s.db, "store.People", func(row sqldb.Scanner) (p report.Person, err error) {
		var sinceEarly, sinceLate, created int64
		var last sql.NullInt64
		err = row.Scan(&p.ID, &p.Name, &p.Email, &p.Role, &p.Disabled, &p.Wallet, (*int64)(&p.Balance), (*int64)(&p.Held), &sinceEarly, &sinceLate, &last, &created)
		p.Spent = money.Nano(sinceEarly)
		if !report.Month.Floor(z[p.Wallet].Day(now)).Before(late) {
			p.Spent = money.Nano(sinceLate)
		}
		p.CreatedAt = time.UnixMicro(created).UTC()
		if last.Int64 > 0 {
			p.LastCall = time.UnixMicro(last.Int64).UTC()
		}
		return p, err
	}, text, c.Args...)
}

// named adds the condition of a text in a name or an address. Databases differ in which letters they fold: the usual spellings are all tried.
func named(c *sqldb.Conditions, text, keyEnd string) {
	low, title := strings.ToLower(text), titled(text)
	match := `(lower(name) LIKE ? ESCAPE '\' OR name LIKE ? ESCAPE '\' OR name LIKE ? ESCAPE '\' OR id IN (SELECT user_id FROM logins WHERE email LIKE ? ESCAPE '\')`
	args := []any{within(low), within(title), within(text), within(low)}
	if keyEnd != "" {
		match += ` OR id IN (SELECT user_id FROM api_keys WHERE substr(label, 16) = ? AND deleted_at IS NULL)`
		args = append(args, keyEnd)
	}
	c.Add(match+")", args...)
}

// within is the pattern of texts that have another one in them.
func within(text string) string {
	return "%" + strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`).Replace(text) + "%"
}

// titled has a capital letter at the begin of each word.
func titled(text string) string {
	words := strings.Fields(strings.ToLower(text))
	for i, w := range words {
		r, n := utf8.DecodeRuneInString(w)
		words[i] = string(unicode.ToTitle(r)) + w[n:]
	}
	return strings.Join(words, " ")
}
