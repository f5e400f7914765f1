package config_test

import (
	"strings"
	"testing"

	"weir/internal/config"
)

const invoicesYAML = `invoices:
  enabled: true
  seller:
    name: ООО «Плотина»
    inn: "0012345673"
    kpp: "001201001"
    address: Москва
    bank: АО «Речной банк»
    bik: "000000225"
    account: "40702810400000000018"
    correspondent_account: "30101810300000000225"
    director: Иванова А. П.
  vat: {mode: included, percent: 22}
  number_prefix: W-
`

// Who sells, and how invoices are numbered and taxed, is checked at start; the error names the setting.
func TestInvoices(t *testing.T) {
	t.Parallel()
	if _, err := config.Load(write(t, invoicesYAML), env(), nil); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ from, to, want string }{
		{`inn: "0012345673"`, `inn: "0012345674"`, "invoices.seller.inn"},
		{`kpp: "001201001"`, `kpp: ""`, "invoices.seller.kpp"},
		{`account: "40702810400000000018"`, `account: "40702810500000000018"`, "invoices.seller.account"},
		{`bik: "000000225"`, `bik: "000000226"`, "invoices.seller.account"},
		{`correspondent_account: "30101810300000000225"`, `correspondent_account: ""`, "invoices.seller.correspondent_account"},
		{`director: Иванова А. П.`, `director: ""`, "invoices.seller.director"},
		{`mode: included`, `mode: sometimes`, "invoices.vat.mode"},
		{`percent: 22`, `percent: 0`, "invoices.vat.percent"},
		{`number_prefix: W-`, `number_prefix: "-"`, "invoices.number_prefix"},
		{`number_prefix: W-`, `number_prefix: ""`, "invoices.number_prefix"},
		{`number_prefix: W-`, `number_prefix: "W1"`, "invoices.number_prefix"},
		{`number_prefix: W-`, `number_prefix: "W W"`, "invoices.number_prefix"},
		{`number_prefix: W-`, `min: "0"`, "invoices.max"},
		{`number_prefix: W-`, `max: "1.001"`, "invoices.max"},
		{`number_prefix: W-`, `expire_after: 1m`, "invoices.expire_after"},
		{`number_prefix: W-`, `line: ""`, "invoices.line"},
		{"invoices:", "pricing:\n  vat: {mode: included, percent: 20}\ninvoices:", "invoices.vat"},
		{"invoices:", "pricing:\n  vat: {mode: on_top, percent: 20}\ninvoices:", "invoices.vat"},
	} {
		text := strings.Replace(invoicesYAML, c.from, c.to, 1)
		if text == invoicesYAML {
			t.Fatalf("%s changes nothing", c.to)
		}
		if _, err := config.Load(write(t, text), env(), nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want an error of %s", c.to, err, c.want)
		}
	}
	same := strings.Replace(invoicesYAML, "invoices:", "pricing:\n  vat: {mode: on_top, percent: 22.0}\ninvoices:", 1)
	if _, err := config.Load(write(t, same), env(), nil); err != nil {
		t.Errorf("prices and invoices with the same tax: %v", err)
	}
}
