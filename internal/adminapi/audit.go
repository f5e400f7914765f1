package adminapi

import (
	"context"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/internal/accountapi"
	"weir/internal/audit"
	"weir/internal/console"
	"weir/internal/fault"
	"weir/internal/operation"
)

// AuditLog is read by operators.
type AuditLog interface {
	// AuditFound are rows, the newest first.
	AuditFound(context.Context, audit.Search) ([]audit.Row, error)
	// NamesOf are the names of users, and those of the owners of wallets and keys, by their ids.
	NamesOf(ctx context.Context, ids []string) (map[string]string, error)
}

// AuditRow is a change, and who made it.
type AuditRow struct {
	Seq        int64     `json:"seq"` // 1, 2, ... without gaps
	At         time.Time `json:"at"`
	Actor      string    `json:"actor"`       // user: and the id of who was signed in, key: and the id of a management key, operator or another name for a command on the machine
	ActorName  *string   `json:"actor_name"`  // of that user, or of the owner of that key
	From       *string   `json:"from"`        // network address; null: a command on the machine
	Action     string    `json:"action"`      // such as key.revoke
	Target     string    `json:"target"`      // id of what was changed
	TargetName *string   `json:"target_name"` // of that user, or of the owner of that wallet or key
	Before     string    `json:"before"`
	After      string    `json:"after"`
	Erased     bool      `json:"erased"` // personal data of the row were erased, because somebody was forgotten
	Hash       string    `json:"hash" pattern:"^[0-9a-f]{64}$"`
}

// AuditChain is whether the audit log is whole: each row has the hash of the row before.
type AuditChain struct {
	OK     bool       `json:"ok"`
	Rows   int64      `json:"rows"`   // that are whole, from the first on
	At     *time.Time `json:"at"`     // when it was checked; null: not since this node began
	Detail *string    `json:"detail"` // what is wrong
}

// AuditCheck is the result of a check of the whole audit log.
type AuditCheck struct {
	AuditChain
	Mark *string `json:"mark"` // of the last good row: to be kept elsewhere and compared with later; null: there is none
}

// AuditPage is a page of the audit log.
type AuditPage struct {
	accountapi.List[AuditRow]
	Chain AuditChain `json:"chain"`
}

func chainOf(c *console.Check) AuditChain {
	return AuditChain{OK: c.OK, Rows: int64(c.Value), At: accountapi.Moment(c.At), Detail: accountapi.OrNull(c.Detail)}
}

// AuditFilter chooses rows of the audit log. What is left out chooses all.
type AuditFilter struct {
	Who    string `json:"-" query:"who" maxLength:"200"`    // who did it: id of a user or of a key, or an actor as rows have it
	Action string `json:"-" query:"action" maxLength:"60"`  // what was done: an action, or its beginning with the dot, such as key.
	Target string `json:"-" query:"target" maxLength:"200"` // id of what was changed
	From   string `json:"-" query:"from" maxLength:"40"`    // a day of UTC (YYYY-MM-DD) or a time (RFC 3339)
	To     string `json:"-" query:"to" maxLength:"40"`      // a day of UTC, which is included, or a time, which is not
}

func (in *AuditFilter) search() (s audit.Search, err error) {
	for _, v := range []struct {
		name, value string
		most        int
	}{{"who", in.Who, 200}, {"action", in.Action, 60}, {"target", in.Target, 200}} {
		if len(v.value) > v.most {
			return s, fault.Field("adminapi.audit", v.name, "%s must have at most %d bytes.", v.name, v.most).Coded("most_bytes", "most", v.most)
		}
	}
	s = audit.Search{Who: strings.TrimSpace(in.Who), Action: in.Action, Target: strings.TrimSpace(in.Target)}
	s.From, s.Until, err = accountapi.Moments(in.From, in.To)
	return s, err
}

type auditInput struct {
	AuditFilter
	accountapi.PageOf
}

type auditFileInput struct {
	AuditFilter
	Format string `json:"-" query:"format" enum:"csv,jsonl"` // csv without it
}

type verifyAuditInput struct {
	Mark string `json:"mark,omitempty" null:"none" maxLength:"100"` // that an earlier check gave: the log must still have that row
}

type auditOperations struct {
	log     AuditLog
	console *console.Console
}

// auditRoutes are the operations with which operators read the audit log.
func auditRoutes(log AuditLog, c *console.Console) []operation.Operation {
	o := auditOperations{log, c}
	return []operation.Operation{
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/admin/audit", ID: "listAudit", Access: operation.Operating, Tag: "administration",
			Summary: "Who changed what, the newest first; for operators", Answer: "A page of the audit log, and whether the log is whole",
		}, o.list),
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/admin/audit/file", ID: "getAuditFile", Access: operation.Operating, Media: "text/csv", Tag: "administration",
			Summary: "The audit log as a file; for operators", Answer: "The rows, the newest first", Description: "Rows have the hashes of their chain.",
		}, o.file),
		operation.Of(operation.Operation{
			Method: "POST", Path: "/api/admin/audit/verify", ID: "verifyAudit", Access: operation.Operating, Tag: "administration",
			Summary: "Check now that no row of the audit log was changed or removed; for operators", Answer: "What was found", Example: `{}`,
			Description: "It reads the whole log. A log that was cut at its end looks whole: keep the mark elsewhere, and send it with a later check.",
		}, o.verify),
	}
}

