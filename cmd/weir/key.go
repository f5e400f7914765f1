package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"weir/internal/account"
	"weir/internal/apikey"
	"weir/internal/app"
)

type keyCmd struct {
	Add         keyAddCmd         `cmd:"" help:"Create a key. Its text is shown once."`
	List        keyListCmd        `cmd:"" help:"List keys."`
	Rates       keyRatesCmd       `cmd:"" help:"Set the limits of a key per minute."`
	Preferences keyPreferencesCmd `cmd:"" help:"Show or set the provider preferences for the requests of a key."`
	Change      keyChangeCmd      `cmd:"" help:"Change the name, the limit or the expiry of a key."`
	Reset       keyResetCmd       `cmd:"" name:"reset-spending" help:"Let the limit of a key count from now on."`
	Disable     keySetCmd         `cmd:"" help:"Refuse a key."`
	Enable      keySetCmd         `cmd:"" help:"Accept a disabled key again."`
	Delete      keySetCmd         `cmd:"" help:"Delete a key for good."`
}

// keyPlace is a key.
type keyPlace struct {
	location
	Key string `arg:"" help:"The key's hash, its beginning, or its label, as weir key list shows them."`
}

// about opens the database, and finds the hash of the key.
func (p *keyPlace) about(ctx context.Context, do func(o *app.Admin, hash string) error) error {
	return p.with(ctx, func(o *app.Admin) error {
		hash, err := o.KeyNamed(ctx, p.Key)
		if err != nil {
			return err
		}
		return do(o, hash)
	})
}

type keyAddCmd struct {
	location
	User       string        `arg:"" help:"Name or id of the user."`
	Name       string        `help:"What the key is for." default:"key"`
	Limit      string        `help:"Most rubles that the key may spend." placeholder:"RUBLES"`
	Reset      string        `help:"When the limit resets: daily, weekly or monthly (midnight where the account is)." enum:",daily,weekly,monthly" default:"" placeholder:"PERIOD"`
	Expires    time.Duration `help:"Time until the key expires, such as 720h." placeholder:"DURATION"`
	Management bool          `help:"A key that manages keys and cannot call models."`
	Strict     bool          `help:"Answer with the literal response schema by default."`
	From       string        `name:"key-from" help:"Use the text in this file, which weir key add has printed on another gateway, instead of a new one." type:"existingfile" placeholder:"FILE"`
	Quiet      bool          `short:"q" help:"Print the key alone."`
	rates
}

// rates are the flags for a key's limits per minute, and of calls at one time.
type rates struct {
	Requests *int64  `help:"Requests per minute; 0 is no limit." placeholder:"N"`
	Tokens   *int64  `help:"Tokens of prompts and answers per minute; 0 is no limit." placeholder:"N"`
	Rubles   *string `help:"Rubles per minute; 0 is no limit." placeholder:"RUBLES"`
	Calls    *int64  `help:"Calls of models at one time; 0 is no limit." placeholder:"N"`
}

// given returns the limits that the flags set, nil if they set none. For missing flags the configuration's limits apply.
func (r *rates) given() (*apikey.Rates, error) {
	if r.Requests == nil && r.Tokens == nil && r.Rubles == nil && r.Calls == nil {
		return nil, nil
	}
	out := &apikey.Rates{Requests: apikey.DefaultRate, Tokens: apikey.DefaultRate, Rubles: apikey.DefaultRate, Calls: apikey.DefaultRate}
	if r.Requests != nil {
		out.Requests = *r.Requests
	}
	if r.Tokens != nil {
		out.Tokens = *r.Tokens
	}
	if r.Rubles != nil {
		amount, err := rubles("--rubles", *r.Rubles)
		if err != nil {
			return nil, err
		}
		out.Rubles = amount
	}
	if r.Calls != nil {
		out.Calls = *r.Calls
	}
	if r.Calls != nil && out.Calls < 0 || r.Requests != nil && out.Requests < 0 || r.Tokens != nil && out.Tokens < 0 || r.Rubles != nil && out.Rubles < 0 {
		return nil, fmt.Errorf("a limit must not be negative")
	}
	return out, nil
}

