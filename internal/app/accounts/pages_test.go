package accounts_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/apikey"
	"weir/internal/app/apptest"
	"weir/internal/audit"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/report"
)

func rubles(t *testing.T, v any) money.Nano {
	t.Helper()
	text := fmt.Sprint(v)
	n, err := money.ParseNumber(text)
	if strings.HasPrefix(text, "-") {
		n, err = money.Parse(text)
	}
	if err != nil {
		t.Fatalf("%q is no amount: %v", text, err)
	}
	return n
}

func elements(v any) []map[string]any {
	list, _ := v.([]any)
	out := make([]map[string]any, len(list))
	for i := range list {
		out[i], _ = list[i].(map[string]any)
	}
	return out
}

// The same amount is the same on every page, to the last digit: overview, usage, calls, statement, files, /v1/credits and /v1/activity.
func TestPagesAgree(t *testing.T) {
	t.Parallel()
	apptest.WithinADay(t)
	var back atomic.Int64 // how far the clock is behind
	gw := apptest.StartGateway(t, func(s *apptest.Setup) {
		s.Clock = func() time.Time { return time.Now().Add(-time.Duration(back.Load())) }
	})
	o := gw.NewOwner(t, 500, apikey.NewKey{})
	second := gw.NewOwner(t, 500, apikey.NewKey{}) // whose calls are nowhere
	extra := &apptest.Account{Gw: gw, Key: createdKey(t, o, `{"name":"second"}`)}
	random := rand.New(rand.NewPCG(3, 4))
	var sum, failed int64
	var dearest string
	var dearestCost money.Nano
	tagged := map[string]money.Nano{} // by project
	call := func(n int) {
		for range n {
			by := []*apptest.Account{o.Account, extra, second.Account}[random.IntN(3)]
			model := []string{"test/next", "test/u31", "test/flat", "test/u12-status-400"}[random.IntN(4)]
			body := map[string]any{"model": model, "stream": random.IntN(2) == 0, "max_tokens": 1 + random.IntN(200), "messages": apptest.Question}
			if random.IntN(2) == 0 {
				body["models"] = []string{"test/next"}
			}
			project := []string{"", "atlas", "x"}[random.IntN(3)]
			if project != "" {
				body["metadata"] = map[string]any{"project": project, "tags": []string{"env:test", "beta"}}
				body["user"], body["session_id"] = "u-"+project, "s-"+project
			}
			got := by.Chat(t, body)
			switch {
			case by == second.Account:
			case got.Status != http.StatusOK:
				failed++
			default:
				is := got.Reported(t, body["stream"] == true)
				sum += int64(is.Cost)
				tagged[project] += is.Cost
				if is.Cost > dearestCost {
					dearest, dearestCost = is.ID, is.Cost
				}
			}
		}
	}
	back.Store(int64(24 * time.Hour))
	call(40)
	yesterday := money.Nano(sum)
	back.Store(0)
	call(40)
	o.Credits(t) // waits until the charges are posted
	posted, err := ledger.GiveBack(t.Context(), gw.Node.Admin().Store.Ledger, ledger.Refund{ID: "r-1", Generation: dearest, Amount: dearestCost / 2, Reason: "=HYPERLINK(\"x\")", Actor: audit.Actor{Name: "test"}}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	spent, refund := money.Nano(sum), posted.Amount
	want := func(what string, got any, n money.Nano) {
		t.Helper()
		if rubles(t, got) != n {
			t.Errorf("%s is %v, want %s", what, got, n)
		}
	}
	credits := o.Credits(t)
	want("total_usage of /v1/credits", credits.TotalUsage, spent)
	want("balance of /v1/credits", credits.Balance, 500*money.Ruble-spent+refund)

	v := o.Page(t, "/api/overview")
	want("overview: spent_30_days", v["spent_30_days"], spent)
	want("overview: spent_today", v["spent_today"], spent-yesterday)
	want("overview: balance", v["balance"], 500*money.Ruble-spent+refund)
	want("overview: available", v["available"], 500*money.Ruble-spent+refund)
	var days, parts, top money.Nano
	for _, d := range elements(v["days"]) {
		days += rubles(t, d["cost"])
		for _, p := range elements(d["parts"]) {
			parts += rubles(t, p["cost"])
		}
	}
	for _, s := range elements(v["top"]) {
		top += rubles(t, s["cost"])
	}
	want("overview: the sum of days", days, spent)
	want("overview: the sum of parts", parts, spent)
	want("overview: the sum of top", top, spent)

	for _, s := range elements(o.Page(t, "/api/usage?group=tag:project&from="+time.Now().UTC().AddDate(0, 0, -5).Format(time.DateOnly))["series"]) {
		_, project, _ := strings.Cut(s["key"].(string), "=")
		want("the project "+project, s["total"], tagged[project])
	}
	for _, group := range []string{"model", "key", "member", "provider", "kind", "result", "team", "session", "user", "tag:project", "tag:env", "tag:beta", "tag:never"} {
		for _, bucket := range []string{"day", "hour", "month"} {
			if sorts := strings.Contains("team session user", group) || strings.HasPrefix(group, "tag:"); sorts && bucket == "hour" {
				if got := o.Pages.Do(t, http.MethodGet, "/api/usage?bucket=hour&group="+group, nil); got.Status != http.StatusBadRequest || !bytes.Contains(got.Body, []byte("days and months")) {
					t.Errorf("%s by hours: %d %s", group, got.Status, got.Body)
				}
				continue
			}
			query := "/api/usage?limit=1&figures=true&group=" + group + "&bucket=" + bucket + "&from=" + time.Now().UTC().AddDate(0, 0, -5).Format(time.DateOnly)
			u := o.Page(t, query)
			want(query, u["total"], spent)
			var series, sums money.Nano
			for _, s := range elements(u["series"]) {
				series += rubles(t, s["total"])
			}
			list, _ := u["sums"].([]any)
			for _, n := range list {
				sums += rubles(t, n)
			}
			want(query+": series and others", series+rubles(t, u["other_total"]), spent)
			want(query+": sums", sums, spent)
			figures := rubles(t, u["other_figures"].(map[string]any)["cost"])
			for _, s := range elements(u["series"]) {
				figures += rubles(t, s["figures"].(map[string]any)["cost"])
			}
			want(query+": figures of series and others", figures, spent)
			all := u["figures"].(map[string]any)
			want(query+": figures", all["cost"], spent)
			if fmt.Sprint(all["errors"]) != fmt.Sprint(failed) {
				t.Errorf("%s: %v errors, want %d", query, all["errors"], failed)
			}
			var file, given money.Nano
			for _, row := range o.Table(t, strings.Replace(query, "/api/usage?", "/api/usage.csv?", 1)) {
				file += rubles(t, row["cost_rub"])
				given += rubles(t, row["refunded_rub"])
			}
			want(query+" as a file", file, spent)
			want(query+": refunds in the file", given, refund)
		}
	}

	// Days of Moscow, one by one and together: each call is in one of them.
	moscow := time.FixedZone("Moscow", 3*3600)
	now := time.Now().In(moscow)
	midnight := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, moscow)
	usage := func(from, to time.Time) money.Nano {
		q := url.Values{"bucket": {"day"}, "from": {from.Format(time.RFC3339)}, "to": {to.Format(time.RFC3339)}}
		return rubles(t, o.Page(t, "/api/usage?"+q.Encode())["total"])
	}
	var apart money.Nano
	for i := -2; i <= 1; i++ { // a test that runs over midnight ends in the next day
		apart += usage(midnight.AddDate(0, 0, i), midnight.AddDate(0, 0, i+1))
	}
	want("days elsewhere", apart.String(), spent)
	want("days elsewhere, together", usage(midnight.AddDate(0, 0, -2), midnight.AddDate(0, 0, 2)).String(), spent)

	for _, group := range []string{"model", "key", "member", "provider", "kind", "result", "team", "session", "user", "tag:project", "tag:beta"} {
		wantCells(t, o, group)
	}

	var calls, ofDay money.Nano
	n, bad := 0, int64(0)
	for cursor := ""; ; {
		p := o.Page(t, "/api/calls?limit=7&cursor="+cursor)
		for _, c := range elements(p["data"]) {
			calls += rubles(t, c["cost"])
			if n++; c["result"] != "ok" {
				bad++
			}
		}
		next, more := p["next"].(string)
		if !more {
			break
		}
		cursor = next
	}
	want("the sum of calls", calls, spent)
	h := o.Page(t, "/api/calls/histogram")
	want("histogram: total_cost", h["total_cost"], spent)
	if fmt.Sprint(h["total_calls"]) != fmt.Sprint(n) || fmt.Sprint(h["total_failed"]) != fmt.Sprint(failed) || bad != failed {
		t.Errorf("the histogram has %v calls, %v failed; the list has %d, %d failed, want %d", h["total_calls"], h["total_failed"], n, bad, failed)
	}
	var file money.Nano
	for _, row := range o.Table(t, "/api/calls.csv") {
		file += rubles(t, row["cost_rub"])
	}
	want("calls as a file", file, spent)

	from := time.Now().UTC().AddDate(0, 0, -3).Format(time.DateOnly)
	l := o.Page(t, "/api/ledger?from="+from)
	want("ledger: debited", l["debited"], spent)
	want("ledger: credited", l["credited"], 500*money.Ruble+refund)
	want("ledger: closing", l["closing"], 500*money.Ruble-spent+refund)
	if l["verified"] != true {
		t.Errorf("the ledger is not verified: %v", l)
	}
	rows := o.Table(t, "/api/ledger.csv?from="+from)
	var debits, given money.Nano
	for _, row := range rows {
		if row["debit_rub"] != "" {
			debits += rubles(t, row["debit_rub"])
		}
		if row["credit_rub"] != "" {
			given += rubles(t, row["credit_rub"])
		}
		if strings.HasPrefix(row["reason"], "=") {
			t.Errorf("a spreadsheet would run %q", row["reason"])
		}
	}
	want("ledger as a file: debits", debits, spent)
	want("ledger as a file: credits", given, 500*money.Ruble+refund)
	want("ledger as a file: the last balance", rows[len(rows)-1]["balance_rub"], 500*money.Ruble-spent+refund)
	for back := range 3 {
		d := o.Page(t, "/api/ledger/day/"+time.Now().UTC().AddDate(0, 0, -back).Format(time.DateOnly))
		calls, _ := d["calls"].(map[string]any)
		ofDay += rubles(t, calls["debit"])
	}
	want("ledger: the sum of days", ofDay, spent)
	if got := o.Pages.Do(t, http.MethodGet, "/api/ledger.pdf?from="+from, nil); got.Status != http.StatusOK || !bytes.HasPrefix(got.Body, []byte("%PDF-")) {
		t.Errorf("PDF: %d %.100s", got.Status, got.Body)
	}

	var active money.Nano
	for _, r := range elements(o.Page(t, "/v1/activity")["data"]) {
		active += rubles(t, r["cost"])
	}
	want("/v1/activity, without today", active, yesterday)
	var ofKeys money.Nano
	for _, k := range elements(o.Page(t, "/api/keys")["data"]) {
		ofKeys += rubles(t, k["spent_total"])
	}
	want("spent by keys, without the refund", ofKeys, spent-refund)
	gw.WantBalanced(t)
}

