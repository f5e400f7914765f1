package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"weir/internal/invoice"
	"weir/internal/payment"
	"weir/internal/store"
)

// How many rows fillMoney makes. Few payments wait, few hang, and few documents need a decision, as where it works.
const (
	benchPayments   = 300_000
	benchInvoices   = 60_000
	benchActs       = 60_000
	benchStatements = 500
	benchDocuments  = 100 // of each
)

// fillMoney makes payments, invoices, acts and statements of banks. They are rows with nothing behind them, and verify would say so: it comes last.
func fillMoney(b *testing.B, db *PagesDB, now time.Time) {
	at := now.UnixMicro()
	accounts := *pagesAccounts
	from := func(n int) string {
		return fmt.Sprintf(" FROM (WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < %d) SELECT CAST(i AS BIGINT) AS i FROM n) x", n-1)
	}
	ago := func(n int) string {
		return fmt.Sprintf("%d - i * %d", at, 90*24*int64(time.Hour/time.Microsecond)/int64(n))
	}
	seller := "'Seller', '7701234567', '770101001', 'Moscow', 'Bank', '044525225', '40702810000000000001', '30101810400000000225', 'D', 'A', 'none', ''"
	for _, text := range []string{
		fmt.Sprintf("INSERT INTO payments (id, account, wallet, provider, provider_id, state, amount, paid, url, return_url, description, email, save, method, auto, method_title, reason, problem, tries, created_at, updated_at, ended_at) "+
			"SELECT 'pay_' || i, 'usr_' || (i %% %d), 'wal_' || (i %% %d), 'yookassa', 'yk-' || i, CASE WHEN i < 20 THEN 'pending' WHEN i %% 10 = 0 THEN 'canceled' ELSE 'succeeded' END, 1000000000000, CASE WHEN i < 20 OR i %% 10 = 0 THEN 0 ELSE 1000000000000 END, '', '', 'Top-up', '', FALSE, '', FALSE, 'card', '', '', 0, %[3]s, %[3]s, %[3]s%s",
			accounts, accounts, ago(benchPayments), from(benchPayments)),
		fmt.Sprintf("INSERT INTO payment_refunds (id, payment, account, provider, provider_id, state, amount, reason, failure, actor, tries, created_at, updated_at) "+
			"SELECT 'rfd_' || i, 'pay_' || (i * 10 + 21), 'usr_' || ((i * 10 + 21) %% %d), 'yookassa', 'yr-' || i, CASE WHEN i < 3 THEN 'pending' ELSE 'succeeded' END, 1000000000, 'r', '', 'a', 0, %[2]s, %[2]s%s", accounts, ago(benchPayments/10-3), from(benchPayments/10-3)),
		fmt.Sprintf("INSERT INTO invoices (id, number, year, seq, account, wallet, state, buyer_name, buyer_inn, buyer_kpp, buyer_address, seller_name, seller_inn, seller_kpp, seller_address, seller_bank, seller_bik, seller_account, seller_correspondent, seller_director, seller_accountant, vat_mode, vat_percent, line, amount, tax, total, received, credited, created_at, expires_at) "+
			"SELECT 'inv_' || i, 'W-' || i, 2026, i + 1, 'usr_' || (i %% %d), 'wal_' || (i %% %d), CASE WHEN i < 500 THEN 'open' WHEN i %% 4 = 0 THEN 'cancelled' ELSE 'paid' END, 'Buyer', '77' || (i %% %d), '', '', %s, 'Line', 1000000000000, 0, 1000000000000, 0, 0, %[5]s, %[5]s + 864000000000%s",
			accounts, accounts, accounts, seller, ago(benchInvoices), from(benchInvoices)),
		fmt.Sprintf("INSERT INTO invoice_acts (id, number, year, seq, account, wallet, month, buyer_name, buyer_inn, buyer_kpp, buyer_address, seller_name, seller_inn, seller_kpp, seller_address, seller_bank, seller_bik, seller_account, seller_correspondent, seller_director, seller_accountant, vat_mode, vat_percent, line, opening, topped_up, spent, closing, carried_in, amount, tax, total, carried_out, made_at) "+
			"SELECT 'act_' || i, 'A-' || i, 2025, i + 1, 'usr_' || (i %% %d), 'wal_' || (i %% %d), CAST(2010 + i / %d / 12 AS TEXT) || '-' || substr(CAST(101 + i / %d %% 12 AS TEXT), 2), 'Buyer', '77', '', '', %s, 'Line', 0, 0, 1, 0, 0, 1, 0, 1, 0, %s%s", accounts, accounts, accounts, accounts, seller, ago(benchActs), from(benchActs)),
		fmt.Sprintf("INSERT INTO bank_statements (id, name, sum, actor, at, documents, credited, already, outgoing, amount) SELECT 'bst_' || i, 'kl_to_1c.txt', 'sum' || i, 'a', %s, %d, %d, 0, 0, 1%s", ago(benchStatements), benchDocuments, benchDocuments-2, from(benchStatements)),
		fmt.Sprintf("INSERT INTO bank_documents (statement, line, key, kind, number, date, amount, payer_name, payer_inn, payer_account, receiver, purpose, outcome, note, waits, aside) "+
			"SELECT 'bst_' || (i / %d), i %% %d, 'doc-' || i, '', CAST(i AS TEXT), '2026-11-01', 1000000000000, 'Buyer', '77', '', '', 'W-' || i, 'credited', '', i %% 50 = 0, CASE WHEN i %% 100 = 0 THEN 'not ours' ELSE '' END%s", benchDocuments, benchDocuments, from(benchStatements*benchDocuments)),
		"INSERT INTO invoice_transfers (key, invoice, account, manual, amount, credited, date, number, payer, purpose, actor, at) SELECT 'doc-' || (i + 2), 'inv_' || (i + 501), 'usr_0', FALSE, 1, 1, '2026-11-01', '1', 'p', 'p', 'a', " + ago(benchStatements*benchDocuments) + from(benchStatements*benchDocuments-2),
	} {
		if err := db.SQL(text); err != nil {
			b.Fatal(text[:strings.Index(text, "(")], err)
		}
	}
}

