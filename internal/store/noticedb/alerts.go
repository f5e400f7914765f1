package noticedb

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"time"

	"weir/internal/alert"
	"weir/internal/audit"
	"weir/internal/store/auditdb"
	"weir/internal/store/sqldb"
)

var _ alert.Store = (*Notices)(nil)

var (
	alertRules = sqldb.Map[alert.Rule, struct {
		Kind           alert.Kind
		On             bool `db:"enabled"`
		Limit          int  `db:"most"`
		Minutes, Calls int
		Version        int64
	}]("alert_rules")

	alertChannels = sqldb.Map[alert.Channel, struct {
		ID            string
		Way           alert.Way
		Address       string
		Language      string
		On            bool `db:"enabled"`
		Kinds         string
		Least         alert.Severity `db:"severity"`
		Sealed        []byte
		Last4         string
		Version       int64
		Failed, Words string
		Reason        alert.Reason
		SentAt        time.Time `db:"sent_at,null"`
	}]("alert_channels", sqldb.Encoded("kinds", func(c *alert.Channel) string { return joined(c.Kinds) }, func(c *alert.Channel, text string) error {
		for _, k := range strings.Fields(text) {
			c.Kinds = append(c.Kinds, alert.Kind(k))
		}
		return nil
	}))

	incidents = sqldb.Map[alert.Incident, struct {
		ID              string
		Kind            alert.Kind
		Subject         string
		BeganAt, SeenAt time.Time
		FineAt          time.Time `db:"fine_at,null"`
		SaidAt          time.Time
		EndedAt         time.Time `db:"ended_at,null"`
		Why             alert.End
		Value           int
		Limit           int `db:"most"`
		Failed, Calls   int64
		Minutes         int
		Detail          string
	}]("alert_incidents")
)

// AlertRules is alert.RuleStore.AlertRules.
func (s *Notices) AlertRules(ctx context.Context) ([]alert.Rule, error) {
	list, err := alertRules.List(ctx, s.db, "store.AlertRules", `ORDER BY kind`)
	for i := range list {
		list[i].Changed = true
	}
	return list, err
}

// one fails unless exactly one row was changed.
func one(n int64, err error) error {
	if err == nil && n != 1 {
		err = alert.Moved()
	}
	return err
}

// PutAlertRule is alert.RuleStore.PutAlertRule.
func (s *Notices) PutAlertRule(ctx context.Context, r alert.Rule, version int64, now time.Time, e audit.Event) error {
	return auditdb.Write(ctx, s.db, e, now, func(t *sqldb.Tx) error {
		if version == 0 {
			return one(alertRules.Put(t, &r, `ON CONFLICT DO NOTHING`))
		}
		return one(t.Exec(`UPDATE alert_rules SET enabled = $1, most = $2, minutes = $3, calls = $4, version = $5 WHERE kind = $6 AND version = $7`,
			r.On, r.Limit, r.Minutes, r.Calls, r.Version, string(r.Kind), version))
	})
}

// DropAlertRule is alert.RuleStore.DropAlertRule.
func (s *Notices) DropAlertRule(ctx context.Context, k alert.Kind, version int64, now time.Time, e audit.Event) error {
	return auditdb.Write(ctx, s.db, e, now, func(t *sqldb.Tx) error {
		return one(t.Exec(`DELETE FROM alert_rules WHERE kind = $1 AND version = $2`, string(k), version))
	})
}

// AlertChannels is alert.ChannelStore.AlertChannels.
func (s *Notices) AlertChannels(ctx context.Context) ([]alert.Channel, error) {
	return alertChannels.List(ctx, s.db, "store.AlertChannels", `ORDER BY id`)
}

// PutAlertChannel is alert.ChannelStore.PutAlertChannel.
func (s *Notices) PutAlertChannel(ctx context.Context, c alert.Channel, version int64, now time.Time, e audit.Event) error {
	c.Failed, c.Words, c.Reason = "", "", ""
	return auditdb.Write(ctx, s.db, e, now, func(t *sqldb.Tx) error {
		if version == 0 {
			return one(alertChannels.Put(t, &c, `ON CONFLICT DO NOTHING`))
		}
		return one(t.Exec(`UPDATE alert_channels SET way = $1, address = $2, language = $3, enabled = $4, kinds = $5, severity = $6, sealed = $7, last4 = $8, version = $9, failed = '', words = '', reason = '',
			attempts = 0, next_at = 0 WHERE id = $10 AND version = $11`, string(c.Way), c.Address, c.Language, c.On, joined(c.Kinds), string(c.Least), sqldb.NotNil(c.Sealed), c.Last4, c.Version, c.ID, version))
	})
}

