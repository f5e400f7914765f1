package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"text/tabwriter"
	"time"

	"weir/internal/account"
	"weir/internal/apikey"
	"weir/internal/app"
	"weir/internal/audit"
	"weir/internal/config"
	"weir/internal/fault"
	"weir/internal/money"
)

// operator is the actor in the audit log for changes by the command line.
var operator = audit.Actor{Name: "operator"}

func (p *location) overlay(listen string) config.Overlay {
	o := config.Overlay{}
	if p.Data != "" {
		o["data_dir"] = p.Data
	}
	if listen != "" {
		o["server.listen"] = listen
	}
	return o
}

// again are the flags that lead another command to the same place.
func (p *location) again() (flags string) {
	if p.Config != "" && p.Config != os.Getenv("WEIR_CONFIG") {
		flags += " -c " + quoted(p.Config)
	}
	if p.Data != "" {
		flags += " --data " + quoted(p.Data)
	}
	return flags
}

// anywhere is the same place from any folder, for who reads the log of a service.
func (p *location) anywhere() *location {
	far := *p
	for _, path := range []*string{&far.Config, &far.Data} {
		if full, err := filepath.Abs(*path); err == nil && *path != "" {
			*path = full
		}
	}
	return &far
}

// hint makes commands that a text names lead to the same place, so that they can be pasted.
func (p *location) hint(text string) string {
	return hint(text, p.again())
}

// missing says how to reach the service of a package, for a command that found no ledger without it.
func (p *location) missing() string {
	if _, err := os.Stat(app.Packaged); p.Config != "" || err != nil {
		return ""
	}
	return ", such as -c " + app.Packaged
}

// quoted is a path as a shell reads it.
func quoted(path string) string {
	if needsNoQuotes.MatchString(path) {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

var needsNoQuotes = regexp.MustCompile(`^[A-Za-z0-9_./:@%+=,\\-]+$`)

// unread fails for variables that are meant for Weir and that nothing reads.
func unread(path string) error {
	names := []string{managementKey}
	for _, c := range grammar().Leaves(false) {
		for _, f := range c.Flags {
			names = append(names, f.Envs...)
		}
	}
	return config.Unread(os.Environ(), path, names...)
}

// load reads the configuration for a command that calls no provider.
func (p *location) load(listen string) (config.Config, error) {
	return p.loadBy(config.LoadForCommand, listen)
}

// loadAll reads the configuration with all that a node needs.
func (p *location) loadAll(listen string) (config.Config, error) {
	return p.loadBy(config.Load, listen)
}

func (p *location) loadBy(load func(string, config.Lookup, config.Overlay) (config.Config, error), listen string) (config.Config, error) {
	if err := config.TakeEnvironment(p.Config, os.LookupEnv, os.Setenv); err != nil {
		return config.Config{}, err
	}
	cfg, err := load(p.Config, os.LookupEnv, p.overlay(listen))
	return cfg, errors.Join(unread(p.Config), err)
}

// admin opens the store for one command.
func (p *location) admin(ctx context.Context, create bool) (*app.Admin, error) {
	cfg, err := p.load("")
	if err != nil {
		return nil, err
	}
	return app.OpenAdmin(ctx, cfg, create)
}

// adminFor opens the store for a command about one user: a user id, a wallet id, or a name that only one has.
func (p *location) adminFor(ctx context.Context, user string) (*app.Admin, account.User, error) {
	o, err := p.admin(ctx, false)
	if err != nil {
		return nil, account.User{}, err
	}
	u, err := o.UserNamed(ctx, user)
	if err != nil {
		o.Close()
		return nil, account.User{}, err
	}
	return o, u, nil
}

// rubles parses an amount that a person wrote; named is its name in the error.
func rubles(what, text string) (money.Nano, error) {
	amount, err := money.Parse(text)
	if err != nil {
		return 0, fmt.Errorf("%s: %q is not an amount: write rubles as digits, with at most nine behind a point and below 9223372036, such as 100 or 0.50", what, text)
	}
	return amount, nil
}

// table prints aligned columns.
func table(header string, rows func(w *tabwriter.Writer)) error {
	w := tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, header)
	rows(w)
	return w.Flush()
}

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
	o, u, err := c.adminFor(ctx, c.User)
	if err != nil {
		return err
	}
	defer o.Close()
	if err := o.Users.SetRole(ctx, u.ID, apikey.Role(c.Role), operator); err != nil {
		return err
	}
	fmt.Printf("%s is %s now; %s\n", u.Name, c.Role, soon)
	return nil
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
	o, u, err := c.adminFor(ctx, c.User)
	if err != nil {
		return err
	}
	defer o.Close()
	link, err := o.ResetLink(ctx, u, operator)
	if err != nil {
		return err
	}
	fmt.Printf("Hand this over to %s; it works once, for an hour:\n\n  %s\n", u.Name, link)
	return nil
}

