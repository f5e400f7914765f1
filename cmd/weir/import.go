package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/big"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"weir/internal/account"
	"weir/internal/accountapi"
	"weir/internal/apikey"
	"weir/internal/app"
	"weir/internal/audit"
	"weir/internal/budget"
	"weir/internal/catalog/edit"
	"weir/internal/config"
	"weir/internal/fault"
	"weir/internal/gatewayimport"
	"weir/internal/organization"
	"weir/internal/preset"
)

type importCmd struct {
	Openrouter importOpenRouterCmd `cmd:"" help:"Read what OpenRouter's API answers to GET /keys and GET /presets/{slug}."`
	Litellm    importLiteLLMCmd    `cmd:"" help:"Read LiteLLM's config.yaml, and what its API answers to GET /key/list?return_full_object=true, /team/list, /user/list, /tag/list and /model/info."`
	NewAPI     importNewAPICmd     `cmd:"" name:"new-api" help:"Read rows of new-api's tables tokens, channels and options, as JSON."`
	OneAPI     importOneAPICmd     `cmd:"" name:"one-api" help:"Read rows of one-api's tables tokens, channels and options, as JSON."`
}

// importing has what both gateways' commands have.
type importing struct {
	location
	Files []string `arg:"" help:"The exported files."`
	User  string   `help:"Name or id of the account that keys and presets are made for. Teams, users and budgets of tags need an organization: org_..." required:"" placeholder:"USER"`
	Keys  string   `name:"keys-to" help:"New file for the secrets of the keys that are made, one name and key a line, and for the links of invitations. It must not exist." placeholder:"FILE"`
	Dry   bool     `name:"dry-run" help:"Only say what would be made."`
	Actor string   `help:"Your name, for the audit log." placeholder:"NAME"`
}

type importOpenRouterCmd struct{ importing }

func (c *importOpenRouterCmd) Run(ctx context.Context) error {
	return c.run(ctx, gatewayimport.OpenRouter, false)
}

type importLiteLLMCmd struct {
	importing
	Credentials bool `help:"Also give the keys of providers in config.yaml to the providers of this installation. They are never printed."`
}

func (c *importLiteLLMCmd) Run(ctx context.Context) error {
	return c.run(ctx, gatewayimport.LiteLLM, c.Credentials)
}

func (c *importing) run(ctx context.Context, source string, credentials bool) error {
	by, err := actor(c.Actor)
	if err != nil {
		return err
	}
	files, err := readForeign(c.Files)
	if err != nil {
		return err
	}
	cfg, err := c.load("")
	if err != nil {
		return err
	}
	return c.withUser(ctx, c.User, func(o *app.Admin, u account.User) error {
		e, err := o.Editor(cfg)
		if err != nil {
			return err
		}
		isOrg := strings.HasPrefix(u.ID, organization.Prefix)
		plan, built, err := planOf(ctx, e, &cfg, source, files, credentials, isOrg)
		if err != nil {
			return err
		}
		if len(plan.Credentials) > 0 { // first, since models are served where their providers have credentials
			c.credentials(ctx, e, built, plan, by)
			if plan, built, err = planOf(ctx, e, &cfg, source, files, false, isOrg); err != nil {
				return err
			}
		}
		a := &gatewayimport.Account{User: u.ID, Keys: o.Keys, Presets: preset.NewManager(o.Store.Pages, time.Now), Check: accountapi.PresetChecker(built.Snapshot), Actor: by, Now: time.Now()}
		if isOrg {
			a.Org = &gatewayimport.Org{ID: u.ID, Members: organization.NewManager(o.Store.Organizations, o.Keys, nil, nil, time.Now), Budgets: budget.NewManager(o.Store.Accounts, time.Now), Names: o.Store.Accounts, Now: time.Now()}
		}
		since := "of the configuration"
		if !built.Rate.From.IsZero() {
			since = "since " + built.Rate.From.Format(time.DateOnly)
		}
		fmt.Printf("A dollar is %s rubles (%s). Limits are rounded down.\n\n", built.Rate.RubPerUSD, since)
		if err := c.apply(ctx, plan, a, &u); err != nil {
			return err
		}
		printLost(plan)
		return nil
	})
}

// planOf reads the files against the catalog as it is now.
func planOf(ctx context.Context, e *edit.Editor, cfg *config.Config, source string, files []gatewayimport.File, credentials, isOrg bool) (*gatewayimport.Plan, *edit.Built, error) {
	built, err := e.Built(ctx)
	if err != nil {
		return nil, nil, err
	}
	rubles, ok := new(big.Rat).SetString(built.Rate.RubPerUSD)
	if !ok {
		return nil, nil, fmt.Errorf("the rate %q is no number", built.Rate.RubPerUSD)
	}
	plan, err := gatewayimport.Read(source, files, gatewayimport.World{Model: gatewayimport.Models(built.Snapshot), Rate: rubles, Rates: cfg.Keys.RateLimits, Credentials: credentials, Organization: isOrg, Now: time.Now()})
	return plan, built, err
}

