package accounts_test

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/internal/apikey"
	"weir/internal/app/apptest"
	"weir/internal/audit"
)

type operatorCall struct {
	ID        string
	Status    int
	Result    string
	Model     *string
	Cost      string
	KeyName   *string `json:"key_name"`
	Account   struct{ ID, Name string }
	Upstream  *string `json:"upstream_cost"`
	Margin    *string
	RequestID string `json:"request_id"`
	Metadata  any
	Attempts  any
	Words     []*string
}

type operatorCause struct {
	Code, Words, Call string
	Provider          *string
	ProviderName      *string `json:"provider_name"`
	Said              *string
	Errors, Reached   int
	Accounts          int
	Endpoints         int
}

// twoCallers are two people with calls: one answered, one that failed at its provider, and one that another model saved.
type twoCallers struct {
	*peopleDesk
	anna, boris *apptest.Owner
	ok, failed  *apptest.Answer // of Anna
	saved       *apptest.Answer // of Boris
}

func openCalls(t *testing.T) *twoCallers {
	t.Helper()
	d := &twoCallers{peopleDesk: openPeople(t)}
	d.anna, d.boris = d.gw.NewOwner(t, 100, apikey.NewKey{}), d.gw.NewOwner(t, 100, apikey.NewKey{})
	message := []any{map[string]any{"role": "user", "content": "Hello"}}
	d.ok = d.anna.Chat(t, map[string]any{"model": "test/next", "messages": message, "metadata": map[string]any{"patient": "Smith"}})
	d.failed = d.anna.Chat(t, map[string]any{"model": "test/u12-status-400", "messages": message})
	d.saved = d.boris.Chat(t, map[string]any{"models": []string{"test/u12-status-422", "test/next"}, "messages": message})
	return d
}

func idsOf(calls []operatorCall) string {
	ids := make([]string, len(calls))
	for i := range calls {
		ids[i] = calls[i].ID
	}
	return strings.Join(ids, " ")
}

// Operators find the call of a complaint by any of its ids, and read why it failed in the provider's own words.
func TestOperatorsFindCalls(t *testing.T) {
	t.Parallel()
	d := openCalls(t)
	list := func(query string) []operatorCall {
		t.Helper()
		return do[[]operatorCall](t, d.operator, 200, http.MethodGet, "/api/admin/calls?"+query, nil)
	}
	all := list("")
	if len(all) != 3 {
		t.Fatalf("%+v", all)
	}
	var failed operatorCall
	for _, c := range all {
		if c.Account.Name == "" || c.Margin != nil && c.Cost != "0" {
			t.Errorf("%+v", c)
		}
		if c.Status == 400 {
			failed = c
		}
	}
	for query, want := range map[string]int{
		"member=" + d.anna.User: 2, "member=" + d.boris.User: 1, "key=" + apikey.Hash(d.boris.Key): 1, "result=failed": 1, "status=400": 1, "status=418": 0, "model=test/next": 2, "model=test/none": 0, "provider=works": 2,
		"result=failed&member=" + d.boris.User: 0, "status=400&member=" + d.anna.User: 1, "status=400&member=" + d.boris.User: 0, "provider_key=fedcba987654": 0, "min_cost=1000": 0, "from=2020-01-01&to=2020-02-01": 0, "kind=completions": 3,
	} {
		if got := list(query); len(got) != want {
			t.Errorf("%s: %d calls, want %d", query, len(got), want)
		}
	}
	for _, query := range []string{"status=1000", "member=usr_none", "min_cost=x", "from=yesterday", "cursor=x", "provider_key=secret", "provider_key=0123456789AB"} {
		if got := d.operator.Do(t, http.MethodGet, "/api/admin/calls?"+query, nil); got.Status != 400 {
			t.Errorf("%s: %d %s", query, got.Status, got.Body)
		}
	}
	request := d.failed.Header.Get("X-Request-Id")
	for _, id := range []string{failed.ID, request} {
		c := do[operatorCall](t, d.operator, 200, http.MethodGet, "/api/admin/calls/"+id, nil)
		if c.ID != failed.ID || c.RequestID != request || c.Account.ID != d.anna.User || c.KeyName == nil || len(c.Words) != 1 || c.Words[0] == nil || *c.Words[0] != "The simulator was told to find this request bad." {
			t.Errorf("%s: %+v", id, c)
		}
	}
	for _, id := range []string{"gen-1772625600-0123456789abcdefghij", "req_0123456789abcdefghijklmn", "vj_none"} {
		do[any](t, d.operator, 404, http.MethodGet, "/api/admin/calls/"+id, nil)
	}
	ok := do[operatorCall](t, d.operator, 200, http.MethodGet, "/api/admin/calls/"+d.ok.Header.Get("X-Generation-Id"), nil)
	if ok.Metadata != nil || ok.Cost == "0" {
		t.Errorf("%+v", ok)
	}
	for _, path := range []string{"calls", "calls.csv", "calls/histogram"} {
		do[any](t, &apptest.Account{Gw: d.operator.Gw, Key: d.anna.Pages.Key}, 403, http.MethodGet, "/api/admin/"+path, nil)
	}
	d.counted(t)
	d.filed(t, all)
	do[any](t, d.anna.Pages, 404, http.MethodGet, "/api/admin/calls/"+failed.ID, nil)
	d.opened(t, failed.ID, 1)
	d.pages(t, all)
}