// DropAlertChannel is alert.ChannelStore.DropAlertChannel.
func (s *Notices) DropAlertChannel(ctx context.Context, id string, version int64, now time.Time, e audit.Event) error {
	return auditdb.Write(ctx, s.db, e, now, func(t *sqldb.Tx) error {
		if err := one(t.Exec(`DELETE FROM alert_channels WHERE id = $1 AND version = $2`, id, version)); err != nil {
			return err
		}
		_, err := t.Exec(`DELETE FROM alert_messages WHERE channel = $1 AND state = 'waiting'`, id)
		return err
	})
}

// RewrapAlertChannel is alert.ChannelStore.RewrapAlertChannel.
func (s *Notices) RewrapAlertChannel(ctx context.Context, id string, from, to []byte) (bool, error) {
	n, err := s.db.Exec(ctx, `UPDATE alert_channels SET sealed = $3 WHERE id = $1 AND sealed = $2`, id, from, to)
	return n == 1, err
}

// OpenIncidents is alert.IncidentStore.OpenIncidents.
func (s *Notices) OpenIncidents(ctx context.Context) ([]alert.Incident, error) {
	return incidents.List(ctx, s.db, "store.OpenIncidents", `WHERE ended_at IS NULL ORDER BY id`)
}

// ApplyChanges is alert.IncidentStore.ApplyChanges.
func (s *Notices) ApplyChanges(ctx context.Context, changes []alert.Change, now time.Time) (written int, err error) {
	if len(changes) == 0 {
		return 0, nil
	}
	err = s.db.Write(ctx, func(t *sqldb.Tx) error {
		written = 0
		channels, err := alertChannels.Rows(t, `WHERE enabled = $1`, true)
		for i := 0; i < len(changes) && err == nil; i++ {
			c := changes[i]
			var done bool
			if done, err = applyChange(t, &c, now); err != nil || !done || c.What == "" {
				continue
			}
			var told []string
			if told, err = sqldb.All(t, sqldb.Only[string], `SELECT DISTINCT channel FROM alert_messages WHERE incident = $1`, c.ID); err != nil {
				break
			}
			for j := range channels {
				ch := &channels[j]
				if c.What == alert.Over && !slices.Contains(told, ch.ID) || c.What != alert.Over && !ch.Wants(&c.Incident) {
					continue
				}
				if _, err = t.Exec(`INSERT INTO alert_messages (incident, channel, what, written_at, state) VALUES ($1, $2, $3, $4, 'waiting') ON CONFLICT DO NOTHING`, c.ID, ch.ID, string(c.What), now.UnixMicro()); err != nil {
					break
				}
				written++
			}
		}
		return err
	})
	return written, err
}

// applyChange reports whether another node has not made the change meanwhile.
func applyChange(t *sqldb.Tx, c *alert.Change, now time.Time) (done bool, err error) {
	var n int64
	if c.New {
		c.ID = fmt.Sprintf("al_%014x%s", now.UnixMicro(), rand.Text()[:6])
		n, err = incidents.Put(t, &c.Incident, `ON CONFLICT DO NOTHING`)
		return n == 1, err
	}
	n, err = t.Exec(`UPDATE alert_incidents SET seen_at = $1, fine_at = $2, said_at = $3, ended_at = $4, why = $5, value = $6, most = $7, failed = $8, calls = $9, minutes = $10, detail = $11
		WHERE id = $12 AND ended_at IS NULL AND said_at = $13`,
		c.SeenAt.UnixMicro(), sqldb.Micros(c.FineAt), c.SaidAt.UnixMicro(), sqldb.Micros(c.EndedAt), string(c.Why), c.Value, c.Limit, c.Failed, c.Calls, c.Minutes, c.Detail, c.ID, c.Since.UnixMicro())
	return n == 1, err
}