func readForeign(paths []string) (files []gatewayimport.File, err error) {
	left := int64(gatewayimport.MaxBytes) + 1
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		text, err := io.ReadAll(io.LimitReader(f, left))
		_ = f.Close()
		if err != nil {
			return nil, err
		}
		left -= int64(len(text))
		files = append(files, gatewayimport.File{Name: path, Text: text})
	}
	return files, nil
}

// apply makes the keys and presets. The file for the secrets is opened before anything is made, so that none is lost.
func (c *importing) apply(ctx context.Context, plan *gatewayimport.Plan, a *gatewayimport.Account, u *account.User) error {
	preview, err := plan.Apply(ctx, a, true)
	if err != nil {
		return err
	}
	keys, presets := preview.Count(gatewayimport.New)
	groups := preview.Made(gatewayimport.New)
	if c.Dry || keys+presets+groups == 0 {
		if err := printItems(preview); err != nil {
			return err
		}
		if c.Dry {
			fmt.Printf("\n%s%d keys and %d presets would be made for %s. Nothing was changed.\n", groupsText(groups), keys, presets, u.Name)
		} else {
			fmt.Println("\nThere is nothing to make. Nothing was changed.")
		}
		return nil
	}
	var out *os.File
	if keys > 0 || invites(preview) {
		if c.Keys == "" {
			return errors.New("give --keys-to FILE: each new key has a new secret, and each invitation a link, which is written there and shown nowhere else")
		}
		if out, err = os.OpenFile(c.Keys, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
			return err
		}
		defer func() { _ = out.Close() }()
	}
	result, err := plan.Apply(ctx, a, false)
	if err != nil {
		return err
	}
	if out != nil {
		if err := writeSecrets(out, result); err != nil {
			return fmt.Errorf("the secrets could not all be written to %s; delete the new keys of %s and import again: %w", c.Keys, u.Name, err)
		}
	}
	if err := printItems(result); err != nil {
		return err
	}
	keys, presets = result.Count(gatewayimport.Made)
	fmt.Printf("\nMade %s%d keys and %d presets for %s.", groupsText(result.Made(gatewayimport.Made)), keys, presets, u.Name)
	if out != nil {
		fmt.Printf(" The secrets are in %s; they cannot be shown again.", c.Keys)
	}
	fmt.Println()
	return nil
}

// groupsText counts teams, users and tags, where there are any.
func groupsText(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d teams, users and tags, ", n)
}

// invites reports whether somebody would be invited.
func invites(r *gatewayimport.Result) bool {
	return slices.ContainsFunc(r.Groups, func(i gatewayimport.Item) bool { return i.Outcome == gatewayimport.New && i.Group.Email != "" })
}