// wantCells checks that every figure of every group is that of the calls its filter finds.
func wantCells(t *testing.T, o *apptest.Owner, group string) {
	t.Helper()
	for _, s := range elements(o.Page(t, "/api/usage?limit=50&figures=true&group="+group)["series"]) {
		value := cmp.Or(s["key"].(string), report.Nothing)
		filter := group
		switch name, is := report.Part(group).TagName(); {
		case is && value == report.Nothing:
			filter, value = "tag", name+"="+value
		case is:
			filter = "tag"
		case group == "user":
			filter = "client_user"
		}
		counted := map[string]int64{"calls": 0, "errors": 0}
		var cost money.Nano
		for cursor := ""; ; {
			p := o.Page(t, "/api/calls?limit=50&"+filter+"="+url.QueryEscape(value)+"&cursor="+cursor)
			for _, c := range elements(p["data"]) {
				cost += rubles(t, c["cost"])
				counted["calls"]++
				if c["result"] != "ok" && c["result"] != "canceled" {
					counted["errors"]++
				}
				for figure, field := range map[string]string{"tokens_in": "prompt_tokens", "tokens_cached": "cached_tokens", "tokens_out": "completion_tokens", "tokens_reasoning": "reasoning_tokens"} {
					tokens, err := c[field].(json.Number).Int64()
					if err != nil {
						t.Fatal(err)
					}
					counted[figure] += tokens
				}
			}
			next, more := p["next"].(string)
			if !more {
				break
			}
			cursor = next
		}
		figures := s["figures"].(map[string]any)
		if got := rubles(t, figures["cost"]); got != cost || counted["calls"] == 0 {
			t.Errorf("%s %s costs %s, its %d calls %s", group, value, got, counted["calls"], cost)
		}
		for figure, n := range counted {
			if fmt.Sprint(figures[figure]) != fmt.Sprint(n) {
				t.Errorf("%s %s has %v %s, its calls %d", group, value, figures[figure], figure, n)
			}
		}
	}
}

