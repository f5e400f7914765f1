package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"text/tabwriter"

	"weir/internal/account"
	"weir/internal/apikey"
	"weir/internal/app"
)

type userCmd struct {
	Bootstrap   userBootstrapCmd   `cmd:"" help:"Create the first user, with an API key and a management key. Only on an empty ledger."`
	Add         userAddCmd         `cmd:"" help:"Add a user with an empty wallet."`
	List        userListCmd        `cmd:"" help:"List users and their balances."`
	Role        userRoleCmd        `cmd:"" help:"Change what a user's management keys may do."`
	Preferences userPreferencesCmd `cmd:"" help:"Show or set the provider preferences for all requests of a user."`
	Setup       userSetupCmd       `cmd:"" help:"Make the link with which the first administrator signs in with a browser."`
	Invite      userInviteCmd      `cmd:"" help:"Make a link with which somebody makes an account."`
	Reset       userResetCmd       `cmd:"" help:"Make a link with which a user chooses a new password."`
	OneStep     userReleaseCmd     `cmd:"" help:"Stop requiring a passkey of a user who has lost theirs. All their browsers are signed out."`
	Email       userEmailCmd       `cmd:"" help:"Give a user another e-mail address. All their browsers are signed out."`
	Forget      userForgetCmd      `cmd:"" help:"Delete a user's account for good: they become anonymous, and the ledger stays as it is."`
	Disable     userSetCmd         `cmd:"" help:"Refuse all keys of a user."`
	Enable      userSetCmd         `cmd:"" help:"Accept a disabled user's keys again."`
	SignOut     userSignOutCmd     `cmd:"" help:"Sign a user out of all browsers."`
}

type userBootstrapCmd struct {
	location
	Name string `arg:"" help:"Name of the first user."`
}

func (c *userBootstrapCmd) Run(ctx context.Context) error {
	o, err := c.admin(ctx, true)
	if err != nil {
		return err
	}
	defer o.Close()
	first, err := o.Users.Bootstrap(ctx, c.Name)
	if err != nil {
		return err
	}
	if first == nil {
		return errors.New("there are users already; add another one with: weir user add NAME")
	}
	fmt.Printf("Added %s (%s). These are shown once:\n\n  API key         %s\n  management key  %s\n\nNext: weir topup %s 100%s\n",
		first.User.Name, first.User.ID, first.KeyText, first.ManagementKey, first.User.Name, c.again())
	return nil
}

type userAddCmd struct {
	location
	Name string `arg:"" help:"Name of the user, to be used in other commands."`
	Role string `help:"user, operator or administrator (${default}): an administrator's management keys change providers, prices and rates." enum:"user,operator,administrator" default:"user" placeholder:"ROLE"`
}

func (c *userAddCmd) Run(ctx context.Context) error {
	o, err := c.admin(ctx, true)
	if err != nil {
		return err
	}
	defer o.Close()
	if _, err := o.UserNamed(ctx, c.Name); err == nil {
		return fmt.Errorf("there is a user %q already; see: weir user list", c.Name)
	}
	u, err := o.Users.CreateAs(ctx, c.Name, apikey.Role(c.Role), operator)
	if err != nil {
		return err
	}
	fmt.Printf("Added %s (%s).\nNext: weir topup %s 100%[4]s && weir key add %[3]s%[4]s\n", u.Name, u.ID, u.Name, c.again())
	return nil
}

type userListCmd struct{ location }