// moneyReads is what the pages of payments, invoices, acts and statements of banks read.
func moneyReads(s *store.Store, now time.Time) []pagesRead {
	payments := func(q payment.Query, some bool) func(context.Context) error {
		q.Limit = 51
		return func(ctx context.Context) error {
			all, err := s.Payments.Payments(ctx, q)
			return expect(len(all) > 0, some, err)
		}
	}
	invoices := func(q invoice.Query, some bool) func(context.Context) error {
		q.Limit = 51
		return func(ctx context.Context) error {
			all, err := s.Payments.Invoices(ctx, q)
			return expect(len(all) > 0, some, err)
		}
	}
	acts := func(account, month string) func(context.Context) error {
		return func(ctx context.Context) error {
			all, err := s.Payments.Acts(ctx, account, month, "", 51)
			return expect(len(all) > 0, true, err)
		}
	}
	return []pagesRead{
		{"payments, newest", payments(payment.Query{}, true)},
		{"payments of one account", payments(payment.Query{Account: "usr_0"}, true)},
		{"payments, those of one account that were canceled", payments(payment.Query{Account: "usr_1", State: payment.Canceled}, *pagesAccounts%2 == 1)},
		{"payments that are open", payments(payment.Query{Open: true}, true)},
		{"payments that wait", payments(payment.Query{State: payment.Pending}, true)},
		{"payments that hang", payments(payment.Query{Hanging: now.AddDate(1, 0, 0)}, true)},
		{"payments that were canceled", payments(payment.Query{State: payment.Canceled}, true)},
		{"payments of a provider that is gone", payments(payment.Query{Provider: "gone"}, false)},
		{"payments by the id of the provider", payments(payment.Query{Name: "yk-150000"}, true)},
		{"payments by an id that none has", payments(payment.Query{Name: "never"}, false)},
		{"payments without an answer", func(ctx context.Context) error {
			_, err := s.Payments.Unanswered(ctx, "yookassa")
			return err
		}},
		{"invoices, newest", invoices(invoice.Query{}, true)},
		{"invoices of one account", invoices(invoice.Query{Account: "usr_0"}, true)},
		{"invoices that are open", invoices(invoice.Query{State: invoice.Open}, true)},
		{"invoices that are overdue", invoices(invoice.Query{Overdue: now.AddDate(1, 0, 0)}, true)},
		{"invoices of a buyer that are open", invoices(invoice.Query{INN: "771", State: invoice.Open}, true)},
		{"invoices by their number", invoices(invoice.Query{Name: "W-30000"}, true)},
		{"invoices by a number that none has", invoices(invoice.Query{Name: "never"}, false)},
		{"transfers of an invoice", func(ctx context.Context) error { _, err := s.Payments.InvoiceTransfers(ctx, "inv_600"); return err }},
		{"acts, newest", acts("", "")},
		{"acts of one account", acts("usr_0", "")},
		{"acts of a month", acts("", "2010-02")},
		{"acts of a month that are missing, of 200 accounts", func(ctx context.Context) error {
			all, err := s.Payments.Unacted(ctx, now.AddDate(0, -1, 0).Format("2006-01"), "", 200)
			return expect(len(all) > 0, true, err)
		}},
		{"statements of banks", func(ctx context.Context) error {
			all, err := s.Payments.Statements(ctx, "", 51)
			return expect(len(all) > 0, true, err)
		}},
		{"documents of a statement", func(ctx context.Context) error {
			all, err := s.Payments.StatementLines(ctx, "bst_7", 1000)
			return expect(len(all) > 0, true, err)
		}},
	}
}

// expect is an error unless something was found, or nothing, as it should be.
func expect(found, want bool, err error) error {
	if err == nil && found != want {
		err = errors.New("the benchmark found something else than it made")
	}
	return err
}
