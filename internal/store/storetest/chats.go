package storetest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/internal/account"
	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/chat"
	"weir/internal/fault"
	"weir/internal/store"
)

// Chats checks what a store does for kept chats. open gives an empty store, and closes it after the test.
func Chats(t *testing.T, open Open) {
	cases := map[string]func(*testing.T, *store.Store){
		"changes":           chatChanges,
		"bounds":            chatBounds,
		"only their user's": chatUsers,
		"ends":              chatEnds,
		"at once":           chatRace,
	}
	for name, check := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, open(t, nil))
		})
	}
}

func chatUser(t *testing.T, s *store.Store) string {
	t.Helper()
	u, err := account.Make("Anna", apikey.User, payAt)
	if err == nil {
		err = s.Accounts.CreateUser(t.Context(), u, account.CreatedEvent(&u, audit.Actor{Name: "test"}))
	}
	if err != nil {
		t.Fatal(err)
	}
	return u.ID
}

// chatOf is a chat that was changed minutes after payAt, and is kept for an hour.
func chatOf(user, id string, minutes, size int) chat.Chat {
	at := payAt.Add(time.Duration(minutes) * time.Minute)
	content := `{"text":"` + strings.Repeat("я", max(0, size-11)/2) + strings.Repeat("a", max(0, size-11)%2) + `"}`
	return chat.Chat{User: user, ID: id, Title: "Вода " + id, Size: int64(len(content)), Content: []byte(content), CreatedAt: at, UpdatedAt: at, ExpiresAt: at.Add(time.Hour)}
}

func keepChat(t *testing.T, s *store.Store, c chat.Chat, b chat.Bounds) chat.Chat {
	t.Helper()
	kept, err := s.Pages.KeepChat(t.Context(), c, b)
	if err != nil {
		t.Fatal(err)
	}
	return kept
}

func chatIDs(t *testing.T, s *store.Store, user string, now time.Time) (ids []string) {
	t.Helper()
	all, err := s.Pages.ListChats(t.Context(), user, now)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		ids = append(ids, c.ID)
	}
	return ids
}

var wideBounds = chat.Bounds{Chats: 10, Bytes: 1 << 20}

func chatChanges(t *testing.T, s *store.Store) {
	user := chatUser(t, s)
	a, b := chatOf(user, "aaaaaaaa", 0, 50), chatOf(user, "bbbbbbbb", 1, 70)
	keepChat(t, s, a, wideBounds)
	keepChat(t, s, b, wideBounds)
	now := payAt.Add(5 * time.Minute)
	bare := func(c chat.Chat) chat.Chat { c.Content = nil; return c }
	all, err := s.Pages.ListChats(t.Context(), user, now)
	if want := []chat.Chat{bare(b), bare(a)}; err != nil || cmp.Diff(want, all) != "" {
		t.Errorf("%v: %s", err, cmp.Diff(want, all))
	}
	got, err := s.Pages.Chat(t.Context(), user, a.ID, now)
	if err != nil || cmp.Diff(&a, got) != "" {
		t.Errorf("%v: %s", err, cmp.Diff(&a, got))
	}
	later := chatOf(user, a.ID, 4, 90)
	later.Title = "Other"
	kept := keepChat(t, s, later, wideBounds)
	later.CreatedAt = a.CreatedAt
	if cmp.Diff(bare(later), kept) != "" {
		t.Error(cmp.Diff(bare(later), kept))
	}
	if got, err := s.Pages.Chat(t.Context(), user, a.ID, now); err != nil || cmp.Diff(&later, got) != "" {
		t.Errorf("%v: %s", err, cmp.Diff(&later, got))
	}
	if ids := chatIDs(t, s, user, now); !slices.Equal(ids, []string{a.ID, b.ID}) {
		t.Errorf("the one changed last is not the first: %v", ids)
	}
	if err := s.Pages.DeleteChat(t.Context(), user, a.ID); err != nil {
		t.Error(err)
	}
	if err := s.Pages.DeleteChat(t.Context(), user, a.ID); !fault.Is(err, fault.NotFound) {
		t.Errorf("deleted twice: %v", err)
	}
	if _, err := s.Pages.Chat(t.Context(), user, a.ID, now); !fault.Is(err, fault.NotFound) {
		t.Errorf("found when it is deleted: %v", err)
	}
	if _, err := s.Pages.KeepChat(t.Context(), chatOf("usr_none", "aaaaaaaa", 0, 50), wideBounds); !fault.Is(err, fault.NotFound) {
		t.Errorf("of no user: %v", err)
	}
}

