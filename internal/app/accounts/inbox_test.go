package accounts_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/internal/apikey"
	"weir/internal/app/apptest"
	"weir/internal/money"
)

type inboxPage struct {
	Data []struct {
		ID, Cause, Kind string
		Name, Page, Tag *string
		FoundAt         string  `json:"found_at"`
		OverAt          *string `json:"over_at"`
		Unread          bool
	}
	Next   *string
	Unread int
	Tags   []string
}

// kinds are the notices of a page: "kind name page", with + where they are unread.
func (p *inboxPage) kinds() (all []string) {
	text := func(s *string) string {
		if s == nil {
			return "-"
		}
		return *s
	}
	for i := range p.Data {
		n := &p.Data[i]
		page, _, _ := strings.Cut(strings.TrimPrefix(text(n.Page), "/"), "/")
		one := n.Kind + " " + text(n.Name) + " " + page
		if n.Unread {
			one += " +"
		}
		all = append(all, one)
	}
	slices.Sort(all)
	return all
}

func readInbox(t *testing.T, who *apptest.Owner, account, query string) *inboxPage {
	t.Helper()
	got := who.Pages.Do(t, http.MethodGet, "/api/notices?account="+account+query, nil)
	if got.Status != http.StatusOK {
		t.Fatalf("%d %s", got.Status, got.Body)
	}
	p := apptest.Decode[inboxPage](t, got.Body)
	return &p
}

// TestInbox has each role of an organization read what is theirs of its notices, by pages, cause and tag, and mark it as read for themselves alone.
func TestInbox(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t, func(s *apptest.Setup) { s.Notify.CheckEvery = 20 * time.Millisecond })
	c := peopled(t, gw, "Strelka", 10*money.Ruble)
	c.joins(t, c.manager, "manager", "")
	c.joins(t, c.member, "member", "")
	c.joins(t, c.colleague, "member", "")
	c.joins(t, c.paying, "billing", "")
	soon := time.Now().Add(24 * time.Hour).UTC().Format(time.RFC3339)
	made(t, c.owner.Pages, "POST", c.at("/api/budgets"), map[string]any{"scope": map[string]any{"kind": "tag", "id": "project=atlas"}, "period": "month", "amount": "0.000001", "hard": false, "alarms": []int{50}, "name": "atlas"})
	key := &apptest.Account{Gw: gw, Key: made(t, c.member.Pages, "POST", c.at("/api/keys"), map[string]any{"name": "ci", "expires_at": soon}, "key")}
	call := []byte(`{"model":"test/next","max_tokens":5,"messages":[{"role":"user","content":"hello"}]}`)
	if got := key.Send(t, "POST", "/v1/chat/completions", call, map[string]string{"X-Weir-Tags": "project=atlas"}); got.Status != http.StatusOK {
		t.Fatalf("%d %s", got.Status, got.Body)
	}
	made(t, c.owner.Pages, "PUT", c.at("/api/notifications"), map[string]any{"threshold": "50"})

	apptest.WaitFor(t, "three notices", func() bool { return len(readInbox(t, c.owner, c.id, "").Data) >= 3 })
	whole := []string{"budget_alarm atlas budgets +", "key_expiring ci keys +", "money_low - money +"}
	for _, row := range []struct {
		who  *apptest.Owner
		want []string
	}{
		{c.owner, whole},
		{c.manager, []string{"budget_alarm atlas budgets +", "money_low - - +"}},
		{c.member, []string{"key_expiring ci keys +", "money_low - - +"}},
		{c.colleague, []string{"money_low - - +"}},
		{c.paying, []string{"budget_alarm atlas budgets +", "money_low - money +"}},
	} {
		p := readInbox(t, row.who, c.id, "")
		if got := p.kinds(); !slices.Equal(got, row.want) || p.Unread != len(row.want) {
			t.Errorf("%d unread of %q, want %q", p.Unread, got, row.want)
		}
	}
	if got := gw.NewOwner(t, 10, apikey.NewKey{}).Pages.Do(t, http.MethodGet, "/api/notices?account="+c.id, nil); got.Status != http.StatusNotFound {
		t.Errorf("a stranger: %d %s", got.Status, got.Body)
	}

	for query, want := range map[string][]string{
		"&cause=key_limit": {whole[0]}, "&cause=payment": nil, "&tag=" + url.QueryEscape("project=atlas"): {whole[0]}, "&tag=project": {whole[0]}, "&tag=proj": nil,
	} {
		if got := readInbox(t, c.owner, c.id, query).kinds(); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
	if tags := readInbox(t, c.owner, c.id, "&cause=payment").Tags; !slices.Equal(tags, []string{"project=atlas"}) {
		t.Errorf("tags %q", tags)
	}
	var paged []string
	for query := "&limit=1"; ; {
		p := readInbox(t, c.owner, c.id, query)
		paged = append(paged, p.kinds()...)
		if p.Next == nil {
			break
		}
		query = "&limit=1&cursor=" + *p.Next
	}
	if slices.Sort(paged); !slices.Equal(paged, whole) {
		t.Errorf("by pages %q", paged)
	}
	for query, param := range map[string]string{"&cursor=ntf-none": "cursor", "&cause=nonsense": "cause", "&limit=1000": "limit"} {
		if got := c.owner.Pages.Do(t, http.MethodGet, "/api/notices?account="+c.id+query, nil); got.Status != http.StatusBadRequest || !strings.Contains(string(got.Body), `"param":"`+param+`"`) {
			t.Errorf("%s: %d %s", query, got.Status, got.Body)
		}
	}
	marks(t, c)
}

// marks has the owner read what there is: for themselves, and in this account.
func marks(t *testing.T, c *company) {
	t.Helper()
	all := readInbox(t, c.owner, c.id, "")
	mark := func(until string, status int) string {
		t.Helper()
		got := c.owner.Pages.Do(t, http.MethodPost, c.at("/api/notices/read"), map[string]any{"until": until})
		if got.Status != status {
			t.Errorf("%s: %d %s", until, got.Status, got.Body)
		}
		return string(got.Body)
	}
	mark("yesterday", http.StatusBadRequest)
	mark("0001-01-01T00:00:00Z", http.StatusBadRequest)
	if got := mark("2020-01-01T00:00:00Z", http.StatusOK); !strings.Contains(got, `"unread":3`) {
		t.Errorf("%s", got)
	}
	if got := mark(all.Data[0].FoundAt, http.StatusOK); !strings.Contains(got, `"unread":0`) {
		t.Errorf("%s", got)
	}
	mark("2020-01-01T00:00:00Z", http.StatusOK)
	if p := readInbox(t, c.owner, c.id, ""); p.Unread != 0 || p.Data[0].Unread {
		t.Errorf("%d unread", p.Unread)
	}
	if p := readInbox(t, c.paying, c.id, ""); p.Unread != 2 {
		t.Errorf("%d unread of another person", p.Unread)
	}
	made(t, c.owner.Pages, "PUT", c.at("/api/notifications"), map[string]any{"threshold": "0"})
	apptest.WaitFor(t, "the low balance to be over", func() bool {
		p := readInbox(t, c.owner, c.id, "&cause=low_balance")
		return len(p.Data) == 1 && p.Data[0].OverAt != nil
	})
	mark("9999-01-01T00:00:00Z", http.StatusOK) // no later than now: what comes is unread
	soon := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	made(t, c.owner.Pages, "POST", c.at("/api/keys"), map[string]any{"name": "late", "expires_at": soon})
	apptest.WaitFor(t, "one that is unread", func() bool { return readInbox(t, c.owner, c.id, "").Unread == 1 })
}
