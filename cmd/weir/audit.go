package main

import (
	"context"
	"errors"
	"fmt"

	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/rawjson"
)

type auditCmd struct {
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
