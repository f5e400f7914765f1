package paymentdb

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"strings"
	"time"

	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/store/auditdb"
	"weir/internal/store/ledgerdb"
	"weir/internal/store/sqldb"
	"weir/internal/voucher"
)

var vouchers = sqldb.Map[voucher.Batch, struct {
	ID, Note, Actor       string
	Amount                money.Nano
	Codes, Uses, Redeemed int64
	CreatedAt             time.Time
	ExpiresAt, RevokedAt  time.Time `db:",null"`
}]("voucher_batches", sqldb.Computed[voucher.Batch]("redeemed", countRedeemed))

const countRedeemed = `(SELECT COUNT(*) FROM voucher_redemptions r WHERE r.batch = voucher_batches.id)`

var (
	voucherTerms = strings.Replace(vouchers.Select, countRedeemed, "0", 1) // without a count of all who were there before
	voucherCodes = sqldb.Table{Name: "voucher_codes", Columns: []string{"hash", "batch", "used"}}
)

var redemptions = sqldb.Map[voucher.Redemption, struct {
	Batch, Account, Wallet string
	Code                   []byte
	Amount                 money.Nano
	At                     time.Time
}]("voucher_redemptions", sqldb.Encoded("code", func(r *voucher.Redemption) string { return r.Code.String() }, func(r *voucher.Redemption, code string) error {
	_, err := hex.Decode(r.Code[:], []byte(code))
	return err
}))

// AddVouchers is voucher.Store.AddVouchers.
func (s *Payments) AddVouchers(ctx context.Context, b voucher.Batch, codes []apikey.Sum, e audit.Event) error {
	return auditdb.Write(ctx, s.db, e, b.CreatedAt, func(t *sqldb.Tx) error {
		if err := vouchers.Insert(t, &b); err != nil {
			return err
		}
		return t.Insert(&voucherCodes, len(codes), func(args []any, i int) []any { return append(args, codes[i].String(), b.ID, int64(0)) })
	})
}

// VoucherBatch is voucher.Store.VoucherBatch.
func (s *Payments) VoucherBatch(ctx context.Context, id string) (b voucher.Batch, err error) {
	b, err = vouchers.Find(ctx, s.db, `WHERE id = $1`, id)
	return b, sqldb.NoneOf("store.VoucherBatch", "batch of vouchers", err)
}

// VoucherBatches is voucher.Store.VoucherBatches.
func (s *Payments) VoucherBatches(ctx context.Context, before string, limit int) ([]voucher.Batch, error) {
	at, id := int64(1)<<62, ""
	if before != "" {
		last, err := s.VoucherBatch(ctx, before)
		if err != nil {
			return nil, err
		}
		at, id = last.CreatedAt.UnixMicro(), last.ID
	}
	return vouchers.List(ctx, s.db, "store.VoucherBatches", `WHERE created_at < $1 OR created_at = $1 AND id < $2 ORDER BY created_at DESC, id DESC LIMIT $3`, at, id, limit)
}

// RevokeVouchers is voucher.Store.RevokeVouchers.
func (s *Payments) RevokeVouchers(ctx context.Context, id string, now time.Time, e audit.Event) (b voucher.Batch, err error) {
	err = s.db.Write(ctx, func(t *sqldb.Tx) error {
		var some int64
		if err := t.LockedRow(`SELECT codes FROM voucher_batches WHERE id = $1`, id).Scan(&some); err != nil { // redemptions under way end before
			return sqldb.NoneOf("store.RevokeVouchers", "batch of vouchers", err)
		}
		if b, err = vouchers.Row(t, `WHERE id = $1`, id); err != nil || !b.RevokedAt.IsZero() {
			return err
		}
		b.RevokedAt = now.UTC().Truncate(time.Microsecond)
		if _, err := t.Exec(`UPDATE voucher_batches SET revoked_at = $2 WHERE id = $1`, id, b.RevokedAt.UnixMicro()); err != nil {
			return err
		}
		return auditdb.Record(t, e, now)
	})
	return b, err
}

// RedeemVoucher is voucher.Store.RedeemVoucher. The wallet is locked first, as in all that moves money, then the batch: that of two accounts which
// redeem the last use of a code, or of an account that redeems two codes, the second sees what the first has done.
func (s *Payments) RedeemVoucher(ctx context.Context, r voucher.Redemption, decide func(*voucher.State) (*ledger.Posting, error)) (done voucher.Redemption, repeated bool, err error) {
	code := r.Code.String()
	var known bool // read without a lock, so that guesses do not delay other accounts
	err = s.db.Read(ctx, &known, `SELECT EXISTS (SELECT 1 FROM voucher_codes WHERE hash = $1)`, code)
	if err == nil && !known {
		err = fault.New(fault.NotFound, "store.RedeemVoucher", "There is no such code. Check every letter.")
	}
	if err != nil {
		return done, false, sqldb.Failure("store.RedeemVoucher", err)
	}
	err = ledgerdb.InWallet(ctx, s.db, r.Wallet, func(t *sqldb.Tx) error {
		done, repeated = voucher.Redemption{}, false
		var of voucher.State
		var id string
		if err := t.Row(`SELECT batch FROM voucher_codes WHERE hash = $1`, code).Scan(&id); err != nil {
			return err
		}
		if err := t.LockedRow(`SELECT id FROM voucher_batches WHERE id = $1`, id).Scan(&id); err != nil {
			return err
		}
		if err := t.Row(`SELECT used FROM voucher_codes WHERE hash = $1`, code).Scan(&of.Used); err != nil {
			return err
		}
		if of.Batch, err = vouchers.Scan(t.Row(voucherTerms+`WHERE id = $1`, id)); err != nil {
			return err
		}
		switch prior, err := redemptions.Row(t, `WHERE batch = $1 AND account = $2`, id, r.Account); {
		case err == nil:
			of.Prior = &prior
		case !errors.Is(err, sql.ErrNoRows):
			return err
		}
		post, err := decide(&of)
		if err != nil {
			return err
		}
		if post == nil {
			done, repeated = *of.Prior, true
			return nil
		}
		r.Batch, r.Amount = id, of.Batch.Amount
		if err := t.One(`UPDATE voucher_codes SET used = used + 1 WHERE hash = $1 AND used < $2`, code, of.Batch.Uses); err != nil {
			return err
		}
		if err := redemptions.Insert(t, &r); err != nil {
			return err
		}
		posted, err := ledgerdb.Post(t, post)
		if err == nil && posted.Repeated {
			err = fault.Newf(fault.Conflict, "store.RedeemVoucher", "The posting %s was made before.", post.Ref)
		}
		done = r
		return err
	})
	if err != nil {
		return voucher.Redemption{}, false, err
	}
	return done, repeated, nil
}