// writeSecrets writes a line for each key that was made: its name, a tab, its text; and for each invitation: the address, a tab, the path of its link.
func writeSecrets(out *os.File, r *gatewayimport.Result) error {
	w := bufio.NewWriter(out)
	for i := range r.Groups {
		if g := &r.Groups[i]; g.Secret != "" {
			fmt.Fprintf(w, "%s\t%s\n", g.Group.Name, g.Secret)
		}
	}
	for i := range r.Keys {
		if k := &r.Keys[i]; k.Secret != "" {
			fmt.Fprintf(w, "%s\t%s\n", k.Key.Name, k.Secret)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return out.Sync()
}

func printItems(r *gatewayimport.Result) error {
	if len(r.Groups) > 0 {
		err := table("KIND\tNAME\tBUDGET\tMODELS\tOUTCOME", func(w *tabwriter.Writer) {
			for i := range r.Groups {
				g := r.Groups[i].Group
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", g.Kind, cmp.Or(g.Name, "-"), limitText(g.Limit), cmp.Or(strings.Join(g.Models, " "), "all"), groupText(&r.Groups[i]))
			}
		})
		if err != nil {
			return err
		}
		fmt.Println()
	}
	if len(r.Keys) > 0 {
		err := table("KEY\tLIMIT\tMODELS\tEXPIRES\tOUTCOME", func(w *tabwriter.Writer) {
			for i := range r.Keys {
				k := r.Keys[i].Key
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", cmp.Or(k.Name, "-"), limitText(k.Limit), cmp.Or(strings.Join(k.Models, " "), "all"), ending(k.ExpiresAt, "never"), outcomeText(&r.Keys[i], k.Dropped))
			}
		})
		if err != nil {
			return err
		}
		fmt.Println()
	}
	if len(r.Presets) == 0 {
		return nil
	}
	return table("PRESET\tSAYS\tOUTCOME", func(w *tabwriter.Writer) {
		for i := range r.Presets {
			p := r.Presets[i].Preset
			says := string(bytes.TrimSpace(p.Content))
			if runes := []rune(says); len(runes) > 100 {
				says = string(runes[:100]) + "…"
			}
			fmt.Fprintf(w, "%s\t%s\t%s\n", cmp.Or(p.Name, "-"), cmp.Or(says, "-"), outcomeText(&r.Presets[i], p.Dropped))
		}
	})
}

// groupText is the outcome of a team, user or tag, with what of it is not carried.
func groupText(i *gatewayimport.Item) string {
	s, g := outcomeText(i, i.Group.Dropped), i.Group
	if len(g.Others) > 0 {
		s += " (in one team here, not also in " + strings.Join(g.Others, ", ") + ")"
	}
	if g.Email != "" && (g.Limit != nil || len(g.Models) > 0) && i.Reason == "" && i.Outcome != gatewayimport.Exists {
		s += " (is invited; set the budget when they have accepted)"
	}
	return s
}

func limitText(l *apikey.Limit) string {
	if l == nil {
		return "none"
	}
	return strings.TrimSpace(l.Amount.String() + " " + string(l.Reset))
}

func outcomeText(i *gatewayimport.Item, dropped []string) string {
	s := string(i.Outcome)
	if i.Reason != "" {
		s += ": " + cmp.Or(i.Why, reasons[i.Reason])
	}
	if len(dropped) > 0 {
		s += " (not served here: " + strings.Join(dropped, ", ") + ")"
	}
	return s
}

var reasons = map[gatewayimport.Reason]string{
	gatewayimport.Expired:        "it has expired",
	gatewayimport.NoName:         "it has no name, or one that another has",
	gatewayimport.NotActive:      "it is not active there",
	gatewayimport.NoContent:      "a list does not have what it says; export it with GET /presets/{slug}",
	gatewayimport.NoModel:        "none of its models is served here",
	gatewayimport.Management:     "it administers their gateway",
	gatewayimport.WrongLimit:     "its limit, allowance or expiry cannot be read",
	gatewayimport.NoOrganization: "teams, users and tags with budgets are an organization's: --user org_...",
	gatewayimport.NoTag:          "its name cannot be a tag here",
	gatewayimport.NoRoom:         "the account has as many as it may have",
}

func printLost(plan *gatewayimport.Plan) {
	if len(plan.Lost) == 0 {
		return
	}
	fmt.Println("\nNot carried; docs/migrate says what to do instead:")
	for _, l := range plan.Lost {
		fmt.Printf("  %s (%d): %s\n", l.Field, l.Count, fates[l.Fate])
	}
}

var fates = map[gatewayimport.Fate]string{
	gatewayimport.Secret:     "a secret or its hash",
	gatewayimport.Statistics: "statistics",
	gatewayimport.Identity:   "names and times of their records",
	gatewayimport.Operator:   "the operator sets it here",
	gatewayimport.BuiltIn:    "it happens here without a setting",
	gatewayimport.None:       "no counterpart",
	gatewayimport.Unknown:    "not known",
}

// credentials gives the keys of providers to those of ours that have none.
func (c *importing) credentials(ctx context.Context, e *edit.Editor, built *edit.Built, plan *gatewayimport.Plan, by audit.Actor) {
	for i := range plan.Credentials {
		k := &plan.Credentials[i]
		v := built.Provider(k.Provider)
		secret := k.Secret(os.LookupEnv)
		switch {
		case v == nil:
			fmt.Printf("%s: there is no such provider here.\n", k.Provider)
		case credential(v) != "-":
			fmt.Printf("%s: it has a credential already. Nothing was changed.\n", k.Provider)
		case secret == "":
			fmt.Printf("%s: the variable %s is empty.\n", k.Provider, k.From)
		case c.Dry:
			fmt.Printf("%s: it would get its credential.\n", k.Provider)
		default:
			if _, err := e.Change(ctx, edit.Change{Kind: edit.Provider, ID: k.Provider, Key: &secret}, by); err != nil {
				fmt.Printf("%s: %s\n", k.Provider, fault.From(err).Public)
				continue
			}
			fmt.Printf("%s: it has its credential; %s\n", k.Provider, soon)
		}
	}
	fmt.Println()
}
