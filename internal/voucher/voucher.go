// Package voucher makes codes that put money into wallets: batches of them, who may redeem one, and that each is credited once. It keeps no
// code, only hashes, and moves no money itself: a store posts what is decided here.
package voucher

import (
	"context"
	"crypto/rand"
	"strconv"
	"strings"
	"time"

	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/usertext"
)

// Source is the source of the top-ups of vouchers in the books.
const Source = "voucher"

// Bounds of a batch.
const (
	MostCodes = 10_000
	MostUses  = 1_000_000
	MostNote  = 500 // bytes
	MostValue = 1_000_000 * money.Ruble
)

// Batch is a set of codes of one value.
type Batch struct {
	ID        string // "vb_..."
	Amount    money.Nano
	Codes     int64
	Uses      int64 // accounts that may redeem one of the codes
	Note      string
	Actor     string
	CreatedAt time.Time
	ExpiresAt time.Time // zero: never
	RevokedAt time.Time // zero: not revoked
	Redeemed  int64     // by how many accounts
}

// Most is what the batch may cost.
func (b *Batch) Most() (money.Nano, error) { return b.Amount.Mul(b.Codes * b.Uses) }

// Redemption is a code that an account has redeemed.
type Redemption struct {
	Batch   string
	Code    apikey.Sum
	Account string
	Wallet  string
	Amount  money.Nano
	At      time.Time
}

// State is what a store knows of a code and of the account that wants to redeem it, while it is locked.
type State struct {
	Batch Batch
	Used  int64       // accounts that have redeemed the code
	Prior *Redemption // of the account, from the same batch; nil: none
}

// Store keeps batches, the hashes of their codes, and redemptions. Each method that writes is one transaction.
type Store interface {
	AddVouchers(ctx context.Context, b Batch, codes []apikey.Sum, e audit.Event) error
	// VoucherBatch fails with fault.NotFound.
	VoucherBatch(ctx context.Context, id string) (Batch, error)
	// VoucherBatches lists batches, the newest first. It fails with fault.NotFound when there is no batch before.
	VoucherBatches(ctx context.Context, before string, limit int) ([]Batch, error)
	// RevokeVouchers ends a batch; of one that has ended already nothing changes. It fails with fault.NotFound.
	RevokeVouchers(ctx context.Context, id string, now time.Time, e audit.Event) (Batch, error)
	// RedeemVoucher posts what decide returns for the code, and notes the redemption. When decide returns nil, the account has redeemed this code
	// before, and that redemption is returned. It fails with fault.NotFound for an unknown code.
	RedeemVoucher(ctx context.Context, r Redemption, decide func(*State) (*ledger.Posting, error)) (done Redemption, repeated bool, err error)
}

// The alphabet of codes has no letters that people take for digits.
const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

const (
	codeLen  = 20 // 100 bits: too many to guess, even with the hashes
	groupLen = 4
	maxTyped = 100
)

// mint makes the text of a new code, such as "7K3M-...".
func mint() string {
	var raw [codeLen]byte
	_, _ = rand.Read(raw[:]) // never fails: it ends the program instead
	var b strings.Builder
	for i, c := range raw {
		if i > 0 && i%groupLen == 0 {
			b.WriteByte('-')
		}
		b.WriteByte(alphabet[c%32])
	}
	return b.String()
}

// SumOf hashes a code as a person types it: case, spaces and hyphens do not matter, and letters that look like digits are those digits. It
// fails with fault.Invalid for what no code looks like.
func SumOf(typed string) (apikey.Sum, error) {
	wrong := func() (apikey.Sum, error) {
		return apikey.Sum{}, fault.Field("voucher.SumOf", "code", "A code has %d letters and digits, such as 7K3M-Q2XV-0000-0000-0000.", codeLen).Coded("voucher_code", "length", codeLen)
	}
	if len(typed) > maxTyped {
		return wrong()
	}
	clean := make([]byte, 0, codeLen)
	for _, r := range strings.ToUpper(typed) {
		switch r {
		case '-', ' ', '\t', '\n', '\r', '\u00a0', '\u2010', '\u2011', '\u2013', '\u2014':
			continue
		case 'O':
			r = '0'
		case 'I', 'L':
			r = '1'
		}
		if r > '~' || !strings.ContainsRune(alphabet, r) || len(clean) == codeLen {
			return wrong()
		}
		clean = append(clean, byte(r))
	}
	if len(clean) != codeLen {
		return wrong()
	}
	return apikey.SumOf(string(clean)), nil
}

// Manager makes, revokes and redeems vouchers. It is safe for concurrent use.
type Manager struct {
	store Store
	now   func() time.Time
}

// NewManager makes a Manager.
func NewManager(s Store, now func() time.Time) *Manager { return &Manager{store: s, now: now} }

// Order asks for a batch.
type Order struct {
	Amount    money.Nano
	Codes     int64
	Uses      int64
	Note      string
	ExpiresAt time.Time // zero: never
	Actor     audit.Actor
}

