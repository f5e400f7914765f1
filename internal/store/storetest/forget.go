package storetest

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/store"
)

// Raw is a store with the database under it.
type Raw struct {
	Store   *store.Store
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
	"generations": {}, "usage_daily": {}, "usage_hourly": {}, "usage_groups": {}, "usage_taxes": {}, "tag_days": {}, "tag_usage": {}, "sales": {}, "sales_parts": {}, "call_failures": {}, "invoices": {}, "invoice_buyers": {}, "invoice_transfers": {}, "invoice_acts": {}, "voucher_redemptions": {}, "payment_refunds": {},
	"video_jobs":  {}, // their videos are deleted by the next step, and they themselves with all jobs some time after their end
	"seeing":      {}, // ids alone; the next request of its session or the next sweep deletes it, and says so in the audit chain
	"video_slots": {}, "notify_accounts": {}, "wallet_zones": {},
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
		ok(t, r.Store.Accounts.CreateUser(t.Context(), n, account.CreatedEvent(&n, audit.Actor{})))
		ok(t, r.Exec(fmt.Sprintf("INSERT INTO organizations (id, creator, sees, created_at) VALUES ('%s', 'usr_other', 'all', 0)", u))) // to be a member of
		r.fill(t, "org_groups", u)                                                                                                      // to have members
		for _, table := range r.tables() {
			if columns, kept := keptTables[table]; table != "users" && table != "org_groups" && (!kept || len(columns) > 0) {
				r.fill(t, table, u)
			}
		}
	}
	if _, err := ledger.Credit(t.Context(), r.Store.Ledger, ledger.TopUp{Wallet: "wal_forgotten", Source: "test", ExternalID: "1", Amount: 1000}, at); err != nil {
		t.Fatal(err)
	}
	before := r.found(t, "usr_stays")
	ok(t, r.Store.Accounts.ForgetUser(t.Context(), ofTwo, at.Add(time.Hour), audit.Event{Action: audit.UserForgotten, Target: ofTwo}))
	for column := range r.found(t, ofTwo) {
		t.Errorf("%s still has what is personal", column)
	}
	after := r.found(t, "usr_stays")
	for column, n := range before {
		if after[column] != n {
			t.Errorf("%s of another user had %d rows, and has %d", column, n, after[column])
		}
	}
	u, err := r.Store.Accounts.UserByID(t.Context(), ofTwo)
	if err != nil || !u.Disabled || u.Name != "deleted" || u.Wallet != "wal_forgotten" {
		t.Errorf("%+v, %v", u, err)
	}
	report, err := ledger.Verify(t.Context(), r.Store.Ledger, "", ledger.Anchor{}, time.Time{})
	if err != nil || !report.OK() {
		t.Errorf("the ledger does not verify: %+v, %v", report, err)
	}
	wantKind(t, r.Store.Accounts.ForgetUser(t.Context(), "usr_none", at, audit.Event{}), fault.NotFound)
	last := account.User{ID: "usr_admin", Name: "a", Wallet: "wal_admin", Role: apikey.Administrator, CreatedAt: at}
	ok(t, r.Store.Accounts.CreateUser(t.Context(), last, audit.Event{}))
	wantKind(t, r.Store.Accounts.ForgetUser(t.Context(), last.ID, at, audit.Event{}), fault.Conflict)
	ok(t, r.Exec(`UPDATE payments SET state = 'pending' WHERE account = 'usr_stays'`))
	wantKind(t, r.Store.Accounts.ForgetUser(t.Context(), "usr_stays", at, audit.Event{}), fault.Conflict)
}

