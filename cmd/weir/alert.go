package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"weir/internal/alert"
	"weir/internal/app"
	"weir/internal/audit"
	"weir/internal/catalog/edit"
)

type alertCmd struct {
	List    alertListCmd    `cmd:"" help:"List incidents, the newest first, and whom they were said to."`
	Rules   alertRulesCmd   `cmd:"" help:"List the rules."`
	Set     alertSetCmd     `cmd:"" help:"Set a rule."`
	Reset   alertResetCmd   `cmd:"" help:"Make a rule as the program has it."`
	Channel alertChannelCmd `cmd:"" help:"Manage where alerts go."`
}

// alerts opens the store with what manages alerts for one act of a command.
func (p *location) alerts(ctx context.Context, act func(m *alert.Manager) error) error {
	return p.editing(ctx, func(o *app.Admin, _ *edit.Editor) error { return act(o.Alerts()) })
}

// alertActing is a command that changes alerts.
type alertActing struct {
	location
	Actor string `help:"Your name, for the audit log." placeholder:"NAME"`
}

func (c *alertActing) act(ctx context.Context, change func(m *alert.Manager, by audit.Actor) error) error {
	by, err := actor(c.Actor)
	if err != nil {
		return err
	}
	return c.alerts(ctx, func(m *alert.Manager) error { return change(m, by) })
}

type alertListCmd struct {
	location
	Count int `help:"How many of the newest (${default})." default:"30"`
}

func (c *alertListCmd) Run(ctx context.Context) error {
	if c.Count < 1 || c.Count > 1000 {
		return errors.New("--count must be from 1 to 1000")
	}
	return c.alerts(ctx, func(m *alert.Manager) error {
		all, err := m.Incidents(ctx, "", c.Count)
		if err != nil {
			return err
		}
		if len(all) == 0 {
			fmt.Println("Nothing was not well.")
			return nil
		}
		return table("BEGAN\tENDED\tKIND\tSUBJECT\tVALUE\tLIMIT\tSAID TO", func(w *tabwriter.Writer) {
			for i := range all {
				x := &all[i]
				said := map[string]bool{}
				var names []string
				for _, one := range x.Said {
					if !one.SentAt.IsZero() && !said[one.Channel] {
						said[one.Channel] = true
						names = append(names, one.Channel)
					}
				}
				ended := "it lasts"
				if !x.EndedAt.IsZero() {
					ended = x.EndedAt.Format(time.DateTime) + " " + string(x.Why)
				}
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%d %s\t%s\n", x.BeganAt.Format(time.DateTime), ended, x.Kind, x.Subject, x.Value, x.Limit, x.Kind.Unit(), strings.Join(names, ", "))
			}
		})
	})
}

type alertRulesCmd struct{ location }

func (c *alertRulesCmd) Run(ctx context.Context) error {
	return c.alerts(ctx, func(m *alert.Manager) error {
		rules, err := m.Rules(ctx)
		if err != nil {
			return err
		}
		return table("KIND\tRULE\tSET BY OPERATORS", func(w *tabwriter.Writer) {
			for i := range rules {
				set := "-"
				if rules[i].Changed {
					set = "yes"
				}
				fmt.Fprintf(w, "%s\t%s\t%s\n", rules[i].Kind, rules[i].String(), set)
			}
		})
	})
}

type alertSetCmd struct {
	alertActing
	Kind    string `arg:"" help:"Kind of the rule; see: weir alert rules"`
	Limit   *int   `help:"Percent, days, MiB or minutes, as the kind has it. What is left out stays as it is."`
	Minutes *int   `help:"In which attempts at providers and endpoints count: 5 or 30."`
	Calls   *int   `help:"Fewer attempts say nothing."`
	Off     bool   `help:"Switch the rule off."`
}

func (c *alertSetCmd) Run(ctx context.Context) error {
	k, err := alert.ParseKind(c.Kind)
	if err != nil {
		return err
	}
	return c.act(ctx, func(m *alert.Manager, by audit.Actor) error {
		r, err := m.Rule(ctx, k)
		if err != nil {
			return err
		}
		r.On = !c.Off
		for to, v := range map[*int]*int{&r.Limit: c.Limit, &r.Minutes: c.Minutes, &r.Calls: c.Calls} {
			if v != nil {
				*to = *v
			}
		}
		if _, err := m.PutRule(ctx, r, alert.Condition{}, by); err != nil {
			return err
		}
		fmt.Printf("%s: %s\n", k, r.String())
		return nil
	})
}

type alertResetCmd struct {
	alertActing
	Kind string `arg:"" help:"Kind of the rule."`
}

