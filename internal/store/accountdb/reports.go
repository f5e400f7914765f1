package accountdb

import (
	"context"
	"fmt"
	"strings"
	"time"

	"weir/internal/agent"
	"weir/internal/store/sqldb"
)

var _ agent.Reports = (*Agents)(nil)

// counted are the columns of counts, in their order.
var counted = [agent.Counts]string{"edits_accepted", "edits_rejected", "tools_accepted", "tools_rejected", "lines_added", "lines_removed", "commits", "pull_requests", "user_ms", "program_ms"}

const reportFields = 5 // before the counts

// addReport inserts a report, or adds to it: $1 to $5 are its fields, then come what is added and what is the least, by turns.
var addReport = func() string {
	var first, sums []string
	for i, name := range counted {
		add, least := bigint(reportFields+1+2*i), bigint(reportFields+2+2*i)
		first = append(first, fmt.Sprintf("CASE WHEN %s > %s THEN %s ELSE %s END", add, least, add, least))
		sums = append(sums, fmt.Sprintf("%s = CASE WHEN agent_reports.%s + %s > %s THEN agent_reports.%s + %s ELSE %s END", name, name, add, least, name, add, least))
	}
	return `INSERT INTO agent_reports (user_id, session, client, first_at, last_at, ` + strings.Join(counted[:], ", ") + `)
		SELECT u.id, $2, $3, ` + bigint(4) + `, ` + bigint(5) + `, ` + strings.Join(first, ", ") + ` FROM users u WHERE u.id = $1 AND NOT u.disabled
		ON CONFLICT (user_id, session) DO UPDATE SET client = CASE WHEN $3 = '' THEN agent_reports.client ELSE $3 END, last_at = ` + bigint(5) + `, ` + strings.Join(sums, ", ")
}()

// bigint is a parameter that PostgreSQL would take for a text.
func bigint(n int) string { return fmt.Sprintf("CAST($%d AS BIGINT)", n) }

// AddReports is agent.Reports.AddReports.
func (s *Agents) AddReports(ctx context.Context, all []agent.Change, most int) error {
	return s.db.Write(ctx, func(t *sqldb.Tx) error {
		users := map[string]bool{}
		for i := range all {
			c := &all[i]
			at := c.At.UnixMicro()
			args := []any{c.User, c.Session, c.Client, at, at}
			for j := range c.Add {
				args = append(args, c.Add[j], c.Least[j])
			}
			if _, err := t.Exec(addReport, args...); err != nil {
				return err
			}
			users[c.User] = true
		}
		for user := range users {
			if _, err := t.Exec(`DELETE FROM agent_reports WHERE user_id = $1 AND session IN (SELECT session FROM agent_reports WHERE user_id = $1 ORDER BY last_at DESC, session LIMIT 1000000 OFFSET $2)`, user, most); err != nil {
				return err
			}
		}
		return nil
	})
}

// ReportOf is agent.Reports.ReportOf.
func (s *Agents) ReportOf(ctx context.Context, user, session string) (r agent.Report, err error) {
	r.User, r.Session = user, session
	err = s.db.Find(ctx, func(row sqldb.Scanner) error {
		var first, last int64
		into := []any{&r.Client, &first, &last}
		for i := range r.Sums {
			into = append(into, &r.Sums[i])
		}
		err := row.Scan(into...)
		r.FirstAt, r.LastAt = time.UnixMicro(first).UTC(), time.UnixMicro(last).UTC()
		return err
	}, `SELECT client, first_at, last_at, `+strings.Join(counted[:], ", ")+` FROM agent_reports WHERE user_id = $1 AND session = $2`, user, session)
	return r, sqldb.NoneOf("store.ReportOf", "report of this session", err)
}