// Incidents is alert.IncidentStore.Incidents.
func (s *Notices) Incidents(ctx context.Context, before string, n int) ([]alert.Reported, error) {
	list, err := incidents.List(ctx, s.db, "store.Incidents", `WHERE $1 = '' OR id < $1 ORDER BY id DESC LIMIT $2`, before, n)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	out, at := make([]alert.Reported, len(list)), map[string]*alert.Reported{}
	for i := range list {
		out[i].Incident = list[i]
		at[list[i].ID] = &out[i]
	}
	var id string
	_, err = sqldb.List(ctx, s.db, "store.Incidents", func(row sqldb.Scanner) (m alert.Said, err error) {
		var written int64
		var sent = sqldb.Micros(time.Time{})
		var state string
		if err = row.Scan(&id, &m.Channel, &m.What, &written, &state, &sent); err != nil {
			return m, err
		}
		m.At, m.SentAt, m.Summed, m.Dropped = time.UnixMicro(written).UTC(), sqldb.Moment(sent), state == "summed", state == "dropped"
		if one := at[id]; one != nil {
			one.Said = append(one.Said, m)
		}
		return m, nil
	}, `SELECT incident, channel, what, written_at, state, sent_at FROM alert_messages WHERE incident BETWEEN $1 AND $2 ORDER BY written_at, channel, what`, list[len(list)-1].ID, list[0].ID)
	return out, err
}

// SweepIncidents is alert.IncidentStore.SweepIncidents.
func (s *Notices) SweepIncidents(ctx context.Context, before time.Time, n int) (gone int, err error) {
	err = s.db.Write(ctx, func(t *sqldb.Tx) error {
		ids, err := sqldb.All(t, sqldb.Only[string], `SELECT id FROM alert_incidents WHERE ended_at < $1 ORDER BY ended_at LIMIT $2`, before.UnixMicro(), n)
		gone = len(ids)
		for _, id := range ids {
			if _, err := t.Exec(`DELETE FROM alert_messages WHERE incident = $1`, id); err != nil {
				return err
			}
			if _, err := t.Exec(`DELETE FROM alert_incidents WHERE id = $1`, id); err != nil {
				return err
			}
		}
		return err
	})
	return gone, err
}

// mostWaiting is how many messages one claim has.
const mostWaiting = 200

// ClaimAlerts is alert.PostStore.ClaimAlerts. Two nodes that find the same channel due meet at its lock, and the second leaves it.
func (s *Notices) ClaimAlerts(ctx context.Context, now, until time.Time) (w *alert.Work, err error) {
	const due = `enabled = $2 AND failed = '' AND next_at <= $1 AND leased_until <= $1 AND EXISTS (SELECT 1 FROM alert_messages m WHERE m.channel = alert_channels.id AND m.state = 'waiting')`
	var some bool // asked first, because most of the time nothing is due and no transaction is needed
	err = s.db.Read(ctx, &some, `SELECT EXISTS (SELECT 1 FROM alert_channels WHERE `+due+`)`, now.UnixMicro(), true)
	if err != nil || !some {
		return nil, sqldb.Failure("store.ClaimAlerts", err)
	}
	err = s.db.Write(ctx, func(t *sqldb.Tx) error {
		w = nil
		ids, err := sqldb.All(t, sqldb.Only[string], `UPDATE alert_channels SET leased_until = $3, attempts = attempts + 1, fence = fence + 1
			WHERE `+due+` AND id = (SELECT id FROM alert_channels WHERE `+due+` ORDER BY next_at, id LIMIT 1) RETURNING id`, now.UnixMicro(), true, until.UnixMicro())
		if err != nil || len(ids) == 0 {
			return err
		}
		w = &alert.Work{}
		if w.Channel, err = alertChannels.Row(t, `WHERE id = $1`, ids[0]); err != nil {
			return err
		}
		if err = t.Row(`SELECT attempts, fence FROM alert_channels WHERE id = $1`, w.ID).Scan(&w.Attempts, &w.Fence); err != nil {
			return err
		}
		if w.Waiting, err = sqldb.All(t, scanMessage, `SELECT `+incidents.Of("i")+`, m.what, m.written_at FROM alert_messages m JOIN alert_incidents i ON i.id = m.incident
			WHERE m.channel = $1 AND m.state = 'waiting' ORDER BY m.written_at, m.incident, m.what LIMIT $2`, w.ID, mostWaiting); err != nil {
			return err
		}
		w.Sent, err = sqldb.All(t, func(row sqldb.Scanner) (time.Time, error) {
			micro, err := sqldb.Only[int64](row)
			return time.UnixMicro(micro).UTC(), err
		}, `SELECT DISTINCT sent_at FROM alert_messages WHERE channel = $1 AND sent_at > $2`, w.ID, now.Add(-time.Hour).UnixMicro())
		return err
	})
	if err != nil {
		return nil, err
	}
	return w, nil
}

func scanMessage(row sqldb.Scanner) (m alert.Message, err error) {
	var at int64
	m.Incident, err = incidents.ScanWith(row, &m.What, &at)
	m.At = time.UnixMicro(at).UTC()
	return m, err
}