// createdKey makes a key over the API.
func createdKey(t *testing.T, o *apptest.Owner, body string) string {
	t.Helper()
	got := o.Pages.Do(t, http.MethodPost, "/api/keys", json.RawMessage(body))
	var made struct{ Key string }
	if err := json.Unmarshal(got.Body, &made); err != nil || got.Status != http.StatusCreated {
		t.Fatalf("%d %s", got.Status, got.Body)
	}
	return made.Key
}

// A key keeps to its models and its addresses on every route that calls models, in every style, and no provider is called.
func TestRestrictedKeysEverywhere(t *testing.T) {
	t.Parallel()
	w := apptest.StartWitness(t)
	elsewhere := w.NewOwner(t, 100, apikey.NewKey{Addresses: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}})
	others := w.NewOwner(t, 100, apikey.NewKey{Models: []string{"nobody/*", "*/none"}})
	for i := range w.Outlets {
		s := &w.Outlets[i]
		for _, model := range s.Models {
			before := len(w.Asked())
			if got := s.Send(t, elsewhere.Account, model, nil); got.Status != http.StatusForbidden || !bytes.Contains(got.Body, []byte("allowed_ips")) {
				t.Errorf("%s of %s from another address: %d %.300s", s.Route, model, got.Status, got.Body)
			}
			got := s.Send(t, others.Account, model, nil)
			switch {
			case strings.HasSuffix(s.Route, "_tokens"), strings.Contains(s.Route, ":countTokens"): // they count here, and tell nothing of the model
			case s.Route == "/v1/route/explain":
				if !bytes.Contains(got.Body, []byte(`"allowed_models"`)) {
					t.Errorf("%s of %s: %.300s", s.Route, model, got.Body)
				}
			case got.Status != http.StatusForbidden || !bytes.Contains(got.Body, []byte("This key may not call")):
				t.Errorf("%s of %s: %d %.300s", s.Route, model, got.Status, got.Body)
			}
			if n := len(w.Asked()) - before; n != 0 {
				t.Errorf("%s of %s: %d upstream requests", s.Route, model, n)
			}
		}
	}
	elsewhere.Pages.WantSpent(t, false)
	others.WantSpent(t, false)
}

