package storetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/ledger"
)

// Raw is a store with the database under it.
type Raw struct {
	Store interface {
		PeopleStore
		ledger.Store
	}
	Columns [][3]string // table, column, and its type as the database writes it
	Exec    func(text string) error
	Count   func(text string) (int64, error)
	Bytes   func(hex string) string    // a literal of bytes
	Text    func(column string) string // bytes as text
}

const (
	personal = "zzpersonal" // in every text of the user
	ofTwo    = "usr_forgotten"
)

// keptTables have rows of users that are not deleted, because they explain money. In those with a list only these columns are emptied.
var keptTables = map[string][]string{
	"users": {"name", "preferences"}, "api_keys": {"name", "label", "previous_label", "allowed_ips", "preferences"}, "payments": {"email", "method_title"}, "files": {"name"},
	"generations": {}, "usage_daily": {}, "usage_hourly": {}, "usage_groups": {}, "usage_taxes": {}, "invoices": {}, "invoice_buyers": {}, "invoice_transfers": {}, "invoice_acts": {}, "voucher_redemptions": {}, "payment_refunds": {},
	"video_jobs":  {}, // their videos are deleted by the next step, and they themselves with all jobs some time after their end
	"video_slots": {}, "notify_accounts": {},
}

// states are the values that a row needs to have ended.
var states = map[string]string{
	"payments.state": "canceled", "payment_rules.state": "active", "batches.state": "completed", "batches.shape": "requests", "webhook_deliveries.state": "delivered", "responses.status": "completed",
	"provider_keys.placement": "before", "tokens.kind": "reset",
}

// Forgetting fills each table that has rows of users for two of them, forgets one, and looks for what is left.
func Forgetting(t *testing.T, r Raw) {
	t.Helper()
	for _, u := range []string{ofTwo, "usr_stays"} {
		n := account.User{ID: u, Name: personal, Wallet: strings.Replace(u, "usr", "wal", 1), Role: apikey.User, CreatedAt: at}
		ok(t, r.Store.CreateUser(t.Context(), n, account.CreatedEvent(&n, audit.Actor{})))
		for _, table := range r.tables() {
			if columns, kept := keptTables[table]; table != "users" && (!kept || len(columns) > 0) {
				r.fill(t, table, u)
			}
		}
	}
	if _, err := ledger.Credit(t.Context(), r.Store, ledger.TopUp{Wallet: "wal_forgotten", Source: "test", ExternalID: "1", Amount: 1000}, at); err != nil {
		t.Fatal(err)
	}
	before := r.found(t, "usr_stays")
	ok(t, r.Store.ForgetUser(t.Context(), ofTwo, at.Add(time.Hour), audit.Event{Action: audit.UserForgotten, Target: ofTwo}))
	for column := range r.found(t, ofTwo) {
		t.Errorf("%s still has what is personal", column)
	}
	after := r.found(t, "usr_stays")
	for column, n := range before {
		if after[column] != n {
			t.Errorf("%s of another user had %d rows, and has %d", column, n, after[column])
		}
	}
	u, err := r.Store.UserByID(t.Context(), ofTwo)
	if err != nil || !u.Disabled || u.Name != "deleted" || u.Wallet != "wal_forgotten" {
		t.Errorf("%+v, %v", u, err)
	}
	report, err := ledger.Verify(t.Context(), r.Store, "", ledger.Anchor{}, time.Time{})
	if err != nil || !report.OK() {
		t.Errorf("the ledger does not verify: %+v, %v", report, err)
	}
	wantKind(t, r.Store.ForgetUser(t.Context(), "usr_none", at, audit.Event{}), fault.NotFound)
	last := account.User{ID: "usr_admin", Name: "a", Wallet: "wal_admin", Role: apikey.Administrator, CreatedAt: at}
	ok(t, r.Store.CreateUser(t.Context(), last, audit.Event{}))
	wantKind(t, r.Store.ForgetUser(t.Context(), last.ID, at, audit.Event{}), fault.Conflict)
	ok(t, r.Exec(`UPDATE payments SET state = 'pending' WHERE account = 'usr_stays'`))
	wantKind(t, r.Store.ForgetUser(t.Context(), "usr_stays", at, audit.Event{}), fault.Conflict)
}

// owner is the column that names the user of a table's rows, "" none.
func (r *Raw) owner(table string) string {
	for _, c := range r.Columns {
		if c[0] == table && (c[1] == "user_id" || c[1] == "account" && !slices.Contains([]string{"entries"}, table)) {
			return c[1]
		}
	}
	if table == "users" {
		return "id"
	}
	return ""
}

func (r *Raw) tables() (all []string) {
	for _, c := range r.Columns {
		if !slices.Contains(all, c[0]) && r.owner(c[0]) != "" {
			all = append(all, c[0])
		}
	}
	return all
}

// fill adds a row whose texts are all personal.
func (r *Raw) fill(t *testing.T, table, user string) {
	t.Helper()
	var names, values []string
	for _, c := range r.Columns {
		if c[0] != table {
			continue
		}
		value := "0"
		switch kind := strings.ToLower(c[2]); {
		case c[1] == r.owner(table):
			value = "'" + user + "'"
		case states[table+"."+c[1]] != "":
			value = "'" + states[table+"."+c[1]] + "'"
		case c[1] == "wallet":
			value = "'" + strings.Replace(user, "usr", "wal", 1) + "'"
		case kind == "text":
			value = "'" + personal + " " + table + " " + c[1] + " " + user + "'"
		case kind == "blob" || kind == "bytea":
			value = r.Bytes(fmt.Sprintf("%x", personal))
		case kind == "boolean":
			value = "FALSE"
		case strings.HasPrefix(c[1], "expires"), c[1] == "amount":
			value = "9000000000000000"
		}
		names, values = append(names, c[1]), append(values, value)
	}
	if err := r.Exec("INSERT INTO " + table + " (" + strings.Join(names, ", ") + ") VALUES (" + strings.Join(values, ", ") + ")"); err != nil {
		t.Fatalf("%s: %v", table, err)
	}
}

// found counts the personal rows of a user by column; of tables that are kept only the columns that are emptied.
func (r *Raw) found(t *testing.T, user string) map[string]int64 {
	t.Helper()
	found := map[string]int64{}
	for _, c := range r.Columns {
		columns, kept := keptTables[c[0]]
		kind, owner := strings.ToLower(c[2]), r.owner(c[0])
		if owner == "" || kept && !slices.Contains(columns, c[1]) {
			continue
		}
		text := c[1]
		switch kind {
		case "blob", "bytea":
			text = r.Text(c[1])
		case "text":
		default:
			continue
		}
		n, err := r.Count("SELECT COUNT(*) FROM " + c[0] + " WHERE " + owner + " = '" + user + "' AND " + text + " LIKE '%" + personal + "%'")
		if err != nil {
			t.Fatal(err)
		}
		if n > 0 {
			found[c[0]+"."+c[1]] = n
		}
	}
	return found
}