// Make makes a batch and returns it with the texts of its codes, which exist nowhere else. It fails with fault.Invalid.
func (m *Manager) Make(ctx context.Context, o Order) (Batch, []string, error) {
	now := m.now().UTC().Truncate(time.Microsecond)
	if err := o.check(now); err != nil {
		return Batch{}, nil, err
	}
	b := Batch{ID: apikey.NewID("vb_"), Amount: o.Amount, Codes: o.Codes, Uses: o.Uses, Note: strings.TrimSpace(o.Note), Actor: o.Actor.Name, CreatedAt: now}
	if !o.ExpiresAt.IsZero() {
		b.ExpiresAt = o.ExpiresAt.UTC().Truncate(time.Microsecond)
	}
	most, err := b.Most()
	if err != nil || most > ledger.MaxPosting {
		return Batch{}, nil, fault.Field("voucher.Make", "codes", "All uses of the codes together may be worth at most %s rubles. Make fewer codes, or codes of less value.", ledger.MaxPosting).Coded("vouchers_worth", "most", ledger.MaxPosting)
	}
	codes, sums := make([]string, o.Codes), make([]apikey.Sum, o.Codes)
	for i := range codes {
		codes[i] = mint()
		if sums[i], err = SumOf(codes[i]); err != nil {
			return Batch{}, nil, fault.Wrap("voucher.Make", err)
		}
	}
	e := audit.Event{Actor: o.Actor, Action: audit.VouchersMade, Target: b.ID, After: b.words()}
	return b, codes, m.store.AddVouchers(ctx, b, sums, e)
}

func (o *Order) check(now time.Time) error {
	const op = "voucher.Make"
	switch {
	case o.Amount <= 0 || o.Amount > MostValue:
		return fault.Field(op, "amount", "amount must be above zero, and at most %s rubles.", MostValue).Coded("rubles_above_zero", "most", MostValue)
	case o.Amount%(money.Ruble/100) != 0:
		return fault.Field(op, "amount", "amount must be whole kopecks, such as 500 or 99.90.").Coded("kopecks")
	case o.Codes < 1 || o.Codes > MostCodes:
		return fault.Field(op, "codes", "codes must be from 1 to %d.", MostCodes).Coded("codes_range", "most", MostCodes)
	case o.Uses < 1 || o.Uses > MostUses:
		return fault.Field(op, "uses", "uses must be from 1 to %d.", MostUses).Coded("uses_range", "most", MostUses)
	case strings.TrimSpace(o.Note) == "" || len(o.Note) > MostNote || !usertext.Is(o.Note):
		return fault.Field(op, "note", "note is missing or invalid: say in one line of at most %d bytes what the codes are for.", MostNote).Coded("voucher_note", "most", MostNote)
	case !o.ExpiresAt.IsZero() && !o.ExpiresAt.After(now):
		return fault.Field(op, "expires_at", "expires_at must be in the future.").Coded("past")
	}
	return nil
}

func (b *Batch) words() string {
	text := strconv.FormatInt(b.Codes, 10) + " codes of " + b.Amount.String() + " rubles, each for " + strconv.FormatInt(b.Uses, 10) + " accounts"
	if !b.ExpiresAt.IsZero() {
		text += ", until " + b.ExpiresAt.Format(time.RFC3339)
	}
	return text + ": " + b.Note
}

// Batches lists batches; see Store.
func (m *Manager) Batches(ctx context.Context, before string, limit int) ([]Batch, error) {
	return m.store.VoucherBatches(ctx, before, limit)
}

// Batch finds one; see Store.
func (m *Manager) Batch(ctx context.Context, id string) (Batch, error) {
	return m.store.VoucherBatch(ctx, id)
}

// Revoke ends a batch: its codes can no longer be redeemed. What was credited stays.
func (m *Manager) Revoke(ctx context.Context, id string, by audit.Actor) (Batch, error) {
	return m.store.RevokeVouchers(ctx, id, m.now(), audit.Event{Actor: by, Action: audit.VouchersRevoked, Target: id})
}

// Redeem credits a wallet with the value of a code, once for an account and batch. Repeated by the same account with the same code it returns
// the first redemption, and nothing is credited. It fails with fault.Invalid for what no code looks like, fault.NotFound for an unknown code,
// and fault.Conflict for one that has expired, was revoked, is used up, or of whose batch the account has redeemed another.
func (m *Manager) Redeem(ctx context.Context, typed, account, wallet string, by audit.Actor) (done Redemption, repeated bool, err error) {
	sum, err := SumOf(typed)
	if err != nil {
		return done, false, err
	}
	now := m.now().UTC().Truncate(time.Microsecond)
	r := Redemption{Code: sum, Account: account, Wallet: wallet, At: now}
	return m.store.RedeemVoucher(ctx, r, func(s *State) (*ledger.Posting, error) { return s.decide(&r, by) })
}

// decide is what a redemption posts; nil when it was made before.
func (s *State) decide(r *Redemption, by audit.Actor) (*ledger.Posting, error) {
	const op = "voucher.Redeem"
	b := &s.Batch
	refuse := func(reason, text string) (*ledger.Posting, error) {
		e := fault.New(fault.Conflict, op, text)
		e.Param, e.Details = "code", map[string]any{"reason": reason}
		return nil, e
	}
	switch {
	case s.Prior != nil && s.Prior.Code == r.Code:
		return nil, nil //nolint:nilnil // nothing more is posted
	case s.Prior != nil:
		return refuse("one_per_account", "Your account has redeemed another code of this kind, and may redeem one.")
	case !b.RevokedAt.IsZero():
		return refuse("revoked", "This code was withdrawn.")
	case !b.ExpiresAt.IsZero() && !r.At.Before(b.ExpiresAt):
		return refuse("expired", "This code has expired.")
	case s.Used >= b.Uses:
		return refuse("used_up", "This code was redeemed as often as it may.")
	}
	top := ledger.TopUp{Wallet: r.Wallet, Source: Source, ExternalID: b.ID + ":" + r.Account, Amount: b.Amount, Actor: by}
	post, err := top.Posting(r.At)
	return &post, err
}