// counted shows that calls over time are those of the list, with what they brought where that is known.
func (d *twoCallers) counted(t *testing.T) {
	t.Helper()
	type sold struct {
		Upstream string `json:"upstream_cost"`
		Margin   string
	}
	type times struct {
		Bucket        string
		Calls, Failed []int
		All           int    `json:"total_calls"`
		Bad           int    `json:"total_failed"`
		Cost          string `json:"total_cost"`
		Earned        *sold
		Uncounted     []string
	}
	lately := "from=" + time.Now().UTC().AddDate(0, 0, -1).Format(time.DateOnly) // and not today: the calls may be from before midnight
	for query, want := range map[string]struct {
		calls, failed int
		bucket        string
		earned        bool
	}{
		lately: {3, 1, "hour", true}, "": {3, 1, "day", true}, "member=" + d.anna.User: {2, 1, "day", true}, "model=test/next": {2, 0, "day", true}, "result=failed": {1, 1, "day", true},
		"member=" + d.boris.User + "&" + lately: {1, 0, "hour", true}, "key=" + apikey.Hash(d.boris.Key): {1, 0, "day", false}, "kind=completions": {3, 1, "day", true}, "provider=works": {2, 0, "day", true},
		"status=400": {1, 1, "day", true}, "status=200&" + lately: {2, 0, "hour", true}, "status=418": {0, 0, "day", true}, "provider_key=fedcba987654": {0, 0, "day", true},
		"from=2020-01-01&to=2020-02-01": {0, 0, "day", true},
	} {
		got := do[times](t, d.operator, 200, http.MethodGet, "/api/admin/calls/histogram?"+query, nil)
		calls, failed := 0, 0
		for i := range got.Calls {
			calls, failed = calls+got.Calls[i], failed+got.Failed[i]
		}
		if got.All != want.calls || got.Bad != want.failed || calls != want.calls || failed != want.failed || got.Bucket != want.bucket || (got.Earned != nil) != want.earned {
			t.Errorf("%s: %+v, want %+v", query, got, want)
		}
	}
	for query, want := range map[string]string{
		"min_cost=1": "[min_cost]", "status=400&min_cost=1&member=" + d.anna.User: "[min_cost status]", "provider_key=fedcba987654&model=test/next": "[provider_key]", "key=(none)&status=400": "[status]",
	} {
		got := do[times](t, d.operator, 200, http.MethodGet, "/api/admin/calls/histogram?"+query, nil)
		if fmt.Sprint(got.Uncounted) != want || got.Calls == nil || len(got.Calls) != 0 || got.Earned != nil {
			t.Errorf("%s: %+v, want %s", query, got, want)
		}
	}
	for _, query := range []string{"status=1000", "min_cost=x", "provider_key=secret", "from=2020-01-01", "member=usr_none", "from=yesterday", "to=2020-01-01&from=2020-02-01"} {
		if got := d.operator.Do(t, http.MethodGet, "/api/admin/calls/histogram?"+query, nil); got.Status != 400 {
			t.Errorf("%s: %d %s", query, got.Status, got.Body)
		}
	}
}

// filed shows that the file has the rows of the list, with names, the provider's cost and the margin, and nothing that the client noted itself.
func (d *twoCallers) filed(t *testing.T, all []operatorCall) {
	t.Helper()
	file := func(query string) [][]string {
		t.Helper()
		a := d.operator.Do(t, http.MethodGet, "/api/admin/calls.csv?"+query, nil)
		rows, err := csv.NewReader(bytes.NewReader(a.Body)).ReadAll()
		if err != nil || a.Status != 200 || strings.Contains(string(a.Body), "Smith") {
			t.Fatalf("%d, %v: %s", a.Status, err, a.Body)
		}
		return rows
	}
	rows := file("")
	if len(rows) != 1+len(all) {
		t.Fatalf("%v", rows)
	}
	at := func(row []string, head string) string { return row[slices.Index(rows[0], head)] }
	for i, c := range all {
		row := rows[1+i]
		if at(row, "id") != c.ID || at(row, "user_name") != c.Account.Name || at(row, "cost_rub") != c.Cost || c.Margin != nil && (at(row, "margin_rub") != *c.Margin || at(row, "provider_cost_rub") != *c.Upstream) {
			t.Errorf("%v, want %+v", row, c)
		}
	}
	for query, want := range map[string]int{"status=400": 1, "member=" + d.boris.User: 1, "provider_key=fedcba987654": 0} {
		if got := file(query); len(got) != 1+want {
			t.Errorf("%s: %v", query, got)
		}
	}
	if got := d.operator.Do(t, http.MethodGet, "/api/admin/calls.csv?status=1000", nil); got.Status != 400 {
		t.Errorf("%d %s", got.Status, got.Body)
	}
}

