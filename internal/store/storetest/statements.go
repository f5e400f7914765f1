package storetest

import (
	"fmt"
	"sync"
	"testing"

	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/invoice"
	"weir/internal/money"
	"weir/internal/store"
)

// The same file is kept once, however often and by however many it is imported, and credits nothing again; what waits is assigned or set aside once.
func statementKept(t *testing.T, s *store.Store) {
	ctx, u, m := t.Context(), client(t, s), biller(s, payAt)
	i := bill(t, s, u, m, 100*money.Ruble)
	file := BankStatement(
		map[string]string{"НазначениеПлатежа": i.Number}, map[string]string{"Номер": "18", "НазначениеПлатежа": "За услуги"}, map[string]string{"Номер": "19", "НазначениеПлатежа": "Проценты", "ПлательщикИНН": ""},
		map[string]string{"Номер": "20", "ПлательщикСчет": InvoiceSeller.Account, "ПолучательСчет": "40702810500000000001"},
	)
	order := invoice.ImportOrder{Name: "kl_to_1c.txt", Actor: invoiceBy}
	if r, err := m.Import(ctx, file, invoice.ImportOrder{Dry: true}); err != nil || r.Statement != "" || r.Earlier != nil {
		t.Fatalf("tried: %+v, %v", r, err)
	}
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			if _, err := m.Import(ctx, file, order); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	wantBalance(t, s, u, 100*money.Ruble)
	all, err := m.Statements(ctx, "", 9)
	if err != nil || len(all) != 1 || all[0].Waiting != 2 || all[0].Documents != 4 || all[0].Outgoing != 1 || all[0].Actor != invoiceBy.Name || all[0].Name != "kl_to_1c.txt" {
		t.Fatalf("%+v, %v", all, err)
	}
	id := all[0].ID
	if r, err := m.Import(ctx, file, invoice.ImportOrder{Dry: true}); err != nil || r.Earlier == nil || r.Earlier.ID != id {
		t.Errorf("tried again: %+v, %v", r.Earlier, err)
	}
	_, lines, err := m.Statement(ctx, id)
	if err != nil || len(lines) != 3 || !lines[0].Open() || !lines[1].Open() || lines[2].InvoiceNumber != i.Number {
		t.Fatalf("%+v, %v", lines, err)
	}
	if choices, err := m.Choices(ctx, lines[0].PayerINN); err != nil || len(choices) != 0 {
		t.Errorf("a paid invoice is offered: %v, %v", choices, err)
	}
	if err := m.SetLineAside(ctx, id, lines[1].Line, "interest of the bank", invoiceBy); err != nil {
		t.Fatal(err)
	}
	if err := m.SetLineAside(ctx, id, lines[1].Line, "again", invoiceBy); !fault.Is(err, fault.Conflict) {
		t.Errorf("set aside twice: %v", err)
	}
	if _, err := m.AssignLine(ctx, id, lines[1].Line, i.Number, invoiceBy); !fault.Is(err, fault.Conflict) {
		t.Errorf("assigned after it was set aside: %v", err)
	}
	if _, err := m.AssignLine(ctx, id, 9999, i.Number, invoiceBy); !fault.Is(err, fault.NotFound) {
		t.Errorf("no such line: %v", err)
	}
	rows, err := s.Accounts.AuditFound(ctx, audit.Search{Target: id, Limit: 9})
	if err != nil || len(rows) != 4 || rows[0].Action != audit.StatementLineAside || rows[0].Before == "" || rows[0].After != "interest of the bank" {
		t.Errorf("%+v, %v", rows, err)
	}
}

func statementAssigned(t *testing.T, s *store.Store) {
	ctx, u, m := t.Context(), client(t, s), biller(s, payAt)
	i, j := bill(t, s, u, m, 100*money.Ruble), bill(t, s, u, m, 100*money.Ruble)
	file := BankStatement(map[string]string{"НазначениеПлатежа": "За услуги"}, map[string]string{"Номер": "18", "НазначениеПлатежа": "За услуги", "ДатаПоступило": ""})
	documents, err := invoice.ReadStatement(file)
	if err != nil {
		t.Fatal(err)
	}
	choose := invoice.ImportOrder{Assign: map[int]string{documents[1].Line: j.Number}, Actor: invoiceBy, Dry: true}
	tried, err := m.Import(ctx, file, choose)
	if err != nil {
		t.Fatal(err)
	}
	wantOutcomes(t, "tried", tried, invoice.NoNumber, invoice.Credited)
	choose.Dry = false
	r, err := m.Import(ctx, file, choose)
	if err != nil {
		t.Fatal(err)
	}
	wantOutcomes(t, "chosen before", r, invoice.NoNumber, invoice.Credited)
	if _, err := m.Import(ctx, file, invoice.ImportOrder{Assign: map[int]string{documents[0].Line: "W-2026-999"}, Dry: true}); !fault.Is(err, fault.Invalid) {
		t.Errorf("an invoice that is not there: %v", err)
	}
	if choices, err := m.Choices(ctx, invoiceBuyer.INN); err != nil || len(choices) != 1 || choices[0].ID != i.ID {
		t.Errorf("%v, %v", choices, err)
	}
	var wg sync.WaitGroup
	errs := make([]error, 2)
	for k, name := range []string{i.Number, j.Number} {
		wg.Go(func() {
			_, errs[k] = m.AssignLine(ctx, r.Statement, int64(documents[0].Line), name, audit.Actor{Name: fmt.Sprint("test ", k)})
		})
	}
	wg.Wait()
	if (errs[0] == nil) == (errs[1] == nil) {
		t.Errorf("%v, %v", errs[0], errs[1])
	}
	wantBalance(t, s, u, 200*money.Ruble)
	if again, err := m.Import(ctx, file, invoice.ImportOrder{Actor: invoiceBy}); err != nil || again.Credited != 0 {
		t.Errorf("imported again: %+v, %v", again, err)
	}
	if one, err := s.Payments.StatementByID(ctx, r.Statement); err != nil || one.Waiting != 0 {
		t.Errorf("%+v, %v", one, err)
	}
	wantBalance(t, s, u, 200*money.Ruble)
}

func actsMissing(t *testing.T, s *store.Store) {
	ctx, u := t.Context(), client(t, s)
	bill(t, s, u, biller(s, payAt.AddDate(0, -2, 0)), 100*money.Ruble)
	m := biller(s, payAt)
	month := m.Closed()
	if all, _, err := m.MissingActs(ctx, month, ""); err != nil || len(all) != 0 {
		t.Errorf("nothing was rendered: %v, %v", all, err)
	}
	if _, _, err := m.MissingActs(ctx, "2099-01", ""); !fault.Is(err, fault.Invalid) {
		t.Errorf("a month to come: %v", err)
	}
}