func (o auditOperations) list(ctx context.Context, _ *operation.Call, in *auditInput) (out AuditPage, err error) {
	s, err := in.search()
	if err != nil {
		return out, err
	}
	var names map[string]string
	out.List, err = accountapi.Paged(ctx, in.PageOf, func(ctx context.Context, after string, most int) (rows []audit.Row, err error) {
		if after != "" {
			if s.Before, err = strconv.ParseInt(after, 10, 64); err != nil || s.Before < 1 {
				return nil, fault.New(fault.NotFound, "adminapi.audit", "There is no such row.")
			}
		}
		s.Limit = most
		rows, names, err = o.named(ctx, s)
		return rows, err
	}, func(r *audit.Row) (AuditRow, string) { return auditRow(r, names), strconv.FormatInt(r.Seq, 10) })
	chain := o.console.Chain()
	out.Chain = chainOf(&chain)
	return out, err
}

// named finds rows, and the names of whom they are about.
func (o auditOperations) named(ctx context.Context, s audit.Search) (rows []audit.Row, names map[string]string, err error) {
	if rows, err = o.log.AuditFound(ctx, s); err != nil {
		return nil, nil, err
	}
	var ids []string
	for i := range rows {
		ids = append(ids, actorID(rows[i].Name), rows[i].Target)
	}
	slices.Sort(ids)
	names, err = o.log.NamesOf(ctx, slices.Compact(ids))
	return rows, names, err
}

// actorID is the id of the user or of the key in the name of an actor.
func actorID(actor string) string {
	_, id, _ := strings.Cut(actor, ":")
	return id
}

func auditRow(r *audit.Row, names map[string]string) AuditRow {
	return AuditRow{
		Seq: r.Seq, At: r.At, Actor: r.Name, ActorName: accountapi.OrNull(names[actorID(r.Name)]), From: accountapi.OrNull(r.From), Action: r.Action,
		Target: r.Target, TargetName: accountapi.OrNull(names[r.Target]), Before: r.Before, After: r.After, Erased: r.Erased != 0, Hash: r.Hash,
	}
}

// rowsAtOnce is how many rows of a file are read at a time.
const rowsAtOnce = 500

func (o auditOperations) file(ctx context.Context, c *operation.Call, in *auditFileInput) (out operation.File, err error) {
	s, err := in.search()
	if err != nil {
		return out, err
	}
	if in.Format != "" && in.Format != "csv" && in.Format != "jsonl" {
		return out, fault.Field("adminapi.audit", "format", "format must be one of %s.", "csv, jsonl").Coded("one_of", "allowed", "csv, jsonl")
	}
	name := "weir-audit-" + c.At.UTC().Format(time.DateOnly)
	if in.Format == "jsonl" {
		return operation.File{Name: name + ".jsonl", MediaType: "application/jsonl", Write: func(w io.Writer) error {
			return o.each(ctx, s, func(r *AuditRow) (bool, error) {
				line, err := operation.JSON(r)
				if err != nil {
					return false, err
				}
				_, err = w.Write(append(line, '\n'))
				return err == nil, nil
			})
		}}, nil
	}
	return accountapi.Table(name+".csv", func(row func(...string) bool) error {
		row("seq", "at_utc", "actor", "actor_name", "from", "action", "target", "target_name", "before", "after", "erased", "hash")
		text := func(s *string) string {
			if s == nil {
				return ""
			}
			return *s
		}
		return o.each(ctx, s, func(r *AuditRow) (bool, error) {
			return row(strconv.FormatInt(r.Seq, 10), r.At.Format(time.RFC3339Nano), r.Actor, text(r.ActorName), text(r.From), r.Action, r.Target, text(r.TargetName),
				r.Before, r.After, strconv.FormatBool(r.Erased), r.Hash), nil
		})
	}), nil
}

// each calls f with each row that a search chooses, until it returns false.
func (o auditOperations) each(ctx context.Context, s audit.Search, f func(*AuditRow) (bool, error)) error {
	for s.Limit = rowsAtOnce; ; {
		rows, names, err := o.named(ctx, s)
		if err != nil {
			return err
		}
		for i := range rows {
			r := auditRow(&rows[i], names)
			if more, err := f(&r); err != nil || !more {
				return err
			}
			s.Before = r.Seq
		}
		if len(rows) < rowsAtOnce {
			return nil
		}
	}
}

func (o auditOperations) verify(ctx context.Context, _ *operation.Call, in *verifyAuditInput) (out operation.Data[AuditCheck], err error) {
	var noted audit.Mark
	if in.Mark != "" {
		if noted, err = audit.ParseMark(strings.TrimSpace(in.Mark)); err != nil {
			return out, fault.Field("adminapi.verifyAudit", "mark", "mark must be the number of a row, a colon and the row's hash of 64 hex digits, as an earlier check gave it.").Coded("audit_mark")
		}
	}
	check, end, err := o.console.CheckAudit(ctx, noted)
	out.Data.AuditChain = chainOf(&check)
	if end.Seq > 0 {
		out.Data.Mark = new(end.String())
	}
	return out, err
}