func (c *userListCmd) Run(ctx context.Context) error {
	o, err := c.admin(ctx, false)
	if err != nil {
		return err
	}
	defer o.Close()
	users, err := o.Users.List(ctx)
	if err != nil {
		return err
	}
	return table("NAME\tID\tBALANCE\tHELD\tSTATE\tROLE", func(w *tabwriter.Writer) {
		for _, u := range users {
			b, balanceErr := o.Store.Ledger.Balance(ctx, u.Wallet)
			if balanceErr != nil {
				err = balanceErr
				return
			}
			state := "active"
			if u.Disabled {
				state = "disabled"
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", u.Name, u.ID, b.Balance, b.Held, state, u.Role)
		}
	})
}

type userRoleCmd struct {
	location
	User string `arg:"" help:"Name or id of the user."`
	Role string `arg:"" help:"user, operator or administrator." enum:"user,operator,administrator"`
}

func (c *userRoleCmd) Run(ctx context.Context) error {
	return c.withUser(ctx, c.User, func(o *app.Admin, u account.User) error {
		if err := o.Users.SetRole(ctx, u.ID, apikey.Role(c.Role), operator); err != nil {
			return err
		}
		fmt.Printf("%s is %s now; %s\n", u.Name, c.Role, soon)
		return nil
	})
}

type userSetupCmd struct{ location }

func (c *userSetupCmd) Run(ctx context.Context) error {
	o, err := c.admin(ctx, true)
	if err != nil {
		return err
	}
	defer o.Close()
	link, err := o.SetupLink(ctx)
	if err != nil {
		return err
	}
	if link == "" {
		return errors.New("an administrator can sign in already; for a lost password: weir user reset NAME")
	}
	fmt.Printf("Open within 24 hours, in one browser:\n\n  %s\n", link)
	return nil
}

type userInviteCmd struct {
	location
	Email string `arg:"" optional:"" help:"Whom the link is for: their address is then fixed. Without it, who has the link gives one."`
	Role  string `help:"user, operator or administrator (${default})." enum:"user,operator,administrator" default:"user" placeholder:"ROLE"`
	Note  string `help:"What the list of invitations says of it."`
}

func (c *userInviteCmd) Run(ctx context.Context) error {
	o, err := c.admin(ctx, false)
	if err != nil {
		return err
	}
	defer o.Close()
	link, err := o.Invite(ctx, c.Email, c.Note, apikey.Role(c.Role), operator)
	switch {
	case link == "":
		return err
	case err == nil:
		fmt.Printf("Sent to %s. If it does not arrive: ", c.Email)
	case !errors.Is(err, app.ErrNoMail):
		fmt.Fprintf(os.Stderr, "weir: no mail was sent: %s\n", sentence(err))
	}
	fmt.Printf("Hand this over; it works once, for 7 days, while sign_in.sign_up is invitation or open:\n\n  %s\n", link)
	return nil
}

type userResetCmd struct {
	location
	User string `arg:"" help:"Name or id of the user."`
}

func (c *userResetCmd) Run(ctx context.Context) error {
	return c.withUser(ctx, c.User, func(o *app.Admin, u account.User) error {
		link, err := o.ResetLink(ctx, u, operator)
		if err != nil {
			return err
		}
		fmt.Printf("Hand this over to %s; it works once, for an hour:\n\n  %s\n", u.Name, link)
		return nil
	})
}

type userReleaseCmd struct {
	location
	User string `arg:"" help:"Name or id of the user."`
}

func (c *userReleaseCmd) Run(ctx context.Context) error {
	return c.withUser(ctx, c.User, func(o *app.Admin, u account.User) error {
		if err := o.ReleasePasskey(ctx, u, operator); err != nil {
			return err
		}
		fmt.Printf("%s signs in without a passkey from now on, and is signed out everywhere.\n", u.Name)
		return nil
	})
}

type userEmailCmd struct {
	location
	User  string `arg:"" help:"Name or id of the user."`
	Email string `arg:"" help:"The new address. It is not checked whether it is the user's."`
}

func (c *userEmailCmd) Run(ctx context.Context) error {
	return c.withUser(ctx, c.User, func(o *app.Admin, u account.User) error {
		if err := o.SetAddress(ctx, u, c.Email, operator); err != nil {
			return err
		}
		fmt.Printf("%s signs in with %s from now on, and is signed out everywhere.\n", u.Name, c.Email)
		return nil
	})
}

// preferences are the flags and arguments of commands that show or set provider preferences.
type preferences struct {
	Provider string `arg:"" optional:"" help:"Preferences as a JSON object, as in the request field provider; - reads them from standard input. Without it the command shows the present ones."`
	Clear    bool   `help:"Remove the preferences."`
}

// text returns the preferences to set, and whether to set them.
func (p *preferences) text(check func(string) (string, error)) (text string, set bool, err error) {
	switch {
	case p.Clear && p.Provider != "":
		return "", false, errors.New("give preferences or --clear, not both")
	case p.Clear || p.Provider == "":
		return "", p.Clear, nil
	case p.Provider == "-":
		b, err := app.ReadAll(os.Stdin)
		if err != nil {
			return "", false, err
		}
		p.Provider = string(b)
	}
	text, err = check(p.Provider)
	return text, true, err
}

func shown(preferences string) string { return cmp.Or(preferences, "none") }

type userPreferencesCmd struct {
	location
	User string `arg:"" help:"Name or id of the user."`
	preferences
}

func (c *userPreferencesCmd) Run(ctx context.Context) error {
	text, set, err := c.text(app.CheckDefaults)
	if err != nil {
		return err
	}
	return c.withUser(ctx, c.User, func(o *app.Admin, u account.User) error {
		if !set {
			fmt.Println(shown(u.Preferences))
			return nil
		}
		text, err = o.Users.ChangePreferences(ctx, u.ID, func(was string) (string, error) { return app.KeepStoring(was, text) }, operator)
		if err != nil {
			return err
		}
		fmt.Printf("Provider preferences of %s: %s\nRunning nodes know within 5 seconds.\n", u.Name, shown(text))
		return nil
	})
}

type userForgetCmd struct {
	location
	User string `arg:"" help:"Name or id of the user."`
	Yes  bool   `help:"Delete. Without it the command only says what would be deleted."`
}

func (c *userForgetCmd) Run(ctx context.Context) error {
	return c.withUser(ctx, c.User, func(o *app.Admin, u account.User) error {
		if !c.Yes {
			fmt.Printf("This would delete the account of %s (%s) for good: name, address, ways to sign in, keys, settings, files, stored responses and chats. Charges, invoices and the money in the wallet %s stay. Delete it with --yes.\n", u.Name, u.ID, u.Wallet)
			return nil
		}
		if err := o.Users.Forget(ctx, u.ID, operator); err != nil {
			return err
		}
		fmt.Printf("Deleted the account %s: running nodes refuse all its keys within 5 seconds.\n", u.ID)
		return nil
	})
}

type userSignOutCmd struct {
	location
	User string `arg:"" help:"Name or id of the user."`
	Keys bool   `help:"Disable all keys, too."`
}

func (c *userSignOutCmd) Run(ctx context.Context) error {
	return c.withUser(ctx, c.User, func(o *app.Admin, u account.User) error {
		sessions, keys, err := o.SignOut(ctx, u, c.Keys, operator)
		if err != nil {
			return err
		}
		fmt.Printf("Signed %s out. Sessions that ended: %d; keys that were disabled: %d.\n", u.Name, sessions, keys)
		return nil
	})
}

type userSetCmd struct {
	location
	User string `arg:"" help:"Name or id of the user."`
}

func (c *userSetCmd) Run(ctx context.Context, verb verb) error {
	return c.withUser(ctx, c.User, func(o *app.Admin, u account.User) error {
		if err := o.Users.SetDisabled(ctx, u.ID, verb == "disable", operator); err != nil {
			return err
		}
		if verb == "disable" {
			fmt.Printf("Disabled %s: running nodes refuse all their keys within 5 seconds.\n", u.Name)
		} else {
			fmt.Printf("Enabled %s.\n", u.Name)
		}
		return nil
	})
}
