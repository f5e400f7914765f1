package relay

import (
	"context"
	"strings"

	"weir/internal/budget"
	"weir/internal/fault"
)

// bind finds the budgets of a call: their ceilings are limits of its hold, and their rules narrow its preferences. A call of which nothing is known of
// its budgets is refused: one of them may have been there to stop it.
func (x *run) bind(ctx context.Context) *fault.Error {
	if err := x.permitted(); err != nil {
		return err
	}
	c := x.call
	defer func() { // names of tools are kept nowhere for a call that asks for no retention
		x.meter.watch = x.relay.Loops != nil && c.Caller.Child.Parent != "" && !c.Request.Preferences.ZDR
	}()
	if x.relay.Budgets == nil {
		return nil
	}
	list, err := x.relay.Budgets.Of(ctx, &budget.Call{Account: c.Caller.User, Member: c.Caller.Member, Team: c.Caller.Team, Key: c.Caller.Key, Above: c.Caller.Above, Tags: c.Tags, Session: c.Request.SessionID})
	if err != nil || list == nil {
		return fault.From(err)
	}
	x.budgets, c.Limits = list, budget.Limits(list, c.Request.SessionID)
	c.Request.Preferences = budget.Narrow(list, c.Request.Preferences)
	return nil
}

// permitted refuses tools that the key may not use.
func (x *run) permitted() *fault.Error {
	child := &x.call.Caller.Child
	if len(child.Tools) == 0 || !x.call.Request.Chats() {
		return nil
	}
	p, err := x.call.Request.Prompt()
	if err != nil {
		return fault.From(err)
	}
	for i := range p.Tools {
		name := p.Tools[i].Name
		if p.Tools[i].Hosted != nil {
			name = p.Tools[i].HostedType
		}
		if !child.Permits(name) {
			e := fault.Newf(fault.PermissionDenied, "relay.permitted", "This key may not use the tool %q. It may use %s.", name, strings.Join(child.Tools, ", "))
			e.Details = map[string]any{"tool": name, "allowed": child.Tools}
			return e
		}
	}
	return nil
}