type keyRatesCmd struct {
	keyPlace
	rates
}

// Run sets all limits: for a missing flag the configuration's limit applies again.
func (c *keyRatesCmd) Run(ctx context.Context) error {
	given, err := c.given()
	if err != nil {
		return err
	}
	return c.about(ctx, func(o *app.Admin, hash string) error {
		k, err := o.Keys.Change(ctx, "", hash, apikey.Change{Rates: &given}, operator)
		if err != nil {
			return err
		}
		fmt.Printf("%s has %s; running nodes know within 5 seconds.\n", k.Label, k.Rates)
		return nil
	})
}

type keyPreferencesCmd struct {
	keyPlace
	preferences
}

func (c *keyPreferencesCmd) Run(ctx context.Context) error {
	text, set, err := c.text(app.CheckPreferences)
	if err != nil {
		return err
	}
	return c.about(ctx, func(o *app.Admin, hash string) error {
		k, err := o.Keys.ByHash(ctx, "", hash)
		if err != nil {
			return err
		}
		if !set {
			fmt.Println(shown(k.Preferences))
			return nil
		}
		if _, err := o.Keys.Change(ctx, "", hash, apikey.Change{Preferences: &text}, operator); err != nil {
			return err
		}
		fmt.Printf("Provider preferences of %s: %s\nRunning nodes know within 5 seconds.\n", k.Label, shown(text))
		return nil
	})
}

func (c *keyAddCmd) Run(ctx context.Context) error {
	return c.withUser(ctx, c.User, func(o *app.Admin, u account.User) error {
		n := apikey.NewKey{Name: c.Name, User: u.ID, Creator: u.ID, Management: c.Management, Strict: c.Strict}
		if c.Limit != "" {
			amount, err := rubles("--limit", c.Limit)
			if err != nil {
				return err
			}
			if amount < 0 {
				return fmt.Errorf("--limit must not be negative")
			}
			n.Limit = &apikey.Limit{Amount: amount, Reset: apikey.Reset(c.Reset)}
		} else if c.Reset != "" {
			return fmt.Errorf("--reset is the interval after which a limit starts again, so it needs --limit")
		}
		var err error
		if n.Rates, err = c.given(); err != nil {
			return err
		}
		if c.Expires < 0 {
			return fmt.Errorf("--expires must be above zero: the time from now, such as 720h")
		}
		if c.Expires > 0 {
			n.ExpiresAt = time.Now().Add(c.Expires)
		}
		if c.From != "" {
			given, err := os.ReadFile(c.From)
			if err != nil {
				return err
			}
			n.Text = strings.TrimSpace(string(given))
		}
		k, text, err := o.Keys.Create(ctx, n, operator)
		switch {
		case err != nil:
			return err
		case c.From != "":
			fmt.Println(k.Label)
			return nil
		case !c.Quiet:
			fmt.Println("This is shown once:")
		}
		fmt.Println(text)
		return nil
	})
}

type keyChangeCmd struct {
	keyPlace
	Name    *string `help:"Another name." placeholder:"NAME"`
	Limit   *string `help:"Limit in rubles; none removes it." placeholder:"RUBLES"`
	Reset   *string `help:"When the limit resets: daily, weekly, monthly or never." enum:"daily,weekly,monthly,never" placeholder:"PERIOD"`
	Expires *string `help:"Time until the key expires, such as 720h; never removes it." placeholder:"DURATION"`
}