// One account sees nothing of another: not its calls, keys, jobs or amounts; and what is not its own has the same answer as what does not exist.
func TestAccountsAreApart(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t)
	mine, theirs := gw.NewOwner(t, 100, apikey.NewKey{}), gw.NewOwner(t, 100, apikey.NewKey{})
	is := theirs.Chat(t, map[string]any{"model": "test/next", "max_tokens": 5, "messages": apptest.Question}).Reported(t, false)
	keys := elements(theirs.Page(t, "/api/keys")["data"])
	hash, id := fmt.Sprint(keys[1]["hash"]), fmt.Sprint(keys[1]["id"])
	for _, path := range []string{"/api/calls?id=" + is.ID, "/api/calls?key=" + id, "/api/calls?member=" + theirs.User, "/api/calls"} {
		if list := elements(mine.Page(t, path)["data"]); len(list) > 0 {
			t.Errorf("%s shows %v", path, list)
		}
	}
	for _, path := range []string{"/api/usage?key=" + id, "/api/usage?member=" + theirs.User, "/api/usage", "/api/overview", "/api/ledger", "/api/keys"} {
		got := mine.Pages.Do(t, http.MethodGet, path, nil)
		for _, secret := range []string{is.ID, hash, id, theirs.User, is.Cost.String() + `"`} {
			if bytes.Contains(got.Body, []byte(secret)) {
				t.Errorf("%s shows %q", path, secret)
			}
		}
	}
	shape := func(a *apptest.Answer) string {
		var m struct {
			Error struct {
				Message  string
				Metadata map[string]any
			}
		}
		_ = json.Unmarshal(a.Body, &m)
		delete(m.Error.Metadata, "request_id")
		return fmt.Sprint(a.Status, m.Error.Message, m.Error.Metadata)
	}
	unknown := strings.Repeat("0", 64)
	made := is.ID[:len(is.ID)-3] + "xyz"
	for _, pair := range [][3]string{
		{http.MethodGet, "/api/calls/" + is.ID, "/api/calls/" + made}, {http.MethodGet, "/api/calls/" + is.ID + "/text", "/api/calls/" + made + "/text"}, {http.MethodGet, "/api/keys/" + hash, "/api/keys/" + unknown},
		{http.MethodPatch, "/api/keys/" + hash, "/api/keys/" + unknown}, {http.MethodDelete, "/api/keys/" + hash, "/api/keys/" + unknown},
		{http.MethodPost, "/api/keys/" + hash + "/rotate", "/api/keys/" + unknown + "/rotate"}, {http.MethodGet, "/api/usage?key=" + hash, "/api/usage?key=" + unknown},
		{http.MethodGet, "/api/jobs/vj_000000000000000000000000", "/api/jobs/x"},
	} {
		var body any
		if pair[0] != http.MethodGet && pair[0] != http.MethodDelete {
			body = map[string]any{}
		}
		a, b := mine.Pages.Do(t, pair[0], pair[1], body), mine.Pages.Do(t, pair[0], pair[2], body)
		if a.Status != http.StatusNotFound || shape(a) != shape(b) {
			t.Errorf("%s %s: %s; of nobody's: %s", pair[0], pair[1], shape(a), shape(b))
		}
	}
	fresh := mine.Pages.Do(t, http.MethodGet, "/api/calls/"+is.ID, nil)
	if !bytes.Contains(fresh.Body, []byte(`"recording":true`)) {
		t.Errorf("a new call: %s", fresh.Body)
	}
	if old := mine.Pages.Do(t, http.MethodGet, "/api/calls/gen-1000000000-00000000000000000000", nil); bytes.Contains(old.Body, []byte("recording")) {
		t.Errorf("an old call: %s", old.Body)
	}
	// an API key is not let in
	for _, path := range []string{"/api/overview", "/api/usage", "/api/calls", "/api/calls.csv", "/api/ledger", "/api/ledger.pdf", "/api/keys", "/api/jobs", "/api/account/profile"} {
		if got := mine.Do(t, http.MethodGet, path, nil); got.Status != http.StatusForbidden {
			t.Errorf("%s with an API key: %d", path, got.Status)
		}
	}
}

