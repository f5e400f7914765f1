package storetest

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/history"
	"weir/internal/store"
)

// Responses checks what a store does for responses that are kept. open gives an empty store, and closes it after the test.
func Responses(t *testing.T, open Open) {
	cases := map[string]func(*testing.T, *store.Store){
		"a response comes back as stored":        responseRoundTrip,
		"many responses together":                keptTogether,
		"responses belong to their account":      responsesOfAccounts,
		"expired responses are not found":        expiredResponse,
		"a conversation":                         conversation,
		"a final response stays":                 finalStays,
		"deleted with its items":                 deletedResponse,
		"all of an account":                      deleteResponses,
		"a sweep":                                sweepResponses,
		"an account that stores too much":        tooMuchKept,
		"the first to give an item its id":       firstItem,
		"a conversation of many responses":       longConversation,
		"a deleted account keeps none":           noneOfDeleted,
		"an unfinished response can be replaced": underWay,
	}
	for name, check := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, open(t, nil))
		})
	}
}

func response(account, id, parent string) *history.Response {
	return &history.Response{
		Account: account, ID: id, Parent: parent, Status: history.Completed, Object: []byte(`{"id":"` + id + `"}`), Input: []byte(`{"in":"` + id + `"}`), Output: []byte(`{"out":"` + id + `"}`),
		Items: []string{"msg_" + id}, CreatedAt: at, ExpiresAt: at.Add(time.Hour), StaleAt: at.Add(time.Minute),
	}
}

func keepResponse(t *testing.T, s *store.Store, r *history.Response) {
	t.Helper()
	if err := s.Pages.KeepResponses(t.Context(), []*history.Response{r}); err != nil {
		t.Fatalf("Keep %s: %v", r.ID, err)
	}
}

// noneOfDeleted stores no response of an account that was deleted while the call went on, also not one that replaces a state; others in the same batch are
// stored. An account that was only disabled keeps its responses.
func noneOfDeleted(t *testing.T, s *store.Store) {
	gone, stays := mustPerson(t, s, "gone@example.org"), mustPerson(t, s, "stays@example.org")
	ok(t, s.Accounts.SetUserDisabled(t.Context(), stays.ID, true, at, event(audit.UserDisabled)))
	begun := response(gone.ID, "resp_1", "")
	begun.Status = history.InProgress
	keepResponse(t, s, begun)
	ok(t, s.Accounts.ForgetUser(t.Context(), gone.ID, at, event(audit.UserForgotten)))
	ok(t, s.Pages.KeepResponses(t.Context(), []*history.Response{response(gone.ID, "resp_1", ""), response(stays.ID, "resp_2", ""), response(gone.ID, "resp_3", "")}))
	for _, id := range []string{"resp_1", "resp_3"} {
		_, err := s.Pages.Response(t.Context(), gone.ID, id, at)
		wantKind(t, err, fault.NotFound)
		_, err = s.Pages.ResponseOfItem(t.Context(), gone.ID, "msg_"+id, at)
		wantKind(t, err, fault.NotFound)
	}
	if _, err := s.Pages.Response(t.Context(), stays.ID, "resp_2", at); err != nil {
		t.Error(err)
	}
	ok(t, s.Pages.KeepResponses(t.Context(), []*history.Response{response(gone.ID, "resp_4", "")}))
}