// change is what the flags say of a key with a limit.
func (c *keyChangeCmd) change(limit *apikey.Limit, now time.Time) (out apikey.Change, err error) {
	out.Name = c.Name
	e := apikey.LimitEdit{AmountGiven: c.Limit != nil, ResetGiven: c.Reset != nil}
	if c.Limit != nil && *c.Limit != "none" {
		amount, err := rubles("--limit", *c.Limit)
		if err != nil {
			return out, err
		}
		e.Amount = &amount
	}
	if c.Reset != nil && *c.Reset != "never" {
		e.Reset = apikey.Reset(*c.Reset)
	}
	if e.AmountGiven || e.ResetGiven {
		if limit, err = e.Of(limit); err != nil {
			return out, fmt.Errorf("--reset is the interval after which a limit starts again, so it needs --limit")
		}
		out.Limit = &limit
	}
	if c.Expires != nil {
		out.ExpiresAt = &time.Time{}
		if *c.Expires != "never" {
			d, err := time.ParseDuration(*c.Expires)
			if err != nil || d <= 0 {
				return out, fmt.Errorf("--expires must be a time from now, such as 720h, or never")
			}
			*out.ExpiresAt = now.Add(d)
		}
	}
	if c.Name == nil && c.Limit == nil && c.Reset == nil && c.Expires == nil {
		err = fmt.Errorf("say what to change: --name, --limit, --reset or --expires")
	}
	return out, err
}

func (c *keyChangeCmd) Run(ctx context.Context) error {
	return c.about(ctx, func(o *app.Admin, hash string) error {
		k, err := o.Keys.ByHash(ctx, "", hash)
		if err != nil {
			return err
		}
		change, err := c.change(k.Limit, time.Now())
		if err != nil {
			return err
		}
		if k, err = o.Keys.Change(ctx, "", hash, change, operator); err != nil {
			return err
		}
		until := "without an expiry"
		if !k.ExpiresAt.IsZero() {
			until = "until " + k.ExpiresAt.Format(time.RFC3339)
		}
		fmt.Printf("%s is %q with %s, %s; running nodes know within 5 seconds.\n", k.Label, k.Name, k.Limit, until)
		return nil
	})
}

type keyResetCmd struct {
	keyPlace
	Reason string `help:"Why, for the audit log." required:""`
}

func (c *keyResetCmd) Run(ctx context.Context) error {
	if strings.TrimSpace(c.Reason) == "" {
		return errors.New("--reason must say why")
	}
	return c.about(ctx, func(o *app.Admin, hash string) error {
		k, err := o.Keys.ResetSpending(ctx, "", hash, c.Reason, operator)
		if err != nil {
			return err
		}
		fmt.Printf("The limit of %s counts from now on. What it has spent stays in the books.\n", k.Label)
		return nil
	})
}

type keyListCmd struct {
	location
	User string `arg:"" optional:"" help:"Name or id of a user; all users without it."`
}

func (c *keyListCmd) Run(ctx context.Context) error {
	return c.with(ctx, func(o *app.Admin) error {
		filter := apikey.Filter{IncludeDisabled: true}
		if c.User != "" {
			u, err := o.UserNamed(ctx, c.User)
			if err != nil {
				return err
			}
			filter.User = u.ID
		}
		var err error
		shown := table("LABEL\tNAME\tUSER\tSTATE\tLIMIT\tSPENT\tHASH", func(w *tabwriter.Writer) {
			for ; ; filter.Offset += 100 {
				var keys []apikey.Key
				if keys, err = o.Keys.List(ctx, filter); err != nil || len(keys) == 0 {
					return
				}
				for i := range keys {
					k := &keys[i]
					spent, spendErr := o.Store.Ledger.KeySpend(ctx, k.ID)
					if spendErr != nil {
						err = spendErr
						return
					}
					fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", k.Label, k.Name, k.User, k.State(time.Now()), k.Limit, spent.Total, k.Hash)
				}
			}
		})
		return errors.Join(shown, err)
	})
}

type keySetCmd struct{ keyPlace }

func (c *keySetCmd) Run(ctx context.Context, verb verb) error {
	return c.about(ctx, func(o *app.Admin, hash string) error {
		if verb == "delete" {
			if err := o.Keys.Delete(ctx, "", hash, operator); err != nil {
				return err
			}
			fmt.Println("Deleted the key for good: running nodes refuse it within 5 seconds.")
			return nil
		}
		disabled := verb == "disable"
		if _, err := o.Keys.Change(ctx, "", hash, apikey.Change{Disabled: &disabled}, operator); err != nil {
			return err
		}
		if disabled {
			fmt.Println("Disabled the key: running nodes refuse it within 5 seconds.")
		} else {
			fmt.Println("Enabled the key.")
		}
		return nil
	})
}
