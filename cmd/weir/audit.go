package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
	"unicode"

	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/rawjson"
)

type auditCmd struct {
	List   auditListCmd   `cmd:"" help:"List who changed what, the newest first."`
	Verify auditVerifyCmd `cmd:"" help:"Check that no row of the audit log was changed or removed; exit with 1 when one was."`
}

type auditVerifyCmd struct {
	location
	Mark string `help:"The mark that this command printed earlier (a row's number, a colon, its hash): the log must still have that row." placeholder:"ROW:HASH"`
	JSON bool   `name:"json" help:"Print the report as JSON."`
}

// errChainBroken ends the command with exit code 1. The report already contains the details.
var errChainBroken = errors.New("the audit log was tampered with")

func (c *auditVerifyCmd) Run(ctx context.Context) error {
	var noted audit.Mark
	if c.Mark != "" {
		var err error
		if noted, err = audit.ParseMark(c.Mark); err != nil {
			return err
		}
	}
	o, err := c.admin(ctx, false)
	if err != nil {
		return err
	}
	defer o.Close()
	end, err := o.VerifyAudit(ctx, noted)
	broken := fault.Is(err, fault.Conflict)
	if err != nil && !broken {
		return err
	}
	what := ""
	if broken {
		what = fault.From(err).Public
	}
	switch {
	case c.JSON:
		b := fmt.Appendf(nil, `{"whole":%t,"rows":%d,"mark":"%s","problem":`, !broken, end.Seq, end)
		fmt.Printf("%s}\n", rawjson.AppendText(b, what))
	case broken:
		fmt.Printf("broken: %s\nrows that are good: %d\n", what, end.Seq)
	default:
		fmt.Printf("whole: %d rows\nmark: %s\n", end.Seq, end)
	}
	if broken {
		return errChainBroken
	}
	return nil
}

type auditListCmd struct {
	location
	Who    string `help:"Only what this user, key or actor did." placeholder:"ID"`
	Action string `help:"Only this action, or with a dot at its end all that begin so, such as key." placeholder:"ACTION"`
	Target string `help:"Only what is about this id." placeholder:"ID"`
	From   string `help:"From this day, 00:00 UTC, or time on." placeholder:"2027-01-31"`
	To     string `help:"Before this day, 00:00 UTC, or time." placeholder:"2027-02-01"`
	Limit  int    `help:"How many rows at most (${default})." default:"50"`
	JSON   bool   `name:"json" help:"Print a row a line as JSON, with its hash."`
}

func (c *auditListCmd) Run(ctx context.Context) error {
	if c.Limit < 1 {
		return errors.New("--limit must be at least 1")
	}
	s := audit.Search{Who: c.Who, Action: c.Action, Target: c.Target}
	var err error
	if s.From, err = momentOf(c.From); err != nil {
		return fmt.Errorf("--from: %w", err)
	}
	if s.Until, err = momentOf(c.To); err != nil {
		return fmt.Errorf("--to: %w", err)
	}
	o, err := c.admin(ctx, false)
	if err != nil {
		return err
	}
	defer o.Close()
	out := bufio.NewWriter(os.Stdout)
	for left := c.Limit; left > 0; left -= s.Limit {
		s.Limit = min(left, auditAtOnce)
		rows, err := o.Store.Accounts.AuditFound(ctx, s)
		if err != nil {
			return err
		}
		for i := range rows {
			c.print(out, &rows[i])
			s.Before = rows[i].Seq
		}
		if len(rows) < s.Limit {
			break
		}
	}
	return out.Flush()
}

// auditAtOnce is how many rows are read at a time.
const auditAtOnce = 500

func (c *auditListCmd) print(out *bufio.Writer, r *audit.Row) {
	at := r.At.Format(time.RFC3339)
	if !c.JSON {
		line := fmt.Sprintf("%d  %s  %s  %s  %s", r.Seq, at, r.Name, r.Action, r.Target)
		if r.Before != "" || r.After != "" {
			line += "  " + r.Before + " -> " + r.After
		}
		fmt.Fprintln(out, printable(line))
		return
	}
	b := fmt.Appendf(nil, `{"seq":%d,"at":"%s"`, r.Seq, r.At.Format(time.RFC3339Nano))
	for _, f := range []struct{ name, text string }{{"actor", r.Name}, {"from", r.From}, {"action", r.Action}, {"target", r.Target}, {"before", r.Before}, {"after", r.After}, {"hash", r.Hash}} {
		b = rawjson.AppendText(fmt.Appendf(b, `,"%s":`, f.name), f.text)
	}
	fmt.Fprintf(out, "%s}\n", b)
}

// printable is a text without what would move the cursor of a terminal.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}