// ForgettingInTheChain forgets people whom the audit chain names, in rows of this version and of older ones, and looks for what is left and whether
// the chain and the ledger verify.
func ForgettingInTheChain(t *testing.T, r Raw) {
	t.Helper()
	const address, host, other = "anna@example.org", "203.0.113.77", "198.51.100.4"
	said := audit.Event{Actor: audit.Actor{Name: "user:" + ofTwo, From: host}, Action: audit.SignedIn, Target: ofTwo, After: "password"}
	old := audit.Row{Event: said, Seq: 1, At: at}
	ok(t, r.Exec(fmt.Sprintf("INSERT INTO audit (seq, at, actor, from_addr, action, target, before, after, prev, hash) VALUES (1, %d, '%s', '%s', '%s', '%s', '', 'password', '', '%s')",
		at.UnixMicro(), said.Name, said.From, said.Action, said.Target, hashedBefore(&old))))
	for _, u := range []string{ofTwo, "usr_stays"} {
		n := account.User{ID: u, Name: personal, Wallet: strings.Replace(u, "usr", "wal", 1), Role: apikey.User, CreatedAt: at}
		ok(t, r.Store.Accounts.CreateUser(t.Context(), n, account.CreatedEvent(&n, audit.Actor{Name: "user:" + u, From: host})))
	}
	if _, err := ledger.Credit(t.Context(), r.Store.Ledger, ledger.TopUp{Wallet: "wal_forgotten", Source: "test", ExternalID: "1", Amount: 1000, Actor: audit.Actor{Name: "user:" + ofTwo, From: host}}, at); err != nil {
		t.Fatal(err)
	}
	person, stays := audit.Actor{Name: "user:" + ofTwo, From: host}, audit.Actor{Name: "user:usr_stays", From: other}
	for _, e := range []audit.Event{
		{Actor: person, Action: audit.UserProfile, Target: ofTwo, Before: "name Anna", After: "name Anna P."},
		{Actor: stays, Action: audit.Invited, Target: "tok_1", After: "user " + address}, {Actor: stays, Action: audit.Invited, Target: "tok_2", After: "user susanna@example.org"},
		{Actor: stays, Action: audit.UserDisabled, Target: ofTwo, After: "disabled"}, {Actor: stays, Action: audit.UserProfile, Target: "usr_stays", After: "name Boris"},
		{Actor: person, Action: audit.AddressMoved, Target: ofTwo, Before: address, After: "anna.new@example.org"}, {Actor: stays, Action: audit.Invited, Target: "tok_3", After: "user anna.new@example.org"},
		{Actor: audit.Actor{Name: "key:key_gone", From: host}, Action: audit.PresetSaved, Target: ofTwo + " @preset/a", After: "9 bytes"},
		{Actor: stays, Action: audit.KeyCreated, Target: "key_gone", After: "management key sk...abc of " + ofTwo + ", no limit"}, {Actor: audit.Actor{Name: "key:key_gone", From: host}, Action: audit.InvoiceMade, Target: "inv_1", After: "1, INN 7707083893"},
	} {
		ok(t, r.Store.Accounts.Audit(t.Context(), e, at))
	}
	ok(t, r.Store.Accounts.ForgetUser(t.Context(), ofTwo, at.Add(time.Hour), audit.Event{Actor: person, Action: audit.UserForgotten, Target: ofTwo}))
	for _, u := range []string{"usr_later", "usr_stays"} { // another erasure leaves the first one as it is
		n := account.User{ID: "usr_later", Name: "a", Wallet: "wal_later", Role: apikey.User, CreatedAt: at}
		if u == n.ID {
			ok(t, r.Store.Accounts.CreateUser(t.Context(), n, account.CreatedEvent(&n, stays)))
			ok(t, r.Store.Accounts.ForgetUser(t.Context(), u, at, audit.Event{Actor: stays, Action: audit.UserForgotten, Target: u}))
		}
	}
	for text, want := range map[string]int64{"user " + address: 0, "anna.new": 0, "name Anna": 0, "sk...abc": 0, "user susanna": 1, "name Boris": 1, " rubles, topup": 1, "INN 7707083893": 1, "wal_forgotten": 1} {
		n, err := r.Count("SELECT COUNT(*) FROM audit WHERE after LIKE '%" + text + "%' OR before LIKE '%" + text + "%'")
		if err != nil || n != want {
			t.Errorf("%q is in %d rows of the chain, want %d: %v", text, n, want, err)
		}
	}
	if n, err := r.Count("SELECT COUNT(*) FROM audit WHERE from_addr = '" + host + "'"); err != nil || n != 1 { // of the one who stays
		t.Errorf("the network address is in %d rows: %v", n, err)
	}
	verified := func() (wrong string) {
		t.Helper()
		report, err := ledger.Verify(t.Context(), r.Store.Ledger, "", ledger.Anchor{}, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range report.Checks {
			if !c.OK {
				wrong += c.Name + ": " + c.Detail + " "
			}
		}
		return wrong
	}
	if wrong := verified(); wrong != "" {
		t.Errorf("the ledger does not verify: %s", wrong)
	}
	for name, text := range map[string]string{
		"an action": "UPDATE audit SET action = 'x' WHERE seq = 1", "a text again": "UPDATE audit SET after = 'x' WHERE erased > 0", "erased for the last row": "UPDATE audit SET erased = 1 WHERE erased = 0",
	} {
		if err := r.Exec(text); err == nil || !strings.Contains(err.Error(), "never") {
			t.Errorf("%s: %v", name, err)
		}
	}
	ok(t, r.Exec("UPDATE audit SET erased = 90, salt = '', from_addr = '', after = '' WHERE after LIKE '%Boris%'"))
	if wrong := verified(); !strings.Contains(wrong, "audit chain") {
		t.Errorf("a row that was erased without a word verifies: %s", wrong)
	}
}

// hashedBefore is the hash of a row as older versions made it.
func hashedBefore(r *audit.Row) string {
	var text strings.Builder
	for _, field := range []string{r.Prev, strconv.FormatInt(r.Seq, 10), strconv.FormatInt(r.At.UnixMicro(), 10), r.Name, r.From, r.Action, r.Target, r.Before, r.After} {
		fmt.Fprintf(&text, "%d:%s", len(field), field)
	}
	return fmt.Sprintf("%x", sha256.Sum256([]byte(text.String())))
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
		case c[1] == "org":
			value = "'" + user + "'"
		case c[1] == "group_id":
			value = "'" + personal + " org_groups id " + user + "'"
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
