package main

import (
	"context"
	"fmt"

	"weir/internal/account"
	"weir/internal/app"
	"weir/internal/fault"
)

type topupCmd struct {
	location
	User   string `arg:"" help:"Name or id of the user."`
	Amount string `arg:"" help:"Rubles, such as 100 or 0.50."`
	Ref    string `help:"Id of the payment or contract; each id is credited once." placeholder:"ID"`
}

func (c *topupCmd) Run(ctx context.Context) error {
	return c.withUser(ctx, c.User, func(o *app.Admin, u account.User) error {
		amount, err := rubles("the amount", c.Amount)
		if err != nil {
			return err
		}
		done, err := o.TopUp(ctx, u, amount, c.Ref, operator)
		if fault.Is(err, fault.Conflict) {
			return fmt.Errorf("payment %s was credited before, to another user or with another amount; nothing changed", c.Ref)
		}
		if err != nil {
			return err
		}
		b, err := o.Store.Ledger.Balance(ctx, u.Wallet)
		if err != nil {
			return err
		}
		if !done {
			fmt.Printf("Payment %s was credited before; nothing changed.\n", c.Ref)
		}
		fmt.Printf("Balance of %s: %s rubles\n", u.Name, b.Balance)
		return nil
	})
}
