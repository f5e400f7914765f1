package sqldb

import (
	"strconv"
	"strings"

	"weir/internal/apikey"
	"weir/internal/report"
)

// Conditions collects the parameters of a query and its conditions.
type Conditions struct {
	Text strings.Builder
	Args []any
}

// Add adds a condition; each ? in it becomes the number of a parameter.
func (c *Conditions) Add(text string, args ...any) {
	if c.Text.Len() > 0 {
		c.Text.WriteString(" AND ")
	}
	for _, a := range args {
		before, after, _ := strings.Cut(text, "?")
		c.Args = append(c.Args, a)
		c.Text.WriteString(before + "$" + strconv.Itoa(len(c.Args)))
		text = after
	}
	c.Text.WriteString(text)
}

// Where is the clause of all conditions, "" without any.
func (c *Conditions) Where() string {
	if c.Text.Len() == 0 {
		return ""
	}
	return " WHERE " + c.Text.String()
}

// Sees adds the condition that a column names a key of an organization that somebody sees.
func (c *Conditions) Sees(column, org string, s apikey.Sight) {
	if s.All() {
		return
	}
	text, args := `k.member = ?`, []any{org, s.Member}
	if s.Team != "" {
		text += ` OR k.member IN (SELECT m.user_id FROM org_members m WHERE m.org = ? AND m.team = ?) OR k.member IN (SELECT v.id FROM org_services v WHERE v.org = ? AND v.team = ?)`
		args = append(args, org, s.Team, org, s.Team)
	}
	c.Add(column+` IN (SELECT k.id FROM api_keys k WHERE k.user_id = ? AND (`+text+`))`, args...)
}

// Below adds the condition that a column names a key, or one that comes from it; "" adds none.
func (c *Conditions) Below(column, key string) {
	if key != "" {
		c.Add(column+` IN (WITH RECURSIVE below (id) AS (SELECT id FROM api_keys WHERE id = ? UNION ALL SELECT k.id FROM api_keys k JOIN below b ON k.parent = b.id AND k.parent <> '') SELECT id FROM below)`, key)
	}
}

// Equal adds a condition unless the value is "".
func (c *Conditions) Equal(column, value string) {
	switch value {
	case "":
	case report.Nothing:
		c.Add(column+" = ?", "")
	default:
		c.Add(column+" = ?", value)
	}
}