func (c *alertResetCmd) Run(ctx context.Context) error {
	k, err := alert.ParseKind(c.Kind)
	if err != nil {
		return err
	}
	return c.act(ctx, func(m *alert.Manager, by audit.Actor) error {
		if err := m.ResetRule(ctx, k, alert.Condition{}, by); err != nil {
			return err
		}
		usual := k.Usual()
		fmt.Printf("%s: %s\n", k, usual.String())
		return nil
	})
}

type alertChannelCmd struct {
	List   alertChannelListCmd   `cmd:"" help:"List channels, and how they do."`
	Set    alertChannelSetCmd    `cmd:"" help:"Add or change a channel."`
	Remove alertChannelRemoveCmd `cmd:"" help:"Remove a channel, and what waits for it."`
	Test   alertChannelTestCmd   `cmd:"" help:"Send a test, and show the receiver's answer."`
}

type alertChannelListCmd struct{ location }

func (c *alertChannelListCmd) Run(ctx context.Context) error {
	return c.alerts(ctx, func(m *alert.Manager) error {
		all, err := m.Channels(ctx)
		if err != nil {
			return err
		}
		if len(all) == 0 {
			fmt.Println(c.hint("Alerts go nowhere yet. Add a channel with: weir alert channel set ops --way mail --address ops@example.org"))
			return nil
		}
		return table("CHANNEL\tWHERE\tSTATE\tLAST MESSAGE", func(w *tabwriter.Writer) {
			for i := range all {
				x := &all[i]
				state, sent := "ok", "-"
				switch {
				case x.Failed != "":
					state = "failed: " + x.Failed
				case x.Words != "" || x.Reason != "":
					state = "tried again: " + x.Reason.Sentence(x.Words)
				}
				if !x.SentAt.IsZero() {
					sent = x.SentAt.Format(time.DateTime)
				}
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", x.ID, x.String(), state, sent)
			}
		})
	})
}

type alertChannelSetCmd struct {
	alertActing
	ID       string `arg:"" help:"A name for the channel." name:"channel"`
	Way      string `help:"How it is reached: mail, webhook, slack or telegram." required:"" placeholder:"WAY"`
	Address  string `help:"A mailbox, the URL of a webhook, or the chat of Telegram." placeholder:"ADDRESS"`
	Secret   bool   `help:"Read the secret from standard input: the URL of Slack's webhook, the token of Telegram's bot, or what signs a webhook. Without it, the secret stays."`
	Language string `help:"Language of the messages, en or ru (${default})." default:"en"`
	Kinds    string `help:"Only these kinds of alerts, separated by commas; see: weir alert rules. Without it, all." placeholder:"KINDS"`
	Severity string `help:"The least severity: warning, which is all, or critical, which is what costs calls or money now (${default})." default:"warning"`
	Off      bool   `help:"Send nothing to it."`
}

func (c *alertChannelSetCmd) Run(ctx context.Context) error {
	var secret *string
	if c.Secret {
		const longest = 4096
		text, err := io.ReadAll(io.LimitReader(os.Stdin, longest))
		if err != nil {
			return err
		}
		secret = new(strings.TrimSpace(string(text)))
	}
	return c.act(ctx, func(m *alert.Manager, by audit.Actor) error {
		want := alert.Channel{ID: c.ID, Way: alert.Way(c.Way), Address: c.Address, Language: c.Language, On: !c.Off, Least: alert.Severity(c.Severity)}
		for name := range strings.FieldsFuncSeq(c.Kinds, func(r rune) bool { return r == ',' || r == ' ' }) {
			want.Kinds = append(want.Kinds, alert.Kind(name))
		}
		if _, err := m.PutChannel(ctx, want, secret, alert.Condition{}, by); err != nil {
			return err
		}
		fmt.Println(c.hint("Alerts go to " + c.ID + ". Try it with: weir alert channel test " + c.ID))
		return nil
	})
}

type alertChannelRemoveCmd struct {
	alertActing
	ID string `arg:"" help:"The channel." name:"channel"`
}

func (c *alertChannelRemoveCmd) Run(ctx context.Context) error {
	return c.act(ctx, func(m *alert.Manager, by audit.Actor) error {
		if err := m.RemoveChannel(ctx, c.ID, alert.Condition{}, by); err != nil {
			return err
		}
		fmt.Println("Removed.")
		return nil
	})
}

type alertChannelTestCmd struct {
	alertActing
	ID string `arg:"" help:"The channel." name:"channel"`
}

func (c *alertChannelTestCmd) Run(ctx context.Context) error {
	return c.act(ctx, func(m *alert.Manager, by audit.Actor) error {
		a, err := m.Test(ctx, c.ID, by)
		if err != nil {
			return err
		}
		if !a.Sent {
			return fmt.Errorf("the test did not arrive: %s", a.Reason.Sentence(a.Words))
		}
		fmt.Println("The test arrived.")
		return nil
	})
}