// opened shows that looking at one call of another person is one line of the audit log, and the list none.
func (d *twoCallers) opened(t *testing.T, id string, want int) {
	t.Helper()
	n := 0
	for r, err := range d.gw.Node.Admin().Store.Accounts.AuditRows(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if r.Action == audit.CallOpened && r.Target == id {
			n++
			if r.After != d.anna.User || r.Name == "" {
				t.Errorf("%+v", r)
			}
		}
	}
	if n != want {
		t.Errorf("%d lines, want %d", n, want)
	}
}

// pages shows that pages follow one another, each call once.
func (d *twoCallers) pages(t *testing.T, all []operatorCall) {
	t.Helper()
	var got []operatorCall
	for cursor := ""; ; {
		page := apptest.Decode[struct {
			Data []operatorCall
			Next *string
		}](t, d.operator.Do(t, http.MethodGet, "/api/admin/calls?limit=1&cursor="+cursor, nil).Body)
		got = append(got, page.Data...)
		if page.Next == nil || len(got) > 9 {
			break
		}
		cursor = *page.Next
	}
	if idsOf(got) != idsOf(all) {
		t.Errorf("%s, want %s", idsOf(got), idsOf(all))
	}
}

// Causes of failures say how many reached clients, whom they affected, and what the provider said.
func TestOperatorsReadErrors(t *testing.T) {
	t.Parallel()
	d := openCalls(t)
	d.boris.Chat(t, map[string]any{"model": "test/u12-status-400", "messages": []any{map[string]any{"role": "user", "content": "Hello"}}})
	d.anna.Chat(t, map[string]any{"model": "test/u17", "messages": []any{map[string]any{"role": "user", "content": "Hello"}}})
	type answer struct {
		Errors, Reached int
		Causes          []operatorCause
	}
	got := do[answer](t, d.operator, 200, http.MethodGet, "/api/admin/errors", nil)
	if got.Errors != 4 || got.Reached != 3 || len(got.Causes) < 2 {
		t.Fatalf("%+v", got)
	}
	c := got.Causes[0]
	if c.Provider == nil || *c.Provider != "works" || *c.ProviderName != "Works" || c.Said == nil || c.Words == "" || c.Accounts != 2 || c.Errors < 2 {
		t.Errorf("%+v", c)
	}
	if last := do[operatorCall](t, d.operator, 200, http.MethodGet, "/api/admin/calls/"+c.Call, nil); last.ID != c.Call {
		t.Errorf("%+v", last)
	}
	type affected struct {
		Accounts []struct {
			Account struct{ ID, Name string }
			Errors  int
			Call    string
		}
		Endpoints []struct {
			Endpoint string
			Errors   int
		}
	}
	query := url.Values{"code": {c.Code}, "provider": {*c.Provider}, "words": {c.Words}}
	one := do[affected](t, d.operator, 200, http.MethodGet, "/api/admin/errors/one?"+query.Encode(), nil)
	if len(one.Accounts) != 2 || len(one.Endpoints) != c.Endpoints || one.Accounts[0].Account.Name == "" {
		t.Errorf("%+v", one)
	}
	sum := 0
	for _, a := range one.Accounts {
		sum += a.Errors
	}
	if sum != c.Errors {
		t.Errorf("%d errors of accounts, %d in all", sum, c.Errors)
	}
	if all := do[affected](t, d.operator, 200, http.MethodGet, "/api/admin/errors/one", nil); len(all.Accounts) != 2 || all.Accounts[0].Errors+all.Accounts[1].Errors != got.Errors {
		t.Errorf("%+v", all)
	}
	if none := do[affected](t, d.operator, 200, http.MethodGet, "/api/admin/errors/one?code=timeout", nil); len(none.Accounts) != 0 {
		t.Errorf("%+v", none)
	}
	for _, query := range []string{"/one?code=" + strings.Repeat("x", 400), "?hours=745"} {
		if got := d.operator.Do(t, http.MethodGet, "/api/admin/errors"+query, nil); got.Status != 400 {
			t.Errorf("%s: %d %s", query, got.Status, got.Body)
		}
	}
	do[any](t, &apptest.Account{Gw: d.operator.Gw, Key: d.anna.Pages.Key}, 403, http.MethodGet, "/api/admin/errors", nil)
	if text := fmt.Sprint(got); strings.Contains(text, "sk-") {
		t.Error(text)
	}
}
