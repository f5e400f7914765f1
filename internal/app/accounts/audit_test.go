package accounts_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"weir/internal/apikey"
	"weir/internal/app/apptest"
	"weir/internal/audit"
)

type auditRow struct {
	Seq                           int64
	Actor, Action, Target, Before string
	After, Hash                   string
	ActorName                     *string `json:"actor_name"`
	TargetName                    *string `json:"target_name"`
	From                          *string
}

type auditPage struct {
	Data  []auditRow
	Next  *string
	Chain struct {
		OK   bool
		Rows int64
		At   *string
	}
}

type auditCheck struct {
	OK     bool
	Rows   int64
	Mark   string
	Detail *string
}

// Operators read who changed what: each act is one row, found by who did it, by what was done and by whom it is about, and a file has the same rows.
func TestAuditIsRead(t *testing.T) {
	t.Parallel()
	d := openPeople(t)
	o := d.gw.NewOwner(t, 1, apikey.NewKey{})
	for range 2 {
		do[any](t, d.operator, 204, http.MethodPost, "/api/admin/users/"+o.User+"/block", nil)
		do[any](t, d.operator, 204, http.MethodPost, "/api/admin/users/"+o.User+"/unblock", nil)
	}
	page := func(query string) auditPage {
		t.Helper()
		got := d.operator.Do(t, http.MethodGet, "/api/admin/audit?"+query, nil)
		if got.Status != 200 {
			t.Fatalf("%s: %d %s", query, got.Status, got.Body)
		}
		return apptest.Decode[auditPage](t, got.Body)
	}
	acts := page("target=" + o.User + "&action=user.")
	if len(acts.Data) != 5 || acts.Data[0].Action != audit.UserEnabled || acts.Data[1].Action != audit.UserDisabled || acts.Data[4].Action != audit.UserCreated {
		t.Fatalf("%+v", acts.Data)
	}
	first := acts.Data[0]
	if !strings.HasPrefix(first.Actor, "key:key_") || first.ActorName == nil || first.TargetName == nil || first.From == nil {
		t.Errorf("%+v", first)
	}
	if by := page("who=" + strings.TrimPrefix(first.Actor, "key:") + "&action=user.disable"); len(by.Data) != 2 || by.Data[0] != acts.Data[1] && by.Data[0].Hash != acts.Data[1].Hash {
		t.Errorf("%+v", by.Data)
	}
	var all []auditRow
	for cursor := ""; ; {
		p := page("limit=3&cursor=" + cursor)
		all = append(all, p.Data...)
		if p.Next == nil {
			break
		}
		cursor = *p.Next
	}
	for i, r := range all {
		if r.Seq != int64(len(all)-i) {
			t.Fatalf("row %d of %d is %d", i, len(all), r.Seq)
		}
	}
	if got := page("to=2001-01-01"); len(got.Data) != 0 {
		t.Errorf("%+v", got.Data)
	}
	if got := page("from=2001-01-01&limit=100"); len(got.Data) != min(len(all), 100) {
		t.Errorf("%d rows of %d", len(got.Data), len(all))
	}
	for _, query := range []string{"cursor=x", "cursor=-1", "from=yesterday", "from=2026-01-02&to=2026-01-01", "who=" + strings.Repeat("x", 201), "action=" + strings.Repeat("x", 61)} {
		if got := d.operator.Do(t, http.MethodGet, "/api/admin/audit?"+query, nil); got.Status != 400 {
			t.Errorf("%.30s: %d %s", query, got.Status, got.Body)
		}
	}
	lines := strings.Split(strings.TrimSuffix(string(d.operator.Do(t, http.MethodGet, "/api/admin/audit/file?format=jsonl", nil).Body), "\n"), "\n")
	table := strings.Split(strings.TrimSuffix(string(d.operator.Do(t, http.MethodGet, "/api/admin/audit/file", nil).Body), "\r\n"), "\r\n")
	if len(lines) != len(all) || len(table) != len(all)+1 || !strings.HasPrefix(table[0], "seq,at_utc,actor,") {
		t.Fatalf("%d and %d lines of %d rows; %s", len(lines), len(table), len(all), table[0])
	}
	for i, r := range all {
		if got := apptest.Decode[auditRow](t, []byte(lines[i])); got.Seq != r.Seq || got.Hash != r.Hash || !strings.HasSuffix(table[i+1], r.Hash) {
			t.Errorf("%s\n%s\n%+v", lines[i], table[i+1], r)
		}
	}
	if got := d.operator.Do(t, http.MethodGet, "/api/admin/audit/file?format=xml", nil); got.Status != 400 {
		t.Errorf("%d", got.Status)
	}
	if got := o.Pages.Do(t, http.MethodGet, "/api/admin/audit", nil); got.Status != 404 { // not on this listener
		t.Errorf("%d", got.Status)
	}
}

// The check of the chain can be asked for. With the mark of an earlier check it finds that the log was rewritten.
func TestAuditIsVerified(t *testing.T) {
	t.Parallel()
	d := openPeople(t)
	verify := func(body any) auditCheck {
		t.Helper()
		return do[auditCheck](t, d.operator, 200, http.MethodPost, "/api/admin/audit/verify", body)
	}
	was := verify(map[string]any{})
	if !was.OK || was.Rows == 0 || was.Detail != nil || !strings.HasPrefix(was.Mark, strconv.FormatInt(was.Rows, 10)+":") {
		t.Fatalf("%+v", was)
	}
	got := apptest.Decode[auditPage](t, d.operator.Do(t, http.MethodGet, "/api/admin/audit", nil).Body)
	if !got.Chain.OK || got.Chain.Rows != was.Rows || got.Chain.At == nil {
		t.Errorf("%+v", got.Chain)
	}
	do[any](t, d.operator, 204, http.MethodPost, "/api/admin/users/"+d.gw.NewOwner(t, 1, apikey.NewKey{}).User+"/block", nil)
	if is := verify(map[string]any{"mark": was.Mark}); !is.OK || is.Rows <= was.Rows {
		t.Errorf("%+v", is)
	}
	other := strconv.FormatInt(was.Rows, 10) + ":" + strings.Repeat("0", 64)
	if is := verify(map[string]any{"mark": other}); is.OK || is.Detail == nil || !strings.Contains(*is.Detail, "not the row of the mark") {
		t.Errorf("%+v", is)
	}
	if is := apptest.Decode[auditPage](t, d.operator.Do(t, http.MethodGet, "/api/admin/audit", nil).Body); !is.Chain.OK { // a mark says something of the mark, too
		t.Errorf("%+v", is.Chain)
	}
	do[any](t, d.operator, 400, http.MethodPost, "/api/admin/audit/verify", map[string]any{"mark": "7"})
}