// A key with another text keeps its limit and its spending. The former text works as long as was asked, and no longer; its hash, too.
func TestRotatedKeys(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t)
	o := gw.NewOwner(t, 100, apikey.NewKey{Limit: &apikey.Limit{Amount: money.Ruble}})
	ask := map[string]any{"model": "test/next", "max_tokens": 5, "messages": apptest.Question}
	spent := o.Chat(t, ask).Reported(t, false).Cost
	hash := apikey.Hash(o.Key)
	rotate := func(hash string, hours int) (next *apptest.Account, data map[string]any) {
		t.Helper()
		got := o.Pages.Do(t, http.MethodPost, "/api/keys/"+hash+"/rotate", map[string]any{"hours": hours})
		var made struct {
			Key  string
			Data map[string]any
		}
		if err := json.Unmarshal(got.Body, &made); err != nil || got.Status != http.StatusOK {
			t.Fatalf("%d %s", got.Status, got.Body)
		}
		return &apptest.Account{Gw: gw, Key: made.Key}, made.Data
	}
	second, data := rotate(hash, 3)
	if data["previous"] == nil || data["hash"] != apikey.Hash(second.Key) || rubles(t, data["spent"]) != spent {
		t.Errorf("%v", data)
	}
	for _, a := range []*apptest.Account{o.Account, second} {
		spent += a.Chat(t, ask).Reported(t, false).Cost
	}
	if k := o.Page(t, "/api/keys/"+hash); k["hash"] != apikey.Hash(second.Key) || rubles(t, k["spent"]) != spent || rubles(t, k["limit_remaining"]) != money.Ruble-spent {
		t.Errorf("by the former hash: %v, spent %s", k, spent)
	}
	third, data := rotate(apikey.Hash(second.Key), 0)
	if data["previous"] != nil {
		t.Errorf("%v", data)
	}
	spent += third.Chat(t, ask).Reported(t, false).Cost
	for _, a := range []*apptest.Account{o.Account, second} {
		if got := a.Chat(t, ask); got.Status != http.StatusUnauthorized {
			t.Errorf("a former text: %d %s", got.Status, got.Body)
		}
		if got := o.Pages.Do(t, http.MethodGet, "/api/keys/"+apikey.Hash(a.Key), nil); got.Status != http.StatusNotFound {
			t.Errorf("a former hash: %d", got.Status)
		}
	}
	if k := o.Page(t, "/api/keys/"+apikey.Hash(third.Key)); rubles(t, k["spent"]) != spent || k["last_used_at"] == nil {
		t.Errorf("%v, spent %s", k, spent)
	}
	for _, body := range []string{`{"hours":-1}`, `{"hours":169}`, `{"hours":"1"}`, `{"hours":1.5}`, `{"days":1}`, `[]`, `x`, ``} {
		if got := o.Pages.Send(t, http.MethodPost, "/api/keys/"+apikey.Hash(third.Key)+"/rotate", []byte(body), nil); got.Status/100 != 4 {
			t.Errorf("%s: %d", body, got.Status)
		}
	}
}

