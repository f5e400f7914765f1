package httpapi

import (
	"net/http"
	"strconv"
	"time"

	"weir/internal/fault"
	"weir/internal/rawjson"
	"weir/internal/voucher"
)

const (
	vouchersPage = 20
	vouchersMost = 100
)

// postRedeem serves POST /api/vouchers/redeem. Every try counts towards a limit, against guessing.
func (x *exchange) postRedeem() error {
	body, err := x.readObject()
	if err != nil {
		return err
	}
	code := ""
	for m := rawjson.MembersOf(body); m.Next(); {
		kind, name := rawjson.KindOf(m.Value), string(m.Name)
		switch {
		case name != "code":
			return fault.Field("httpapi.postRedeem", clip(name), "This route has no field of this name.").Coded("unknown_field")
		case kind != rawjson.String:
			return wrongKind(name, kind)
		}
		code = rawjson.Text(m.Value)
	}
	if code == "" {
		return fault.Field("httpapi.postRedeem", "code", "code is missing: give the code of a voucher.").Coded("voucher_missing")
	}
	if err := x.api.quotas.Redeem(x.at, x.caller.User, x.addressName()); err != nil {
		return err
	}
	r, repeated, err := x.api.Vouchers.Redeem(x.context(), code, x.caller.User, x.caller.Wallet, x.actor())
	if fault.Is(err, fault.NotFound) {
		e := fault.From(err)
		return &fault.Error{Kind: fault.NotFound, Op: e.Op, Public: e.Public, Param: "code", Cause: err}
	}
	if err != nil {
		return err
	}
	var o object
	o.Object()
	o.Name("data").Object()
	o.text("voucher", r.Batch)
	o.amountText("amount", r.Amount)
	o.moment("redeemed_at", r.At)
	o.boolean("repeated", repeated)
	o.EndObject()
	o.EndObject()
	x.w.Header().Set("Cache-Control", "no-store")
	return x.reply(&o)
}

func appendVouchers(o *object, b *voucher.Batch) {
	o.text("id", b.ID)
	o.amountText("amount", b.Amount)
	o.integer("codes", b.Codes)
	o.integer("uses", b.Uses)
	o.integer("redeemed", b.Redeemed)
	o.text("note", b.Note)
	o.text("actor", b.Actor)
	o.moment("created_at", b.CreatedAt)
	o.moment("expires_at", b.ExpiresAt)
	o.moment("revoked_at", b.RevokedAt)
}

// listAdminVouchers serves GET /api/admin/vouchers.
func (x *exchange) listAdminVouchers() error {
	limit, err := x.limitOf(vouchersPage, vouchersMost)
	if err != nil {
		return err
	}
	all, err := x.api.Vouchers.Batches(x.context(), x.r.URL.Query().Get("cursor"), limit+1)
	if fault.Is(err, fault.NotFound) {
		return fault.Field("httpapi.listAdminVouchers", "cursor", "cursor must be next of the page before.").Coded("cursor")
	}
	if err != nil {
		return err
	}
	more := len(all) > limit
	all = all[:min(limit, len(all))]
	var o object
	o.Object()
	o.Name("data").Array()
	for i := range all {
		o.Object()
		appendVouchers(&o, &all[i])
		o.EndObject()
	}
	o.EndArray()
	if more {
		o.text("next", all[len(all)-1].ID)
	} else {
		o.null("next")
	}
	o.EndObject()
	return x.reply(&o)
}

// postAdminVouchers serves POST /api/admin/vouchers. The answer has the codes, which are not shown again.
func (x *exchange) postAdminVouchers() error {
	const op = "httpapi.postAdminVouchers"
	body, err := x.readObject()
	if err != nil {
		return err
	}
	order := voucher.Order{Codes: 1, Uses: 1, Actor: x.actor()}
	for m := rawjson.MembersOf(body); m.Next(); {
		kind, name := rawjson.KindOf(m.Value), string(m.Name)
		switch {
		case name == "amount":
			if order.Amount, err = rublesOf(name, m.Value); err != nil {
				return err
			}
		case (name == "codes" || name == "uses") && kind == rawjson.Number:
			n, err := strconv.ParseInt(string(m.Value), 10, 64)
			if err != nil {
				return fault.Field(op, name, "%s must be a whole number.", name).Coded("whole_number")
			}
			if name == "codes" {
				order.Codes = n
			} else {
				order.Uses = n
			}
		case name == "note" && kind == rawjson.String:
			order.Note = rawjson.Text(m.Value)
		case name == "expires_at" && kind == rawjson.Null:
		case name == "expires_at" && kind == rawjson.String:
			if order.ExpiresAt, err = time.Parse(time.RFC3339, rawjson.Text(m.Value)); err != nil {
				return fault.Field(op, name, "expires_at must be a time such as 2027-01-31T00:00:00Z.").Coded("time")
			}
		case name == "codes" || name == "uses" || name == "note" || name == "expires_at":
			return wrongKind(name, kind)
		default:
			return fault.Field(op, clip(name), "This route has no field of this name.").Coded("unknown_field")
		}
	}
	b, codes, err := x.api.Vouchers.Make(x.context(), order)
	if err != nil {
		return err
	}
	o := newObject(1024 + 30*len(codes))
	o.Object()
	o.Name("data").Object()
	appendVouchers(&o, &b)
	o.Name("secrets").Array()
	for _, c := range codes {
		o.Text(c)
	}
	o.EndArray()
	o.EndObject()
	o.EndObject()
	x.w.Header().Set("Cache-Control", "no-store")
	x.writeBody(http.StatusCreated, jsonType, o.B)
	return nil
}

// deleteAdminVouchers serves DELETE /api/admin/vouchers/{id}: the batch stays in the list, and its codes end.
func (x *exchange) deleteAdminVouchers() error {
	b, err := x.api.Vouchers.Revoke(x.context(), x.values[0], x.actor())
	if err != nil {
		return err
	}
	var o object
	o.Object()
	o.Name("data").Object()
	appendVouchers(&o, &b)
	o.EndObject()
	o.EndObject()
	return x.reply(&o)
}
