package report

import (
	"context"
	"strings"
	"time"

	"weir/internal/ledger"
	"weir/internal/money"
)

// Person is a user as those who run the gateway see them in a list.
type Person struct {
	ID        string
	Name      string
	Email     string // "": none
	Role      string
	Disabled  bool
	Wallet    string
	Balance   money.Nano
	Held      money.Nano // as nodes reported it last
	Spent     money.Nano // what the calls of this month cost, by the clock of the account
	LastCall  time.Time  // when it began; zero: there was none
	CreatedAt time.Time
}

// Available is what further calls may take.
func (p *Person) Available() money.Nano { return p.Balance - p.Held }

// PeopleSearch chooses users. Zero fields choose all.
type PeopleSearch struct {
	ID     string // of the user
	KeyID  string // the user of that key
	Label  string // the user of a key with that label
	KeyEnd string // besides those who have Text: users of a key whose text ends so
	Text   string // in the name or the address

	Role     string
	Disabled *bool
	After    string // the id of the last user of the page before
	Limit    int
}

// keyEnd is how many of the last characters of a key are known.
const keyEnd = 3

// Looked reads what somebody typed to find a person: an id, the label of a key or its last three or four characters, a part of a name or address.
func (s *PeopleSearch) Looked(typed string) {
	typed = strings.TrimSpace(typed)
	switch {
	case strings.HasPrefix(typed, "usr_"):
		s.ID = typed
	case strings.HasPrefix(typed, "key_"):
		s.KeyID = typed
	case strings.HasPrefix(typed, "sk-"):
		s.Label = strings.ReplaceAll(typed, "…", "...")
	default:
		s.Text = typed
		end := strings.TrimLeft(typed, ".…")
		if n := len(end); (n == keyEnd || n == keyEnd+1) && strings.IndexFunc(end, notOfKey) < 0 {
			s.KeyEnd = end[n-keyEnd:]
		}
	}
}

// notOfKey reports characters that the texts of keys do not have.
func notOfKey(r rune) bool {
	return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
}

// People lists users, the newest first. It fails with fault.NotFound when there is no user s.After.
func (r *Reporter) People(ctx context.Context, s PeopleSearch) ([]Person, error) {
	if _, err := r.book.CatchUp(ctx); err != nil {
		return nil, err
	}
	return r.store.People(ctx, s)
}

// Funds is what a wallet has. Running is how much is on hold for, -1 if other nodes hold something, whose calls are not known here.
func (r *Reporter) Funds(ctx context.Context, wallet string) (b ledger.Balance, running int, err error) {
	if b, err = r.book.Balance(ctx, wallet); err != nil {
		return b, 0, err
	}
	running, err = r.running(ctx, wallet, b.Held)
	return b, running, err
}