// No way to another key is a way around limits: a rotated key goes on with what it has used, and all keys of an account share the account's.
func TestLimitsOutliveKeys(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t, func(s *apptest.Setup) {
		s.Keys.RateLimits.Requests, s.Keys.AccountRateLimits.Requests = 2, 4
	})
	for name, c := range map[string]struct {
		change func(o *apptest.Owner, key *apptest.Account) *apptest.Account // after two calls of a key
		by     string
	}{
		"rotated": {by: "requests_per_minute", change: func(o *apptest.Owner, key *apptest.Account) *apptest.Account {
			got := o.Pages.Do(t, http.MethodPost, "/api/keys/"+apikey.Hash(key.Key)+"/rotate", map[string]any{"hours": 0})
			return &apptest.Account{Gw: gw, Key: apptest.Decode[struct{ Key string }](t, got.Body).Key}
		}},
		"deleted, and made again twice": {by: "account_requests_per_minute", change: func(o *apptest.Owner, key *apptest.Account) *apptest.Account {
			for range 2 {
				if got := o.Pages.Do(t, http.MethodDelete, "/api/v1/keys/"+apikey.Hash(key.Key), nil); got.Status != http.StatusOK {
					t.Fatalf("%d %s", got.Status, got.Body)
				}
				got := o.Pages.Do(t, http.MethodPost, "/api/v1/keys", map[string]any{"name": "again"})
				if key = (&apptest.Account{Gw: gw, Key: apptest.Decode[struct{ Key string }](t, got.Body).Key}); key.Key == "" {
					t.Fatalf("%d %s", got.Status, got.Body)
				}
				if got := key.Chat(t, map[string]any{"model": "test/next", "max_tokens": 5, "messages": apptest.Question}); got.Status != http.StatusOK {
					t.Fatalf("%d %s", got.Status, got.Body)
				}
			}
			return key
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := gw.NewOwner(t, 100, apikey.NewKey{})
			ask := map[string]any{"model": "test/next", "max_tokens": 5, "messages": apptest.Question}
			for range 2 {
				if got := o.Chat(t, ask); got.Status != http.StatusOK {
					t.Fatalf("%d %s", got.Status, got.Body)
				}
			}
			got := c.change(o, o.Account).Chat(t, ask)
			if got.Status != http.StatusTooManyRequests || !strings.Contains(string(got.Body), `"limited_by":"`+c.by+`"`) {
				t.Errorf("%d %s", got.Status, got.Body)
			}
		})
	}
}

