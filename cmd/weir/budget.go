package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"weir/internal/budget"
	"weir/internal/ledger"
)

type budgetCmd struct {
	List   budgetListCmd   `cmd:"" help:"List the budgets of an account and how they stand, the widest first."`
	Set    budgetSetCmd    `cmd:"" help:"Make a budget, or change the one of this scope and period."`
	Delete budgetDeleteCmd `cmd:"" help:"Delete a budget."`
}

// budgetPeriods are the words for intervals.
var budgetPeriods = map[string]ledger.Reset{ledger.PeriodDay: ledger.Daily, ledger.PeriodWeek: ledger.Weekly, ledger.PeriodMonth: ledger.Monthly, ledger.PeriodTotal: ledger.Never}

type budgetListCmd struct {
	location
	User string `arg:"" help:"Name or id of the account."`
}

func (c *budgetListCmd) Run(ctx context.Context) error {
	o, err := c.admin(ctx, false)
	if err != nil {
		return err
	}
	defer o.Close()
	u, err := o.UserNamed(ctx, c.User)
	if err != nil {
		return err
	}
	m := budget.NewManager(o.Store.Accounts, time.Now)
	all, err := m.List(ctx, u.ID)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		fmt.Println(c.hint("There are no budgets. Set one with: weir budget set"))
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
			b, s := &all[i], &stands[i]
			spent, held, left := s.Spent.String(), s.Held.String(), max(0, b.Amount-s.Spent-s.Held).String()
			if b.Scope.Each() {
				spent, held, left = "-", "-", "-"
			}
			kind := "hard"
			if !b.Hard {
				kind = "alarm"
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", b.ID, b.Scope, b.Reset.Period(time.Time{}).Kind, b.Amount, spent, held, left, ending(s.Renews, "never"), kind, percents(b.Alarms), b.Name)
		}
	})
}

func percents(list []int) string {
	words := make([]string, len(list))
	for i, n := range list {
		words[i] = strconv.Itoa(n)
	}
	return strings.Join(words, ",")
}

type budgetSetCmd struct {
	location
	User   string `arg:"" help:"Name or id of the account."`
	Amount string `arg:"" help:"Rubles in a period."`
	Of     string `help:"What it is of: account, team:ID, member:ID, key:ID, tag:NAME=VALUE, session:ID, or session for each one (${default})." default:"account" placeholder:"SCOPE"`
	Period string `help:"day, week, month or total (${default})." enum:"day,week,month,total" default:"month"`
	Alarms []int  `help:"Per cents of the amount at which a notice goes out." placeholder:"80"`
	Soft   bool   `help:"Only alarm: refuse nothing."`
	Name   string `help:"What people call it." placeholder:"TEXT"`
	Actor  string `help:"Your name, for the audit log." placeholder:"NAME"`
}

func (c *budgetSetCmd) Run(ctx context.Context) error {
	by, err := actor(c.Actor)
	if err != nil {
		return err
	}
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
	o, err := c.admin(ctx, false)
	if err != nil {
		return err
	}
	defer o.Close()
	u, err := o.UserNamed(ctx, c.User)
	if err != nil {
		return err
	}
	m := budget.NewManager(o.Store.Accounts, time.Now)
	b := budget.Budget{Account: u.ID, Scope: budget.Scope{Kind: budget.Kind(kind), ID: id}, Name: c.Name, Amount: amount, Reset: budgetPeriods[c.Period], Hard: !c.Soft, Alarms: c.Alarms}
	all, err := m.List(ctx, u.ID)
	if err != nil {
		return err
	}
	for i := range all {
		if all[i].Scope == b.Scope && all[i].Reset == b.Reset {
			b, err = m.Change(ctx, u.ID, all[i].ID, func(old *budget.Budget) {
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
}

type budgetDeleteCmd struct {
	location
	User   string `arg:"" help:"Name or id of the account."`
	Budget string `arg:"" help:"Id of the budget (bud_...)."`
	Actor  string `help:"Your name, for the audit log." placeholder:"NAME"`
}

func (c *budgetDeleteCmd) Run(ctx context.Context) error {
	by, err := actor(c.Actor)
	if err != nil {
		return err
	}
	o, err := c.admin(ctx, false)
	if err != nil {
		return err
	}
	defer o.Close()
	u, err := o.UserNamed(ctx, c.User)
	if err != nil {
		return err
	}
	if err := budget.NewManager(o.Store.Accounts, time.Now).Delete(ctx, u.ID, c.Budget, by); err != nil {
		return err
	}
	fmt.Printf("%s is deleted. It binds no call any more.\n", c.Budget)
	return nil
}
