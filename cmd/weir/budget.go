package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"weir/internal/account"
	"weir/internal/app"
	"weir/internal/audit"
	"weir/internal/budget"
	"weir/internal/ledger"
)

type budgetCmd struct {
	List    budgetListCmd    `cmd:"" help:"List the budgets of an account and how they stand, the widest first."`
	Set     budgetSetCmd     `cmd:"" help:"Make a budget, or change the one of this scope and period."`
	Delete  budgetDeleteCmd  `cmd:"" help:"Delete a budget. For seven days it can be brought back."`
	Restore budgetRestoreCmd `cmd:"" help:"Bring a deleted budget back, with what was spent in it."`
}

// budgetPeriods are the words for intervals.
var budgetPeriods = map[string]ledger.Reset{ledger.PeriodDay: ledger.Daily, ledger.PeriodWeek: ledger.Weekly, ledger.PeriodMonth: ledger.Monthly, ledger.PeriodTotal: ledger.Never}

// budgetPlace is an account with budgets.
type budgetPlace struct {
	location
	User string `arg:"" help:"Name or id of the account."`
}

// within opens the account's budgets.
func (p *budgetPlace) within(ctx context.Context, do func(o *app.Admin, m *budget.Manager, u account.User) error) error {
	return p.withUser(ctx, p.User, func(o *app.Admin, u account.User) error {
		return do(o, budget.NewManager(o.Store.Accounts, time.Now), u)
	})
}

// budgetAct is an act on the budgets of an account, and who does it.
type budgetAct struct {
	budgetPlace
	Actor string `help:"Your name, for the audit log." placeholder:"NAME"`
}

// act opens the account's budgets for an act.
func (p *budgetAct) act(ctx context.Context, do func(m *budget.Manager, account string, by audit.Actor) error) error {
	by, err := actor(p.Actor)
	if err != nil {
		return err
	}
	return p.within(ctx, func(_ *app.Admin, m *budget.Manager, u account.User) error { return do(m, u.ID, by) })
}

type budgetListCmd struct {
	budgetPlace
	Deleted bool `help:"Those that were deleted and can be brought back."`
}

func (c *budgetListCmd) Run(ctx context.Context) error {
	return c.within(ctx, func(o *app.Admin, m *budget.Manager, u account.User) error {
		list, none := m.List, "There are no budgets. Set one with: weir budget set"
		if c.Deleted {
			list, none = m.Deleted, "There are no deleted budgets that can be brought back."
		}
		all, err := list(ctx, u.ID)
		if err != nil {
			return err
		}
		if len(all) == 0 {
			fmt.Println(c.hint(none))
			return nil
		}
		limits := make([]ledger.Limit, len(all))
		for i := range all {
			limits[i] = ledger.Limit{ID: all[i].ID, Reset: all[i].Reset}
		}
		stands, err := m.Spent(ctx, o.Store.Ledger, u.Wallet, limits)
		if err != nil {
			return err
		}
		return table("ID\tOF\tPERIOD\tAMOUNT\tSPENT\tHELD\tLEFT\tRENEWS\tKIND\tALARMS\tNAME", func(w *tabwriter.Writer) {
			for i := range all {
				budgetRow(w, &all[i], &stands[i])
			}
		})
	})
}

func budgetRow(w io.Writer, b *budget.Budget, s *budget.Spending) {
	spent, held, left := s.Spent.String(), s.Held.String(), max(0, b.Amount-s.Spent-s.Held).String()
	if b.Scope.Each() {
		spent, held, left = "-", "-", "-"
	}
	kind := "hard"
	if !b.Hard {
		kind = "alarm"
	}
	_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", b.ID, b.Scope, b.Reset.Period(time.Time{}).Kind, b.Amount, spent, held, left, ending(s.Renews, "never"), kind, percents(b.Alarms), b.Name)
}

func percents(list []int) string {
	words := make([]string, len(list))
	for i, n := range list {
		words[i] = strconv.Itoa(n)
	}
	return strings.Join(words, ",")
}

type budgetSetCmd struct {
	budgetAct
	Amount string `arg:"" help:"Rubles in a period."`
	Of     string `help:"What it is of: account, team:ID, member:ID, key:ID, tag:NAME=VALUE, session:ID, or session for each one (${default})." default:"account" placeholder:"SCOPE"`
	Period string `help:"day, week, month or total (${default})." enum:"day,week,month,total" default:"month"`
	Alarms []int  `help:"Per cents of the amount at which a notice goes out." placeholder:"80"`
	Soft   bool   `help:"Only alarm: refuse nothing."`
	Name   string `help:"What people call it." placeholder:"TEXT"`
}

func (c *budgetSetCmd) Run(ctx context.Context) error {
	amount, err := rubles("the amount", c.Amount)
	if err != nil {
		return err
	}
	kind, id, named := strings.Cut(c.Of, ":")
	if kind == "account" {
		kind = string(budget.Organization)
	}
	if named && id == "" {
		return errors.New("--of: after the colon there must be an id or a name")
	}
	return c.act(ctx, func(m *budget.Manager, account string, by audit.Actor) error {
		b := budget.Budget{Account: account, Scope: budget.Scope{Kind: budget.Kind(kind), ID: id}, Name: c.Name, Amount: amount, Reset: budgetPeriods[c.Period], Hard: !c.Soft, Alarms: c.Alarms}
		all, err := m.List(ctx, account)
		if err != nil {
			return err
		}
		for i := range all {
			if all[i].Scope == b.Scope && all[i].Reset == b.Reset {
				b, err = m.Change(ctx, account, all[i].ID, func(old *budget.Budget) {
					old.Name, old.Amount, old.Hard, old.Alarms = b.Name, b.Amount, b.Hard, b.Alarms
				}, by)
				if err == nil {
					fmt.Printf("%s is now %s rubles.\n", b.ID, b.Amount)
				}
				return err
			}
		}
		if b, err = m.Add(ctx, b, by); err != nil {
			return err
		}
		fmt.Printf("Made %s: %s, %s rubles.\n", b.ID, b.Scope, b.Amount)
		return nil
	})
}

// budgetOne is an act on one budget.
type budgetOne struct {
	budgetAct
	Budget string `arg:"" help:"Id of the budget (bud_...)."`
}

type budgetDeleteCmd struct{ budgetOne }

func (c *budgetDeleteCmd) Run(ctx context.Context) error {
	return c.act(ctx, func(m *budget.Manager, account string, by audit.Actor) error {
		if err := m.Delete(ctx, account, c.Budget, by); err != nil {
			return err
		}
		fmt.Printf("%s is deleted. It binds no call any more.\n", c.Budget)
		fmt.Println(c.hint(fmt.Sprintf("Until %s it can be brought back with: weir budget restore %s %s", time.Now().Add(budget.Kept).Format(time.DateOnly), c.User, c.Budget)))
		return nil
	})
}

type budgetRestoreCmd struct{ budgetOne }

func (c *budgetRestoreCmd) Run(ctx context.Context) error {
	return c.act(ctx, func(m *budget.Manager, account string, by audit.Actor) error {
		b, err := m.Restore(ctx, account, c.Budget, by)
		if err != nil {
			return err
		}
		fmt.Printf("%s binds calls again: %s, %s rubles.\n", b.ID, b.Scope, b.Amount)
		return nil
	})
}
