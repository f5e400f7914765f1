package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"weir/internal/account"
	"weir/internal/alert"
	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/config"
	"weir/internal/console"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/ownkey"
	"weir/internal/store"
	"weir/internal/video"
	"weir/internal/webhook"
	"weir/internal/wire"
)

// Admin gives commands access to the store of a data directory, whether a node is running on it or not.
type Admin struct {
	Store *store.Store
	Users *account.Manager
	Keys  *apikey.Manager

	cfg      config.Config
	webhooks *webhook.Secrets // nil before Editor was called
	ownKeys  *ownkey.Manager  // likewise
	alerts   *alert.Manager   // likewise
}

// OpenAdmin opens the store that cfg names. If there is none, it fails, or makes one if create is set.
func OpenAdmin(ctx context.Context, cfg config.Config, create bool) (*Admin, error) {
	opened := openExisting
	if create {
		if err := makeDataDir(cfg.DataDir); err != nil {
			return nil, err
		}
		opened = func(ctx context.Context, cfg config.Config) (*store.Store, error) { return openStore(ctx, cfg) }
	}
	store, err := opened(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return &Admin{cfg: cfg, Store: store, Users: account.NewManager(store.Accounts, nil, time.Now), Keys: apikey.NewManager(store.Accounts, nil, time.Now, cfg.Keys.MaxPerUser)}, nil
}

// MadeUp is until when what a demo's store has was made up, zero for one of which nothing was.
func (o *Admin) MadeUp(ctx context.Context) (time.Time, error) { return monthOf(ctx, o.Store) }

// Close closes the store.
func (o *Admin) Close() { _ = o.Store.Close() }

// UserNamed finds a user by user id, wallet id, or a name that only one has.
func (o *Admin) UserNamed(ctx context.Context, name string) (account.User, error) {
	users, err := o.Users.List(ctx)
	if err != nil {
		return account.User{}, err
	}
	var named []account.User
	for _, u := range users {
		if u.ID == name || u.Wallet == name {
			return u, nil
		}
		if u.Name == name {
			named = append(named, u)
		}
	}
	switch len(named) {
	case 1:
		return named[0], nil
	case 0:
	default: // people choose their names themselves
		return account.User{}, fmt.Errorf("%d users are named %q; give the id of one, see: weir user list", len(named), name)
	}
	return account.User{}, fmt.Errorf("there is no user %q; see: weir user list, or add one: weir user add NAME", name)
}

// KeyNamed finds a key's hash by the hash, its beginning, the label, or the key itself, such as one that was found where it should not be.
func (o *Admin) KeyNamed(ctx context.Context, name string) (string, error) {
	found := ""
	if name == "" {
		return "", errors.New("give the key's hash, its beginning, or its label; see: weir key list")
	}
	if whole := !strings.Contains(name, "..."); whole && (strings.HasPrefix(name, apikey.Prefix) || strings.HasPrefix(name, apikey.ManagementPrefix)) {
		name = apikey.Hash(name)
	}
	for f := (apikey.Filter{IncludeDisabled: true}); ; f.Offset += 100 {
		keys, err := o.Keys.List(ctx, f)
		if err != nil {
			return "", err
		}
		for i := range keys {
			if keys[i].Label != name && !strings.HasPrefix(keys[i].Hash, name) {
				continue
			}
			if found != "" {
				return "", fmt.Errorf("%q names more than one key; give more of the hash, see: weir key list", name)
			}
			found = keys[i].Hash
		}
		if len(keys) < 100 {
			break
		}
	}
	if found == "" {
		return "", fmt.Errorf("there is no key %q; see: weir key list", name) // of a key itself this is the hash
	}
	return found, nil
}

// CheckPreferences checks provider preferences that a person wrote, and returns the text to store, "" for an object without members. It
// fails for preferences that a request could not have.
func CheckPreferences(text string) (string, error) { return wire.PreferencesText([]byte(text)) }

// CheckDefaults does the same for the defaults of an account, which may also contain plugins.
func CheckDefaults(text string) (string, error) { return wire.DefaultsText([]byte(text)) }

// KeepStoring is what to store of new defaults of an account, which keep what its user has said of storing responses unless they say it anew.
func KeepStoring(was, text string) (string, error) { return wire.KeepStoring(was, text) }

// TopUp credits a user's wallet. With a ref, repeated calls credit once; done is false for the repetitions.
func (o *Admin) TopUp(ctx context.Context, u account.User, amount money.Nano, ref string, by audit.Actor) (done bool, err error) {
	if ref == "" {
		ref = apikey.NewID("cli_")
	}
	posted, err := ledger.Credit(ctx, o.Store.Ledger, ledger.TopUp{Wallet: u.Wallet, Source: "cli", ExternalID: ref, Amount: amount, Actor: by}, time.Now())
	return !posted.Repeated, err
}

// Verify recomputes the ledger and compares it with an earlier anchor, if there is one.
func (o *Admin) Verify(ctx context.Context, dir string, noted ledger.Anchor) (ledger.Report, error) {
	return ledger.Verify(ctx, o.Store.Ledger, ledger.JournalDir(dir), noted, time.Now())
}

// VerifyAudit checks the hash chain of the audit log and returns its last valid row; see audit.Check.
func (o *Admin) VerifyAudit(ctx context.Context, noted audit.Mark) (audit.Mark, error) {
	return audit.Check(o.Store.Accounts.AuditRows(ctx), noted)
}

// Explain writes how each number of a charge was calculated.
func (o *Admin) Explain(ctx context.Context, generation string, w io.Writer) error {
	x, err := ledger.Explain(ctx, o.Store.Ledger, "", generation)
	if err != nil {
		return err
	}
	_, err = x.WriteTo(w)
	return err
}

// Jobs are those of all accounts. Nodes carry out what is decided here: a running one cancels an ended video at its provider.
func (o *Admin) Jobs() *console.Jobs {
	videos := video.New(video.Deps{Store: o.Store.Jobs, Callbacks: endings{func() string { return o.cfg.Server.PublicURL }, time.Now}}, video.Default(time.Now))
	return &console.Jobs{Work: o.Store.Jobs, Notes: o.Store.Notices, Videos: videos, Now: time.Now}
}