// What a signed-in person asks for in their browser is the same account's: the same ledger, the same pages, and the same places for video jobs.
func TestBrowserCallsAreTheAccounts(t *testing.T) {
	t.Parallel()
	w := apptest.StartWitness(t, func(s *apptest.Setup) { s.SignIn.SignUp = "invitation" })
	admin := w.NewOwner(t, 1, apikey.NewKey{})
	if err := w.Node.Admin().Users.SetRole(t.Context(), admin.User, apikey.Administrator, audit.Actor{Name: "test"}); err != nil {
		t.Fatal(err)
	}
	invited := admin.Pages.Do(t, http.MethodPost, "/api/invitations", map[string]any{"note": "anna"})
	var link struct{ Data struct{ URL string } }
	if err := json.Unmarshal(invited.Body, &link); err != nil || invited.Status != http.StatusCreated {
		t.Fatalf("%d %s", invited.Status, invited.Body)
	}
	_, token, _ := strings.Cut(link.Data.URL, "#")
	visitor := &apptest.Account{Gw: w.Gateway}
	header := map[string]string{"Authorization": "", "Origin": w.URL, "X-Weir": "1"}
	body, _ := json.Marshal(map[string]any{"email": "anna@example.org", "password": "correct horse battery", "invitation": token})
	joined := visitor.Send(t, http.MethodPost, "/api/auth/sign-up", body, header)
	if joined.Status != http.StatusOK {
		t.Fatalf("%d %s", joined.Status, joined.Body)
	}
	cookie, _, _ := strings.Cut(joined.Header.Get("Set-Cookie"), ";")
	header["Cookie"] = cookie
	do := func(method, path string, v any) *apptest.Answer {
		t.Helper()
		var body []byte
		if v != nil {
			body, _ = json.Marshal(v)
		}
		return visitor.Send(t, method, path, body, header)
	}
	if got := do(http.MethodPost, "/api/v1/chat/completions", map[string]any{"model": "test/next", "messages": apptest.Question}); got.Status != http.StatusPaymentRequired {
		t.Fatalf("without money: %d %s", got.Status, got.Body)
	}
	var me struct{ User struct{ ID, Name string } }
	_ = json.Unmarshal(joined.Body, &me)
	u, err := w.Node.Admin().Users.ByID(t.Context(), me.User.ID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Node.Admin().TopUp(t.Context(), u, 100*money.Ruble, "", audit.Actor{Name: "test"}); err != nil {
		t.Fatal(err)
	}
	said := do(http.MethodPost, "/api/v1/chat/completions", map[string]any{"model": "test/next", "max_tokens": 9, "messages": apptest.Question}).Reported(t, false)
	made := do(http.MethodPost, "/api/keys", map[string]any{"name": "mine"})
	var key struct{ Key string }
	if err := json.Unmarshal(made.Body, &key); err != nil || made.Status != http.StatusCreated {
		t.Fatalf("%d %s", made.Status, made.Body)
	}
	api := &apptest.Account{Gw: w.Gateway, Key: key.Key}
	at := slices.IndexFunc(w.Outlets, func(s apptest.Outlet) bool { return s.Route == "/v1/videos" })
	film := map[string]any{"model": w.Outlets[at].Models[0]}
	for name, v := range w.Outlets[at].Fields {
		film[name] = v
	}
	first, second := do(http.MethodPost, "/api/v1/videos", film), api.Do(t, http.MethodPost, "/v1/videos", film)
	for _, third := range []*apptest.Answer{do(http.MethodPost, "/api/v1/videos", film), api.Do(t, http.MethodPost, "/v1/videos", film)} {
		if first.Status != http.StatusAccepted || second.Status != http.StatusAccepted || third.Status != http.StatusTooManyRequests {
			t.Fatalf("%d, %d, %d %s", first.Status, second.Status, third.Status, third.Body)
		}
	}
	var jobs struct {
		Data    []struct{ ID string }
		Active  int
		Allowed int
	}
	if err := json.Unmarshal(do(http.MethodGet, "/api/jobs", nil).Body, &jobs); err != nil || len(jobs.Data) != 2 || jobs.Allowed != 2 || jobs.Active != 2 {
		t.Errorf("%v %+v", err, jobs)
	}
	var l struct {
		Data struct {
			Verified bool
			Rows     []struct{ Kind, Debit string }
		}
	}
	if err := json.Unmarshal(do(http.MethodGet, "/api/ledger", nil).Body, &l); err != nil || !l.Data.Verified {
		t.Errorf("%v %+v", err, l)
	}
	var keys struct {
		Data []struct {
			Name, Spent string
			Web         bool
		}
	}
	if err := json.Unmarshal(do(http.MethodGet, "/api/keys", nil).Body, &keys); err != nil || len(keys.Data) != 2 || !keys.Data[1].Web || rubles(t, keys.Data[1].Spent) < said.Cost {
		t.Errorf("%v %+v", err, keys)
	}
	// what changes something needs the page's origin
	delete(header, "X-Weir")
	if got := do(http.MethodPost, "/api/keys", map[string]any{"name": "forged"}); got.Status != http.StatusForbidden {
		t.Errorf("without X-Weir: %d", got.Status)
	}
}