// EndAlerts is alert.PostStore.EndAlerts.
func (s *Notices) EndAlerts(ctx context.Context, w *alert.Work, o *alert.Outcome) (done bool, err error) {
	failed := failure(&o.Answer)
	err = s.db.Write(ctx, func(t *sqldb.Tx) error {
		done = false
		n, err := t.Exec(`UPDATE alert_channels SET leased_until = 0, next_at = $4, attempts = CASE WHEN $5 = 1 THEN attempts ELSE 0 END WHERE id = $1 AND fence = $2 AND leased_until > $3`,
			w.ID, w.Fence, 0, o.NextAt.UnixMicro(), flag(len(o.Parts) > 0 && !o.Sent))
		if err != nil || n == 0 {
			return err
		}
		done = true
		if len(o.Parts) > 0 { // what a receiver said of what an operator has changed meanwhile counts no more
			if _, err = t.Exec(`UPDATE alert_channels SET failed = $3, words = $4, reason = $5 WHERE id = $1 AND version = $2`, w.ID, w.Version, failed, o.Words, string(o.Reason)); err != nil {
				return err
			}
			if err = moveChannel(t, w.ID, w.Address, o.Address, o.At); err != nil {
				return err
			}
		}
		if o.Sent {
			if _, err = t.Exec(`UPDATE alert_channels SET sent_at = $2 WHERE id = $1`, w.ID, o.At.UnixMicro()); err != nil {
				return err
			}
			state := "sent"
			if o.Summary {
				state = "summed"
			}
			if err = endMessages(t, w.ID, o.Parts, state, o.At); err != nil {
				return err
			}
		}
		return endMessages(t, w.ID, o.Dropped, "dropped", time.Time{})
	})
	return done && err == nil, err
}

// failure is what a channel has of a receiver that refused for good.
func failure(a *alert.Answer) string {
	if !a.Failed {
		return ""
	}
	return cmp.Or(a.Reason.Sentence(a.Words), "refused")
}

func joined(kinds []alert.Kind) string {
	var b strings.Builder
	for i, k := range kinds {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(string(k))
	}
	return b.String()
}

func flag(set bool) int {
	if set {
		return 1
	}
	return 0
}

func endMessages(t *sqldb.Tx, channel string, list []alert.Message, state string, sent time.Time) error {
	for i := range list {
		m := &list[i]
		if _, err := t.Exec(`UPDATE alert_messages SET state = $5, sent_at = $6 WHERE incident = $1 AND channel = $2 AND what = $3 AND written_at = $4 AND state = 'waiting'`,
			m.Incident.ID, channel, string(m.What), m.At.UnixMicro(), state, sqldb.Micros(sent)); err != nil {
			return err
		}
	}
	return nil
}

// moveChannel gives a channel the address that its receiver has named, unless an operator has changed it meanwhile.
func moveChannel(t *sqldb.Tx, id, from, to string, now time.Time) error {
	if to == "" || to == from {
		return nil
	}
	n, err := t.Exec(`UPDATE alert_channels SET address = $3 WHERE id = $1 AND address = $2`, id, from, to)
	if err != nil || n == 0 {
		return err
	}
	return auditdb.Record(t, audit.Event{Actor: audit.Actor{Name: "receiver"}, Action: audit.AlertChannelChanged, Target: id, Before: from, After: to}, now)
}

// NoteAlertTest is alert.PostStore.NoteAlertTest.
func (s *Notices) NoteAlertTest(ctx context.Context, c *alert.Channel, a *alert.Answer, now time.Time, e audit.Event) error {
	return auditdb.Write(ctx, s.db, e, now, func(t *sqldb.Tx) (err error) {
		switch {
		case a.Sent:
			_, err = t.Exec(`UPDATE alert_channels SET failed = '', words = '', reason = '', sent_at = $2, attempts = 0, next_at = 0 WHERE id = $1`, c.ID, now.UnixMicro())
		case a.Failed:
			_, err = t.Exec(`UPDATE alert_channels SET failed = $2, words = $3, reason = $4 WHERE id = $1`, c.ID, failure(a), a.Words, string(a.Reason))
		default:
			_, err = t.Exec(`UPDATE alert_channels SET words = $2, reason = $3 WHERE id = $1`, c.ID, a.Words, string(a.Reason))
		}
		if err != nil {
			return err
		}
		return moveChannel(t, c.ID, c.Address, a.Address, now)
	})
}