// One account's chats are bounded by number and by bytes: the oldest go. Another's stay.
func chatBounds(t *testing.T, s *store.Store) {
	user, other := chatUser(t, s), chatUser(t, s)
	keepChat(t, s, chatOf(other, "oooooooo", 0, 1000), wideBounds)
	now := payAt.Add(30 * time.Minute)
	id := func(n int) string { return fmt.Sprintf("chat%04d", n) }
	for n := range 6 {
		keepChat(t, s, chatOf(user, id(n), n, 100), chat.Bounds{Chats: 4, Bytes: 1 << 20})
	}
	if ids := chatIDs(t, s, user, now); !slices.Equal(ids, []string{id(5), id(4), id(3), id(2)}) {
		t.Errorf("of six, four are: %v", ids)
	}
	keepChat(t, s, chatOf(user, id(2), 6, 150), chat.Bounds{Chats: 4, Bytes: 350}) // 150 + 100 + 100
	if ids := chatIDs(t, s, user, now); !slices.Equal(ids, []string{id(2), id(5), id(4)}) {
		t.Errorf("within 350 bytes: %v", ids)
	}
	keepChat(t, s, chatOf(user, id(9), 7, 350), chat.Bounds{Chats: 4, Bytes: 350})
	if ids := chatIDs(t, s, user, now); !slices.Equal(ids, []string{id(9)}) {
		t.Errorf("one that fills the bound: %v", ids)
	}
	if ids := chatIDs(t, s, other, now); len(ids) != 1 {
		t.Errorf("the other account has %v", ids)
	}
}

func chatUsers(t *testing.T, s *store.Store) {
	user, other := chatUser(t, s), chatUser(t, s)
	mine := chatOf(user, "aaaaaaaa", 0, 50)
	keepChat(t, s, mine, wideBounds)
	if _, err := s.Pages.Chat(t.Context(), other, mine.ID, payAt); !fault.Is(err, fault.NotFound) {
		t.Errorf("another's chat is read: %v", err)
	}
	if err := s.Pages.DeleteChat(t.Context(), other, mine.ID); !fault.Is(err, fault.NotFound) {
		t.Errorf("another's chat is deleted: %v", err)
	}
	theirs := chatOf(other, mine.ID, 0, 60) // an id is one's own
	keepChat(t, s, theirs, wideBounds)
	if n, err := s.Pages.DeleteChats(t.Context(), other, payAt, event(audit.ChatsGone)); err != nil || n != 1 {
		t.Errorf("%d, %v", n, err)
	}
	if n, err := s.Pages.DeleteChats(t.Context(), other, payAt, event(audit.ChatsGone)); err != nil || n != 0 {
		t.Errorf("%d, %v", n, err)
	}
	if got, err := s.Pages.Chat(t.Context(), user, mine.ID, payAt); err != nil || cmp.Diff(&mine, got) != "" {
		t.Errorf("%v: %s", err, cmp.Diff(&mine, got))
	}
}

func chatEnds(t *testing.T, s *store.Store) {
	user, other := chatUser(t, s), chatUser(t, s)
	old, fresh := chatOf(user, "aaaaaaaa", 0, 50), chatOf(user, "bbbbbbbb", 30, 50)
	keepChat(t, s, old, wideBounds)
	keepChat(t, s, fresh, wideBounds)
	keepChat(t, s, chatOf(other, "oooooooo", 0, 50), wideBounds)
	at := old.ExpiresAt
	if ids := chatIDs(t, s, user, at); !slices.Equal(ids, []string{fresh.ID}) {
		t.Errorf("%v", ids)
	}
	if _, err := s.Pages.Chat(t.Context(), user, old.ID, at); !fault.Is(err, fault.NotFound) {
		t.Errorf("found when it is over: %v", err)
	}
	again := chatOf(user, old.ID, 60, 50) // the same id anew is a new chat
	if kept := keepChat(t, s, again, wideBounds); !kept.CreatedAt.Equal(again.CreatedAt) {
		t.Errorf("made at %v", kept.CreatedAt)
	}
	if err := s.Pages.ShortenChats(t.Context(), user, time.Minute); err != nil {
		t.Fatal(err)
	}
	if err := s.Pages.ShortenChats(t.Context(), user, time.Hour); err != nil { // longer again gives no time back
		t.Fatal(err)
	}
	if ids := chatIDs(t, s, user, payAt.Add(31*time.Minute)); !slices.Equal(ids, []string{again.ID}) {
		t.Errorf("%v", ids)
	}
	for _, want := range []int{1, 1, 1, 0} {
		if n, err := s.Pages.SweepChats(t.Context(), payAt.Add(3*time.Hour), 1); err != nil || n != want {
			t.Errorf("%d, %v, want %d", n, err, want)
		}
	}
}

// Concurrent writes leave no account above its bound.
func chatRace(t *testing.T, s *store.Store) {
	user := chatUser(t, s)
	var wg sync.WaitGroup
	for n := range 12 {
		wg.Go(func() {
			if _, err := s.Pages.KeepChat(t.Context(), chatOf(user, fmt.Sprintf("chat%04d", n), n, 50), chat.Bounds{Chats: 3, Bytes: 1 << 20}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if ids := chatIDs(t, s, user, payAt.Add(30*time.Minute)); len(ids) > 3 || len(ids) == 0 {
		t.Errorf("%v", ids)
	}
}