type userReleaseCmd struct {
	location
	User string `arg:"" help:"Name or id of the user."`
}

func (c *userReleaseCmd) Run(ctx context.Context) error {
	o, u, err := c.adminFor(ctx, c.User)
	if err != nil {
		return err
	}
	defer o.Close()
	if err := o.ReleasePasskey(ctx, u, operator); err != nil {
		return err
	}
	fmt.Printf("%s signs in without a passkey from now on, and is signed out everywhere.\n", u.Name)
	return nil
}

type userEmailCmd struct {
	location
	User  string `arg:"" help:"Name or id of the user."`
	Email string `arg:"" help:"The new address. It is not checked whether it is the user's."`
}

func (c *userEmailCmd) Run(ctx context.Context) error {
	o, u, err := c.adminFor(ctx, c.User)
	if err != nil {
		return err
	}
	defer o.Close()
	if err := o.SetAddress(ctx, u, c.Email, operator); err != nil {
		return err
	}
	fmt.Printf("%s signs in with %s from now on, and is signed out everywhere.\n", u.Name, c.Email)
	return nil
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
	o, u, err := c.adminFor(ctx, c.User)
	if err != nil {
		return err
	}
	defer o.Close()
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
}

type userForgetCmd struct {
	location
	User string `arg:"" help:"Name or id of the user."`
	Yes  bool   `help:"Delete. Without it the command only says what would be deleted."`
}

func (c *userForgetCmd) Run(ctx context.Context) error {
	o, u, err := c.adminFor(ctx, c.User)
	if err != nil {
		return err
	}
	defer o.Close()
	if !c.Yes {
		fmt.Printf("This would delete the account of %s (%s) for good: name, address, ways to sign in, keys, settings, files, stored responses and chats. Charges, invoices and the money in the wallet %s stay. Delete it with --yes.\n", u.Name, u.ID, u.Wallet)
		return nil
	}
	if err := o.Users.Forget(ctx, u.ID, operator); err != nil {
		return err
	}
	fmt.Printf("Deleted the account %s: running nodes refuse all its keys within 5 seconds.\n", u.ID)
	return nil
}

type userSignOutCmd struct {
	location
	User string `arg:"" help:"Name or id of the user."`
	Keys bool   `help:"Disable all keys, too."`
}

func (c *userSignOutCmd) Run(ctx context.Context) error {
	o, u, err := c.adminFor(ctx, c.User)
	if err != nil {
		return err
	}
	defer o.Close()
	sessions, keys, err := o.SignOut(ctx, u, c.Keys, operator)
	if err != nil {
		return err
	}
	fmt.Printf("Signed %s out. Sessions that ended: %d; keys that were disabled: %d.\n", u.Name, sessions, keys)
	return nil
}

type userSetCmd struct {
	location
	User string `arg:"" help:"Name or id of the user."`
}

func (c *userSetCmd) Run(ctx context.Context, verb verb) error {
	o, u, err := c.adminFor(ctx, c.User)
	if err != nil {
		return err
	}
	defer o.Close()
	if err := o.Users.SetDisabled(ctx, u.ID, verb == "disable", operator); err != nil {
		return err
	}
	if verb == "disable" {
		fmt.Printf("Disabled %s: running nodes refuse all their keys within 5 seconds.\n", u.Name)
	} else {
		fmt.Printf("Enabled %s.\n", u.Name)
	}
	return nil
}

// verb is the last word of the command: disable, enable, delete.
type verb string

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
	location
	Key string `arg:"" help:"The key's hash, its beginning, or its label, as weir key list shows them."`
	rates
}

