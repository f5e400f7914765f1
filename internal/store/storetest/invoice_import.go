package storetest

import (
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/internal/invoice"
	"weir/internal/money"
	"weir/internal/store"
)

// BankStatement is a statement with one document for each map; what it does not say is as it should be.
func BankStatement(documents ...map[string]string) []byte {
	var b strings.Builder
	b.WriteString("1CClientBankExchange\r\nВерсияФормата=1.03\r\nКодировка=Windows\r\nРасчСчет=" + InvoiceSeller.Account + "\r\n")
	for _, d := range documents {
		b.WriteString("СекцияДокумент=Платежное поручение\r\n")
		for _, f := range [][2]string{{"Номер", "17"}, {"Дата", "03.11.2026"}, {"Сумма", "100.00"}, {"ПлательщикСчет", "40702810500000000001"}, {"Плательщик1", invoiceBuyer.Name}, {"ПлательщикИНН", invoiceBuyer.INN},
			{"ПолучательСчет", InvoiceSeller.Account}, {"ДатаПоступило", "03.11.2026"}, {"НазначениеПлатежа", "Оплата"}} {
			value, ok := d[f[0]]
			if !ok {
				value = f[1]
			}
			b.WriteString(f[0] + "=" + value + "\r\n")
		}
		b.WriteString("КонецДокумента\r\n")
	}
	b.WriteString("КонецФайла\r\n")
	return []byte(b.String())
}

func importOne(t *testing.T, s *store.Store, dry bool, documents ...map[string]string) *invoice.Report {
	t.Helper()
	r, err := biller(s, payAt).Import(t.Context(), BankStatement(documents...), invoice.ImportOrder{Name: "kl_to_1c.txt", Dry: dry, Actor: invoiceBy})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func outcomes(r *invoice.Report) (all []invoice.Outcome) {
	for i := range r.Matches {
		all = append(all, r.Matches[i].Outcome)
	}
	return all
}

func wantOutcomes(t *testing.T, what string, r *invoice.Report, want ...invoice.Outcome) {
	t.Helper()
	if d := cmp.Diff(want, outcomes(r)); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
		for i := range r.Matches {
			t.Log(r.Matches[i].Note)
		}
	}
}

func invoiceTwins(t *testing.T, s *store.Store) {
	u := client(t, s)
	i := bill(t, s, u, biller(s, payAt), 100*money.Ruble)
	doc := map[string]string{"НазначениеПлатежа": "Оплата по счету " + i.Number}
	wantOutcomes(t, "imported", importOne(t, s, false, doc), invoice.Credited)
	if _, done, again, err := biller(s, payAt).MarkPaid(t.Context(), i.ID, seen(0, "17")); err != nil || !again || done.Manual {
		t.Errorf("imported, then marked: %+v, %v, %v", done, again, err)
	}
	j := bill(t, s, u, biller(s, payAt), 100*money.Ruble)
	if _, _, _, err := biller(s, payAt).MarkPaid(t.Context(), j.ID, seen(0, "17")); err != nil {
		t.Fatal(err)
	}
	doc["НазначениеПлатежа"], doc["ПлательщикСчет"] = j.Number, "40702810500000000002"
	wantOutcomes(t, "marked, then tried", importOne(t, s, true, doc), invoice.Already)
	wantOutcomes(t, "marked, then imported", importOne(t, s, false, doc), invoice.Already)
	doc["Сумма"] = "99.00"
	wantOutcomes(t, "marked with another amount", importOne(t, s, false, doc), invoice.Refused)
	wantBalance(t, s, u, 200*money.Ruble)
}

func invoiceForeign(t *testing.T, s *store.Store) {
	u, v := client(t, s), client(t, s)
	i, j := bill(t, s, u, biller(s, payAt), 100*money.Ruble), bill(t, s, v, biller(s, payAt), 100*money.Ruble)
	wantOutcomes(t, "the first", importOne(t, s, false, map[string]string{"НазначениеПлатежа": i.Number}), invoice.Credited)
	wantOutcomes(t, "the same with another purpose", importOne(t, s, false, map[string]string{"НазначениеПлатежа": j.Number}), invoice.Refused)
	wantOutcomes(t, "the same, tried", importOne(t, s, true, map[string]string{"НазначениеПлатежа": j.Number}), invoice.Refused)
	wantBalance(t, s, v, 0)
}

func invoiceImport(t *testing.T, s *store.Store) {
	u := client(t, s)
	m := biller(s, payAt)
	i, gone, old := bill(t, s, u, m, 100*money.Ruble), bill(t, s, u, m, 100*money.Ruble), bill(t, s, u, biller(s, payAt.AddDate(0, -2, 0)), 100*money.Ruble)
	if _, err := m.Cancel(t.Context(), gone.ID, u.ID, invoiceBy); err != nil {
		t.Fatal(err)
	}
	d := func(changes ...string) map[string]string {
		one := map[string]string{"НазначениеПлатежа": "Оплата по счёту № " + i.Number + " от 03.11.2026. В т. ч. НДС 22% - 18.03"}
		for k := 0; k < len(changes); k += 2 {
			one[changes[k]] = changes[k+1]
		}
		return one
	}
	file := []map[string]string{
		d("Сумма", "60.00"), d("Сумма", "60.00"), d("Сумма", "40.50", "Номер", "18"), d("ПлательщикИНН", "0012345673"), d("ПлательщикСчет", InvoiceSeller.Account, "ПолучательСчет", "40702810500000000001"),
		d("ПолучательСчет", "40702810500000000009"), d("ДатаПоступило", ""), d("НазначениеПлатежа", "За услуги"), d("НазначениеПлатежа", i.Number+" и "+gone.Number), d("НазначениеПлатежа", "W-2026-999"),
		d("НазначениеПлатежа", gone.Number), d("Сумма", "1e3"), d("НазначениеПлатежа", "счет "+old.Number, "Номер", "19"),
	}
	want := []invoice.Outcome{invoice.Credited, invoice.Already, invoice.Credited, invoice.PayerDiffers, invoice.Outgoing, invoice.OtherAccount, invoice.NotArrived, invoice.NoNumber, invoice.Ambiguous,
		invoice.UnknownNumber, invoice.WasCancelled, invoice.Unreadable, invoice.Credited}
	tried := importOne(t, s, true, file...)
	wantOutcomes(t, "tried", tried, want...)
	wantBalance(t, s, u, 0)
	made := importOne(t, s, false, file...)
	wantOutcomes(t, "made", made, want...)
	wantBalance(t, s, u, 200_500_000_000)
	for k := range made.Matches {
		x, y := tried.Matches[k], made.Matches[k]
		if x.Credited != y.Credited || x.Missing != y.Missing || x.Note != y.Note {
			t.Errorf("document %d: tried %s, %s, %q; made %s, %s, %q", k, x.Credited, x.Missing, x.Note, y.Credited, y.Missing, y.Note)
		}
	}
	if made.Credited != 200_500_000_000 || tried.Credited != made.Credited || made.Counts[invoice.Credited] != 3 {
		t.Errorf("%s, %v", made.Credited, made.Counts)
	}
	want[0], want[2], want[12] = invoice.Already, invoice.Already, invoice.Already
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() { wantOutcomes(t, "made again", importOne(t, s, false, file...), want...) })
	}
	wg.Wait()
	wantBalance(t, s, u, 200_500_000_000)
	if got, _ := s.Payments.InvoiceByID(t.Context(), i.ID); got.State != invoice.Paid || got.Missing() != -500_000_000 {
		t.Errorf("%+v", got)
	}
}
