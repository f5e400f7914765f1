package config

import (
	"strings"
	"time"
	"unicode"

	"weir/internal/fault"
	"weir/internal/invoice"
	"weir/internal/money"
	"weir/internal/rate"
)

const (
	maxPrefix = 10 // characters
	maxLine   = 200
)

func (k *checker) invoices() {
	v := &k.c.Invoices
	k.oneOf("invoices.vat.mode", v.VAT.Mode, rate.NoVAT, rate.Included, rate.OnTop)
	if err := v.VAT.Applied().Check(); err != nil {
		k.fail("invoices.vat.percent", "%s", fault.From(err).Public)
	}
	least, most := k.rubles("invoices.min", v.Min), k.rubles("invoices.max", v.Max)
	if least <= 0 || most < least || most > 100_000_000*money.Ruble {
		k.fail("invoices.max", "invoices must be from min, above 0, to max, at least min and at most 100000000")
	}
	if v.ExpireAfter < time.Hour || v.ExpireAfter > 365*24*time.Hour {
		k.fail("invoices.expire_after", "it must be from 1h to 8760h, a year")
	}
	k.prefix("invoices.number_prefix", v.NumberPrefix)
	k.prefix("invoices.act_prefix", v.ActPrefix)
	for path, line := range map[string]string{"invoices.line": v.Line, "invoices.act_line": v.ActLine} {
		if strings.TrimSpace(line) == "" || len([]rune(line)) > maxLine || strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }) {
			k.fail(path, "it must be one line of at most %d characters", maxLine)
		}
	}
	if !v.Enabled {
		return
	}
	s := v.Seller
	if err := s.Check(); err != nil {
		e := fault.From(err)
		k.fail("invoices.seller."+e.Param, "%s", e.Public)
	}
	prices := k.c.Pricing.VAT.Applied()
	if prices.Mode != "" && (v.VAT.Mode != rate.Included || v.VAT.Applied().Plain() != prices.Plain()) {
		k.fail("invoices.vat", "the prices contain VAT (pricing.vat), so wallets do as well: write mode: included and the same percent, or acts would differ from statements")
	}
}

// prefix checks the beginning of numbers. They are found in texts that people write, so it needs a letter.
func (k *checker) prefix(path, prefix string) {
	fits, letter := len([]rune(prefix)) <= maxPrefix, false
	for i, r := range prefix {
		letter = letter || unicode.IsLetter(r)
		fits = fits && (unicode.IsLetter(r) || i > 0 && (r >= '0' && r <= '9' || r == '-' || r == '/'))
	}
	if !fits || !letter || unicode.IsDigit(rune(prefix[len(prefix)-1])) {
		k.fail(path, "it must begin with a letter, have at most %d letters, digits, \"-\" and \"/\", and not end with a digit: \"W-\" makes W-2026-17", maxPrefix)
	}
}

// Manager is what invoices are made with. It is only called of a configuration that is valid.
func (i *Invoices) Manager(now func() time.Time) (c invoice.Config, err error) {
	c = invoice.Config{Now: now, Seller: i.Seller, VAT: i.VAT.Applied(), Prefix: i.NumberPrefix, ActPrefix: i.ActPrefix, Line: i.Line, ActLine: i.ActLine, ExpireAfter: i.ExpireAfter, Open: int(i.MaxOpen), Day: int(i.MaxPerDay)}
	if err = c.Seller.Check(); err != nil { // brings texts into their form
		return c, err
	}
	if c.Least, err = money.Parse(string(i.Min)); err != nil {
		return c, err
	}
	c.Most, err = money.Parse(string(i.Max))
	return c, err
}