// Run sets all limits: for a missing flag the configuration's limit applies again.
func (c *keyRatesCmd) Run(ctx context.Context) error {
	given, err := c.given()
	if err != nil {
		return err
	}
	o, err := c.admin(ctx, false)
	if err != nil {
		return err
	}
	defer o.Close()
	hash, err := o.KeyNamed(ctx, c.Key)
	if err != nil {
		return err
	}
	k, err := o.Keys.Change(ctx, "", hash, apikey.Change{Rates: &given}, operator)
	if err != nil {
		return err
	}
	fmt.Printf("%s has %s; running nodes know within 5 seconds.\n", k.Label, k.Rates)
	return nil
}

type keyPreferencesCmd struct {
	location
	Key string `arg:"" help:"The key's hash, its beginning, or its label, as weir key list shows them."`
	preferences
}

func (c *keyPreferencesCmd) Run(ctx context.Context) error {
	text, set, err := c.text(app.CheckPreferences)
	if err != nil {
		return err
	}
	o, err := c.admin(ctx, false)
	if err != nil {
		return err
	}
	defer o.Close()
	hash, err := o.KeyNamed(ctx, c.Key)
	if err != nil {
		return err
	}
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
}

func (c *keyAddCmd) Run(ctx context.Context) error {
	o, u, err := c.adminFor(ctx, c.User)
	if err != nil {
		return err
	}
	defer o.Close()
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
}

type keyChangeCmd struct {
	location
	Key     string  `arg:"" help:"The key's hash, its beginning, or its label, as weir key list shows them."`
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
	o, hash, err := c.adminWith(ctx, c.Key)
	if err != nil {
		return err
	}
	defer o.Close()
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
}

type keyResetCmd struct {
	location
	Key    string `arg:"" help:"The key's hash, its beginning, or its label, as weir key list shows them."`
	Reason string `help:"Why, for the audit log." required:""`
}

func (c *keyResetCmd) Run(ctx context.Context) error {
	if strings.TrimSpace(c.Reason) == "" {
		return errors.New("--reason must say why")
	}
	o, hash, err := c.adminWith(ctx, c.Key)
	if err != nil {
		return err
	}
	defer o.Close()
	k, err := o.Keys.ResetSpending(ctx, "", hash, c.Reason, operator)
	if err != nil {
		return err
	}
	fmt.Printf("The limit of %s counts from now on. What it has spent stays in the books.\n", k.Label)
	return nil
}

// adminWith opens the database and finds a key.
func (p *location) adminWith(ctx context.Context, key string) (*app.Admin, string, error) {
	o, err := p.admin(ctx, false)
	if err != nil {
		return nil, "", err
	}
	hash, err := o.KeyNamed(ctx, key)
	if err != nil {
		o.Close()
		return nil, "", err
	}
	return o, hash, nil
}

type keyListCmd struct {
	location
	User string `arg:"" optional:"" help:"Name or id of a user; all users without it."`
}

func (c *keyListCmd) Run(ctx context.Context) error {
	o, err := c.admin(ctx, false)
	if err != nil {
		return err
	}
	defer o.Close()
	filter := apikey.Filter{IncludeDisabled: true}
	if c.User != "" {
		u, err := o.UserNamed(ctx, c.User)
		if err != nil {
			return err
		}
		filter.User = u.ID
	}
	return table("LABEL\tNAME\tUSER\tSTATE\tLIMIT\tSPENT\tHASH", func(w *tabwriter.Writer) {
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
}

type keySetCmd struct {
	location
	Key string `arg:"" help:"The key's hash, its beginning, or its label, as weir key list shows them."`
}

func (c *keySetCmd) Run(ctx context.Context, verb verb) error {
	o, err := c.admin(ctx, false)
	if err != nil {
		return err
	}
	defer o.Close()
	hash, err := o.KeyNamed(ctx, c.Key)
	if err != nil {
		return err
	}
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
}

type topupCmd struct {
	location
	User   string `arg:"" help:"Name or id of the user."`
	Amount string `arg:"" help:"Rubles, such as 100 or 0.50."`
	Ref    string `help:"Id of the payment or contract; each id is credited once." placeholder:"ID"`
}

func (c *topupCmd) Run(ctx context.Context) error {
	o, u, err := c.adminFor(ctx, c.User)
	if err != nil {
		return err
	}
	defer o.Close()
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
}