// keptTogether keeps many responses of several accounts in one transaction, some with a state before, some with a final one.
func keptTogether(t *testing.T, s *store.Store) {
	const n = 260 // more than an INSERT takes
	done := response("usr_1", "resp_7", "")
	keepResponse(t, s, done)
	under := response("usr_2", "resp_8", "")
	under.Status, under.Background, under.Output, under.Items = history.InProgress, true, []byte{}, nil
	keepResponse(t, s, under)
	var list []*history.Response
	for i := range n {
		r := response(fmt.Sprint("usr_", i%3), fmt.Sprint("resp_", n-i), "")
		r.Input = bytes.Repeat([]byte{0, 0xff, 'x'}, i)
		list = append(list, r)
	}
	late, ended := response("usr_1", "resp_7", ""), response("usr_2", "resp_8", "")
	late.Output = []byte(`{"out":"late"}`)
	ended.Background = true
	odd := response("usr_1", "resp_odd", "")
	odd.Items = []string{"msg_\x00\xff", "msg_resp_odd"}
	list = append(slices.DeleteFunc(list, func(r *history.Response) bool {
		return r.Account+r.ID == done.Account+done.ID || r.Account+r.ID == under.Account+under.ID
	}), late, ended, odd)
	if err := s.Pages.KeepResponses(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	for _, r := range list {
		if r == late {
			r = done
		}
		wantResponse(t, s, r)
		if found, err := s.Pages.ResponseOfItem(t.Context(), r.Account, "msg_"+r.ID, at); err != nil || found.ID != r.ID {
			t.Errorf("the item of %s: %+v %v", r.ID, found, err)
		}
	}
	if err := s.Pages.KeepResponses(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

func wantResponse(t *testing.T, s *store.Store, want *history.Response) {
	t.Helper()
	found, err := s.Pages.Response(t.Context(), want.Account, want.ID, at)
	if err != nil {
		t.Fatal(err)
	}
	without := *want
	without.Items = nil // they lead to the response, and do not come back
	if d := cmp.Diff(&without, found, wholeBytes, cmpopts.EquateEmpty()); d != "" {
		t.Errorf("(-want +got):\n%.500s", d)
	}
	hasResponse(t, s, want.Account, want.ID, at, true)
}

func hasResponse(t *testing.T, s *store.Store, account, id string, now time.Time, want bool) {
	t.Helper()
	if has, err := s.Pages.HasResponse(t.Context(), account, id, now); err != nil || has != want {
		t.Errorf("%s has %s: %t, %v", account, id, has, err)
	}
}

func wantNoResponse(t *testing.T, err error) {
	t.Helper()
	if !fault.Is(err, fault.NotFound) {
		t.Errorf("%v, want not found", err)
	}
}

func responseRoundTrip(t *testing.T, s *store.Store) {
	r := response("usr_1", "resp_1", "resp_0")
	r.Background, r.Output, r.Items = true, bytes.Repeat([]byte{0, 0xff, 'x'}, 500_000), []string{"msg_1", "fc_2"}
	keepResponse(t, s, r)
	wantResponse(t, s, r)
	for _, id := range r.Items {
		if found, err := s.Pages.ResponseOfItem(t.Context(), r.Account, id, at); err != nil || found.ID != r.ID {
			t.Errorf("%s: %+v %v", id, found, err)
		}
	}
	empty := &history.Response{Account: "usr_1", ID: "resp_2", Status: history.Queued, CreatedAt: at, ExpiresAt: at.Add(time.Hour), StaleAt: at, Object: []byte{}, Input: []byte{}, Output: []byte{}}
	keepResponse(t, s, empty)
	wantResponse(t, s, empty)
}

func responsesOfAccounts(t *testing.T, s *store.Store) {
	r := response("usr_1", "resp_1", "")
	keepResponse(t, s, r)
	_, err := s.Pages.Response(t.Context(), "usr_2", r.ID, at)
	wantNoResponse(t, err)
	_, err = s.Pages.ResponseOfItem(t.Context(), "usr_2", r.Items[0], at)
	wantNoResponse(t, err)
	hasResponse(t, s, "usr_2", r.ID, at, false)
	if list, err := s.Pages.ResponseChain(t.Context(), "usr_2", r.ID, at, 10, 1<<20); err != nil || len(list) != 0 {
		t.Errorf("%v %v", list, err)
	}
	if done, err := s.Pages.DeleteResponse(t.Context(), "usr_2", r.ID); done || err != nil {
		t.Errorf("deleted by another: %t %v", done, err)
	}
	if done, err := s.Pages.MarkResponse(t.Context(), "usr_2", r.ID, history.Cancelled, at); done || err != nil {
		t.Errorf("marked by another: %t %v", done, err)
	}
	// the parent of another account is no parent
	keepResponse(t, s, response("usr_2", "resp_2", "resp_1"))
	if list, err := s.Pages.ResponseChain(t.Context(), "usr_2", "resp_2", at, 10, 1<<20); err != nil || len(list) != 1 {
		t.Errorf("%v %v", list, err)
	}
	wantResponse(t, s, r)
}

func expiredResponse(t *testing.T, s *store.Store) {
	r := response("usr_1", "resp_1", "")
	keepResponse(t, s, r)
	_, err := s.Pages.Response(t.Context(), r.Account, r.ID, r.ExpiresAt)
	wantNoResponse(t, err)
	_, err = s.Pages.ResponseOfItem(t.Context(), r.Account, r.Items[0], r.ExpiresAt)
	wantNoResponse(t, err)
	hasResponse(t, s, r.Account, r.ID, r.ExpiresAt, false)
	if list, err := s.Pages.ResponseChain(t.Context(), r.Account, r.ID, r.ExpiresAt, 10, 1<<20); err != nil || len(list) != 0 {
		t.Errorf("%v %v", list, err)
	}
}

func conversation(t *testing.T, s *store.Store) {
	for i := range 4 {
		keepResponse(t, s, response("usr_1", fmt.Sprint("resp_", i+1), map[bool]string{true: fmt.Sprint("resp_", i)}[i > 0]))
	}
	keepResponse(t, s, response("usr_1", "resp_other", "resp_2"))
	ids := func(id string, n int) string {
		t.Helper()
		list, err := s.Pages.ResponseChain(t.Context(), "usr_1", id, at, n, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		reported := ""
		for _, r := range list {
			reported += r.ID + "<" + r.Parent + string(r.Input) + string(r.Output) + " "
		}
		return reported
	}
	piece := func(id, parent string) string { return id + "<" + parent + `{"in":"` + id + `"}{"out":"` + id + `"} ` }
	if got, want := ids("resp_other", 10), piece("resp_1", "")+piece("resp_2", "resp_1")+piece("resp_other", "resp_2"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := ids("resp_4", 2), piece("resp_3", "resp_2")+piece("resp_4", "resp_3"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if _, err := s.Pages.ResponseChain(t.Context(), "usr_1", "resp_4", at, 10, 100); !fault.Is(err, fault.ContextLength) {
		t.Errorf("%v", err)
	}
	if _, err := s.Pages.DeleteResponse(t.Context(), "usr_1", "resp_2"); err != nil {
		t.Fatal(err)
	}
	if got, want := ids("resp_4", 10), piece("resp_3", "resp_2")+piece("resp_4", "resp_3"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func longConversation(t *testing.T, s *store.Store) {
	const n = 200
	for i := range n {
		keepResponse(t, s, response("usr_1", fmt.Sprintf("resp_%04d", i), map[bool]string{true: fmt.Sprintf("resp_%04d", i-1)}[i > 0]))
	}
	list, err := s.Pages.ResponseChain(t.Context(), "usr_1", fmt.Sprintf("resp_%04d", n-1), at, 1000, 1<<20)
	if err != nil || len(list) != n || list[0].ID != "resp_0000" {
		t.Errorf("%d %v", len(list), err)
	}
}

func finalStays(t *testing.T, s *store.Store) {
	r := response("usr_1", "resp_1", "")
	keepResponse(t, s, r)
	other := response("usr_1", "resp_1", "")
	other.Output = []byte(`{"out":"other"}`)
	keepResponse(t, s, other)
	if done, err := s.Pages.MarkResponse(t.Context(), r.Account, r.ID, history.Cancelled, at); done || err != nil {
		t.Errorf("%t %v", done, err)
	}
	wantResponse(t, s, r)
}

func underWay(t *testing.T, s *store.Store) {
	r := response("usr_1", "resp_1", "")
	r.Status, r.Background, r.Output, r.Items = history.Queued, true, []byte{}, nil
	keepResponse(t, s, r)
	other := response("usr_2", "resp_2", "")
	other.Status, other.Background = history.Queued, true
	final := response("usr_1", "resp_0", "")
	keepResponse(t, s, other)
	keepResponse(t, s, final)
	stranger := *other
	stranger.Account = "usr_1"
	list := []*history.Response{other, &stranger, r, response("usr_1", "resp_3", ""), final}
	if there, err := s.Pages.CarryResponses(t.Context(), list, at.Add(time.Hour)); err != nil || !slices.Equal(there, []bool{true, false, true, false, false}) {
		t.Fatalf("%v %v", there, err)
	}
	r.Status, r.StaleAt = history.InProgress, at.Add(time.Hour)
	wantResponse(t, s, r)
	ended := response("usr_1", "resp_1", "")
	ended.Background = true
	keepResponse(t, s, ended)
	wantResponse(t, s, ended)
	if found, err := s.Pages.ResponseOfItem(t.Context(), "usr_1", ended.Items[0], at); err != nil || found.ID != r.ID {
		t.Errorf("%v %v", found, err)
	}
}

func deletedResponse(t *testing.T, s *store.Store) {
	r := response("usr_1", "resp_1", "")
	keepResponse(t, s, r)
	for _, want := range []bool{true, false} {
		if done, err := s.Pages.DeleteResponse(t.Context(), r.Account, r.ID); done != want || err != nil {
			t.Errorf("%t %v", done, err)
		}
	}
	_, err := s.Pages.Response(t.Context(), r.Account, r.ID, at)
	wantNoResponse(t, err)
	keepResponse(t, s, response("usr_1", "resp_2", ""))
	again := response("usr_1", "resp_3", "")
	again.Items = r.Items // free again
	keepResponse(t, s, again)
	if found, err := s.Pages.ResponseOfItem(t.Context(), r.Account, r.Items[0], at); err != nil || found.ID != "resp_3" {
		t.Errorf("%+v %v", found, err)
	}
}

func firstItem(t *testing.T, s *store.Store) {
	one, two := response("usr_1", "resp_1", ""), response("usr_1", "resp_2", "")
	two.Items = one.Items
	keepResponse(t, s, one)
	keepResponse(t, s, two)
	if found, err := s.Pages.ResponseOfItem(t.Context(), "usr_1", one.Items[0], at); err != nil || found.ID != one.ID {
		t.Errorf("%+v %v", found, err)
	}
}

func deleteResponses(t *testing.T, s *store.Store) {
	for i := range 5 {
		r := response("usr_1", fmt.Sprint("resp_", i), "")
		r.CreatedAt = at.Add(time.Duration(i) * time.Minute)
		r.ExpiresAt = at.Add(48 * time.Hour)
		if i == 4 {
			r.Status = history.InProgress
		}
		keepResponse(t, s, r)
	}
	keepResponse(t, s, response("usr_2", "resp_other", ""))
	one := response("usr_1", "resp_0", "")
	stock := func(when time.Time, want history.Stock) {
		t.Helper()
		if got, err := s.Pages.CountResponses(t.Context(), "usr_1", when); err != nil || got != want {
			t.Errorf("stored at %v: %+v %v, want %+v", when, got, err, want)
		}
	}
	stock(at, history.Stock{Responses: 5, Bytes: 5 * int64(one.Size()), Oldest: at})
	if err := s.Pages.ShortenResponses(t.Context(), "usr_1", time.Hour); err != nil {
		t.Fatal(err)
	}
	if err := s.Pages.ShortenResponses(t.Context(), "usr_1", 24*time.Hour); err != nil { // it does not lengthen anything
		t.Fatal(err)
	}
	stock(at.Add(time.Hour), history.Stock{Responses: 4, Bytes: 4 * int64(one.Size()), Oldest: at.Add(time.Minute)})
	e := event(audit.ResponsesGone)
	for _, c := range []struct {
		n, gone int
		e       *audit.Event
	}{{3, 3, &e}, {3, 1, nil}, {3, 0, nil}} {
		if n, err := s.Pages.DeleteResponses(t.Context(), "usr_1", c.n, at, c.e); err != nil || n != c.gone {
			t.Errorf("deleted %d %v, want %d", n, err, c.gone)
		}
	}
	stock(at, history.Stock{Responses: 1, Bytes: int64(one.Size()), Oldest: at.Add(4 * time.Minute)})
	if _, err := s.Pages.ResponseOfItem(t.Context(), "usr_1", "msg_resp_1", at); !fault.Is(err, fault.NotFound) {
		t.Errorf("an item of a deleted response: %v", err)
	}
	if _, err := s.Pages.Response(t.Context(), "usr_2", "resp_other", at); err != nil {
		t.Errorf("another account's: %v", err)
	}
}

func sweepResponses(t *testing.T, s *store.Store) {
	for i := range 5 {
		r := response("usr_1", fmt.Sprint("resp_", i), "")
		r.ExpiresAt = at.Add(time.Duration(i) * time.Minute)
		keepResponse(t, s, r)
	}
	wide := history.Bounds{Responses: 100, Bytes: 1 << 30}
	for _, want := range []int{2, 1, 0} {
		if n, err := s.Pages.SweepResponses(t.Context(), at.Add(2*time.Minute), wide, 2); err != nil || n != want {
			t.Errorf("%d %v, want %d", n, err, want)
		}
	}
	_, err := s.Pages.ResponseOfItem(t.Context(), "usr_1", "msg_resp_2", at)
	wantNoResponse(t, err)
	if _, err := s.Pages.Response(t.Context(), "usr_1", "resp_3", at); err != nil {
		t.Error(err)
	}
}

func tooMuchKept(t *testing.T, s *store.Store) {
	for i := range 20 {
		r := response("usr_1", fmt.Sprintf("resp_%02d", i), "")
		r.CreatedAt = at.Add(time.Duration(i) * time.Second)
		keepResponse(t, s, r)
	}
	keepResponse(t, s, response("usr_2", "resp_x", ""))
	one := response("usr_1", "resp_00", "")
	for _, c := range []struct {
		bounds history.Bounds
		gone   int // one more than what frees a tenth
	}{{history.Bounds{Responses: 19, Bytes: 1 << 30}, 3}, {history.Bounds{Responses: 100, Bytes: 10 * int64(one.Size())}, 9}} {
		if n, err := s.Pages.SweepResponses(t.Context(), at, c.bounds, 100); err != nil || n != c.gone {
			t.Errorf("%d %v, want %d", n, err, c.gone)
		}
		if n, err := s.Pages.SweepResponses(t.Context(), at, c.bounds, 100); err != nil || n != 0 {
			t.Errorf("again: %d %v", n, err)
		}
	}
	_, err := s.Pages.Response(t.Context(), "usr_1", "resp_00", at)
	wantNoResponse(t, err)
	for _, id := range []string{"usr_1 resp_19", "usr_2 resp_x"} {
		var account, name string
		_, _ = fmt.Sscan(id, &account, &name)
		if _, err := s.Pages.Response(t.Context(), account, name, at); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
}
