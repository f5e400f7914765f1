package paper_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/plugin/pdf"
	"weir/internal/report"
	"weir/internal/report/paper"
)

var keep = flag.String("keep", "", "folder in which the documents are left")

func statement() *report.Statement {
	day := func(d int) time.Time { return time.Date(2026, 11, d, 0, 0, 0, 0, time.UTC) }
	s := &report.Statement{From: day(1), To: day(30), Opening: 1234_567_890_123, Balance: 98_765_432_101_234, Held: 12_000_000_000, Agrees: true}
	s.Closing = s.Opening
	add := func(l report.Line) {
		if s.Closing += l.Amount; l.Amount < 0 {
			s.Debited -= l.Amount
		} else {
			s.Credited += l.Amount
		}
		l.Balance = s.Closing
		s.Lines = append(s.Lines, l)
	}
	for d := 1; d <= 30; d++ {
		if d%7 == 1 {
			add(report.Line{Day: day(d), Kind: ledger.TopUpKind, Count: 1, Amount: 5000 * money.Ruble, Movement: &ledger.Movement{Kind: ledger.TopUpKind, Ref: "topup:sbp:20261101-000" + strings.Repeat("7", d), Against: "topup:sbp", Amount: 5000 * money.Ruble, At: day(d)}})
		}
		if d == 12 {
			add(report.Line{Day: day(d), Kind: ledger.AdjustmentKind, Count: 1, Amount: -7, Movement: &ledger.Movement{Kind: ledger.AdjustmentKind, Ref: "adjustment:1", Against: "adjustment",
				Reason: "Ошибка провайдера: дважды учтено изображение 猫 <script>alert(1)</script> " + strings.Repeat("длинное объяснение ", 12), At: day(d)}})
			add(report.Line{Day: day(d), Kind: ledger.RefundKind, Count: 1_234, Amount: 40_000_000_001})
		}
		for range 3 {
			cost := money.Nano(d) * 123_456_789_012
			l := report.Line{Day: day(d), Kind: report.CallsKind, Count: int64(d * 137), Amount: -cost, Taxes: []report.Portion{{Percent: "22", Count: int64(d * 137), Gross: cost, VAT: cost * 22 / 122}}}
			if d == 15 {
				l.Taxes = []report.Portion{{Count: 5, Gross: 1000}, {Percent: "20.5", Count: 1000, Gross: 205, VAT: 35}, {Percent: "22", Count: 1050, Gross: cost - 1205, VAT: cost / 6}}
			}
			add(l)
		}
	}
	s.Taxes = []report.Tax{{Calls: 15, Charged: 3000}, {Percent: "20.5", Calls: 3000, Charged: 615, ChargedTax: 105}, {Percent: "22", Calls: 9, Charged: 172_222_220_671_740, ChargedTax: 31_056_465_858_182, Refunds: 1, Refunded: 1, RefundedTax: 1}}
	return s
}

// The document has every amount of the statement with all digits, in both languages, and its font.
func TestStatement(t *testing.T) {
	t.Parallel()
	for lang, want := range map[string][]string{
		"en": {"Statement of account", "Opening balance", "1 234.567890123", "0.000000007", "Refund (1234)", "137 calls of models", "Page 2 of", "1 November 2026", "изображение ?", "VAT 22 %", "VAT 20.5 %", "0.000000035 of", "Calls less refunds", "Without VAT", "141 165.754813558", "31 056.465858181", "172 222.220671739"},
		"ru": {"Выписка по счёту", "Остаток на начало", "1 234,567890123", "0,000000007", "Возврат (1234)", "137 вызовов моделей", "274 вызова", "Страница 2 из", "1 ноября 2026", "НДС 20,5 %", "Вызовы за вычетом возвратов", "Без НДС", "31 056,465858181"},
	} {
		b, err := paper.Statement(statement(), paper.Head{Language: lang, Account: "ООО «Плотина» & Söhne", Wallet: "wal_2kV9sQ4pLx7ZbN1mR8tYwC3d", Site: "https://weir.example.org", Made: time.Date(2026, 12, 1, 9, 30, 0, 0, time.UTC)})
		if err != nil {
			t.Fatal(err)
		}
		folder := t.TempDir()
		if *keep != "" {
			folder = *keep
		}
		if err := os.WriteFile(filepath.Join(folder, "statement-"+lang+".pdf"), b, 0o600); err != nil {
			t.Fatal(err)
		}
		if !bytes.HasPrefix(b, []byte("%PDF-")) || !bytes.Contains(b, []byte("FontFile2")) {
			t.Errorf("%s: no PDF with its font", lang)
		}
		text, err := pdf.Text(b, pdf.Default())
		if err != nil {
			t.Fatal(err)
		}
		got := strings.NewReplacer("\u00a0", " ").Replace(text.Text)
		for _, w := range want {
			if !strings.Contains(got, w) {
				t.Errorf("%s: the document does not say %q", lang, w)
			}
		}
	}
}
