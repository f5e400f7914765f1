package batch

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"time"

	"weir/internal/apikey"
	"weir/internal/fault"
	"weir/internal/preset"
)

// Terms are what an account and its key add to a request of a provider's batch. Its answer is read and charged with the same terms, even if they
// were changed or deleted since, and on any node: the provider has done the work.
type Terms struct {
	Hash, Label  string // of the key
	Role         apikey.Role
	Strict       bool
	Account, Key string         // preferences, JSON objects as they were given, "" none
	Models       []string       // that the key may call; none: all
	Preset       *preset.Preset // that the request names, nil none
}

func termsOf(c *apikey.Caller, p *preset.Preset) *Terms {
	t := &Terms{Hash: c.Hash, Label: c.Label, Role: c.Role, Strict: c.Strict, Preset: p}
	if d := c.Defaults; d != nil {
		t.Account, t.Key, t.Models = d.Account, d.Key, d.Models
	}
	return t
}

// termsForm is the first byte of encoded terms: their form.
const termsForm = 1

// encode makes bytes for a store. Equal terms have equal bytes.
func (t *Terms) encode() []byte {
	b := []byte{termsForm}
	text := func(s string) { b = append(binary.AppendUvarint(b, uint64(len(s))), s...) }
	number := func(n int64) { b = binary.AppendVarint(b, n) }
	flag := func(f bool) {
		if f {
			number(1)
		} else {
			number(0)
		}
	}
	for _, s := range []string{t.Hash, t.Label, string(t.Role), t.Account, t.Key} {
		text(s)
	}
	flag(t.Strict)
	number(int64(len(t.Models)))
	for _, m := range t.Models {
		text(m)
	}
	flag(t.Preset != nil)
	if p := t.Preset; p != nil {
		for _, s := range []string{p.User, p.Name, p.Description, p.Content} {
			text(s)
		}
		for _, n := range []int64{p.Version, p.CreatedAt.UnixMicro(), p.UpdatedAt.UnixMicro()} {
			number(n)
		}
	}
	return b
}

// termsID names encoded terms within a batch.
func termsID(encoded []byte) string {
	sum := sha256.Sum256(encoded)
	return hex.EncodeToString(sum[:16])
}

var errTerms = errors.New("stored terms cannot be read")

// decodeTerms reads the bytes of encode.
func decodeTerms(b []byte) (*Terms, error) {
	r := bytes.NewReader(b)
	failed := false
	number := func() int64 {
		n, err := binary.ReadVarint(r)
		failed = failed || err != nil
		return n
	}
	text := func() string {
		n, err := binary.ReadUvarint(r)
		if failed = failed || err != nil || n > uint64(r.Len()); failed {
			return ""
		}
		s := make([]byte, n)
		_, _ = r.Read(s)
		return string(s)
	}
	if form, err := r.ReadByte(); err != nil || form != termsForm {
		return nil, errTerms
	}
	t := &Terms{Hash: text(), Label: text(), Role: apikey.Role(text()), Account: text(), Key: text(), Strict: number() == 1}
	for n := number(); n > 0 && !failed; n-- {
		t.Models = append(t.Models, text())
	}
	if number() == 1 {
		t.Preset = &preset.Preset{User: text(), Name: text(), Description: text(), Content: text(), Version: number(),
			CreatedAt: time.UnixMicro(number()).UTC(), UpdatedAt: time.UnixMicro(number()).UTC()}
	}
	if failed || r.Len() > 0 {
		return nil, errTerms
	}
	return t, nil
}

// termsKept is how many terms a worker remembers: mostly all lines of a batch have the same.
const termsKept = 32

// terms finds the terms of a line, nil of one that has none: it was sent before they were stored.
func (r *running) terms(ctx context.Context, it *Item) (*Terms, error) {
	if it.Terms == "" {
		return nil, nil
	}
	if t := r.known[it.Terms]; t != nil {
		return t, nil
	}
	short, cancel := r.s.short(ctx)
	defer cancel()
	encoded, err := r.s.Store.Terms(short, r.b.ID, it.Terms)
	if err != nil {
		return nil, err
	}
	t, err := decodeTerms(encoded)
	if err != nil {
		return nil, err
	}
	if len(r.known) >= termsKept {
		clear(r.known)
	}
	r.known[it.Terms] = t
	return t, nil
}

// payer finds who pays for the answer to a line, and the preset with which it was asked, as they were when the provider was: the key was good
// then, and the account let the request be stored.
func (r *running) payer(ctx context.Context, it *Item) (*apikey.Caller, *preset.Preset, error) {
	s, b := r.s, r.b
	short, cancel := s.short(ctx)
	defer cancel()
	now, err := s.Caller(short, b.Key)
	gone := fault.Is(err, fault.Authentication) || err == nil && now.User != b.User
	if err != nil && !gone {
		return nil, nil, err
	}
	t, err := r.terms(ctx, it)
	switch {
	case err != nil && !fault.Is(err, fault.NotFound) && !errors.Is(err, errTerms):
		return nil, nil, err
	case err != nil || t == nil:
		if err != nil {
			s.cfg.Report("with what a provider was asked is not known any more", b.ID, err)
		}
		t = &Terms{}
		if !gone {
			t = termsOf(now, nil)
		}
	}
	then := apikey.Caller{Key: b.Key, User: b.User, Wallet: b.Wallet, Hash: t.Hash, Label: t.Label, Role: t.Role}
	if !gone {
		then = *now
	}
	then.Strict = t.Strict
	then.Defaults, err = s.Defaults(apikey.Defaults{Account: t.Account, Key: t.Key, Models: t.Models})
	if err != nil {
		s.cfg.Report("the preferences with which a provider was asked cannot be read any more", b.ID, err)
		then.Defaults = nil
	}
	return &then, t.Preset, nil
}
