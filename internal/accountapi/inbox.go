package accountapi

import (
	"context"
	"slices"
	"strings"
	"time"

	"weir/internal/apikey"
	"weir/internal/budget"
	"weir/internal/fault"
	"weir/internal/notify"
	"weir/internal/operation"
)

// LinkedNotice is a notice, and where something can be done about it.
type LinkedNotice struct {
	Notice
	Page *string `json:"page"` // path of a page of the interface; null: the caller's role has none
}

func linked(f *notify.Fact, who *notify.Viewer) LinkedNotice {
	page := who.Page(f)
	if f.Kind == modelDown || f.Kind == modelTrouble {
		page = "/models/" + f.Ref
	}
	return LinkedNotice{Notice: noticeOf(f), Page: OrNull(page)}
}

// InboxNotice is a fact that was noticed for an account.
type InboxNotice struct {
	ID    string `json:"id"` // its webhook's event has the same
	Cause string `json:"cause" enum:"low_balance,key_limit,key_expiring,model_retiring,payment,unusual_spending"`
	LinkedNotice
	Tag     *string    `json:"tag"` // that a budget is of
	FoundAt time.Time  `json:"found_at"`
	OverAt  *time.Time `json:"over_at"` // since when it no longer holds; null: it holds, or is something that has happened
	Unread  bool       `json:"unread"`
}

// Inbox is a page of what was noticed.
type Inbox struct {
	List[InboxNotice]
	Unread int      `json:"unread"` // of all pages, of all causes and tags
	Tags   []string `json:"tags"`   // that notices of all pages have, in order
}

type inboxPage struct {
	PageOf
	Cause string `json:"-" query:"cause"`               // low_balance, key_limit, key_expiring, model_retiring, payment or unusual_spending; "" all
	Tag   string `json:"-" query:"tag" maxLength:"256"` // "name=value" or a name: notices of budgets of that tag
}

type readNotices struct {
	Until time.Time `json:"until"` // found_at of the newest notice that was read; those that are found later stay unread
}

// Unread is how many notices a person has not read.
type Unread struct {
	Unread int `json:"unread"`
}

func inbox(d Deps) []operation.Operation {
	return []operation.Operation{
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/notices", ID: "listNotices", Org: operation.Anyone, Access: operation.Management, Tag: "account",
			Summary: "What was noticed for this account, newest first", Answer: "A page of notices",
			Description: "They are those that notifications report, whether or not mails and webhooks are switched on, and are kept for 60 days after they are over. " +
				"In an organization each role sees its part, as in the overview.",
		}, func(ctx context.Context, c *operation.Call, in *inboxPage) (Inbox, error) {
			c.NoStore()
			return pageOfInbox(ctx, d, c, in)
		}),
		operation.Of(operation.Operation{
			Method: "POST", Path: "/api/notices/read", ID: "readNotices", Org: operation.Anyone, Access: operation.Management, Tag: "account",
			Summary: "Mark notices as read, for yourself and in this account", Answer: "How many are unread",
			Example: `{"until": "2026-01-31T12:00:00Z"}`,
		}, func(ctx context.Context, c *operation.Call, in *readNotices) (out operation.Data[Unread], err error) {
			m, err := d.notifier()
			if err != nil {
				return out, err
			}
			if in.Until.Before(time.UnixMicro(0)) {
				return out, fault.Field("accountapi.readNotices", "until", "until must be found_at of a notice.").Coded("read_until")
			}
			if err := m.MarkRead(ctx, c.User, reader(c), in.Until); err != nil {
				return out, err
			}
			all, err := inboxOf(ctx, d, c)
			out.Data.Unread = unreadOf(all)
			return out, err
		}),
	}
}

// reader is the person who reads: in an organization its member.
func reader(c *operation.Call) string {
	if c.Member != "" {
		return c.Member
	}
	return c.User
}

func pageOfInbox(ctx context.Context, d Deps, c *operation.Call, in *inboxPage) (p Inbox, err error) {
	if in.Cause != "" {
		if _, err := notify.ParseCause("cause", in.Cause); err != nil {
			return p, err
		}
	}
	all, err := inboxOf(ctx, d, c)
	if err != nil {
		return p, err
	}
	p.Unread, p.Tags = unreadOf(all), []string{}
	for i := range all {
		if t := all[i].Tag; t != nil && !slices.Contains(p.Tags, *t) {
			p.Tags = append(p.Tags, *t)
		}
	}
	slices.Sort(p.Tags)
	all = slices.DeleteFunc(all, func(n InboxNotice) bool {
		return in.Cause != "" && n.Cause != in.Cause || in.Tag != "" && (n.Tag == nil || *n.Tag != in.Tag && !strings.HasPrefix(*n.Tag, in.Tag+"="))
	})
	p.List, err = Paged(ctx, in.PageOf, func(_ context.Context, after string, most int) ([]InboxNotice, error) {
		from := 0
		if after != "" {
			if from = 1 + slices.IndexFunc(all, func(n InboxNotice) bool { return n.ID == after }); from == 0 {
				return nil, fault.New(fault.NotFound, "accountapi.listNotices", "There is no such notice.")
			}
		}
		return all[from:min(from+most, len(all))], nil
	}, func(n *InboxNotice) (InboxNotice, string) { return *n, n.ID })
	return p, err
}

// inboxOf are all notices that the caller sees: an account has a bounded number.
func inboxOf(ctx context.Context, d Deps, c *operation.Call) ([]InboxNotice, error) {
	m, err := d.notifier()
	if err != nil {
		return nil, err
	}
	list, who, read, err := m.Inbox(ctx, c.User, reader(c), func(all []notify.Noticed) (*notify.Viewer, error) { return viewerOf(ctx, d, c, all) })
	if err != nil {
		return nil, err
	}
	all := make([]InboxNotice, len(list))
	for i := range list {
		f := &list[i]
		all[i] = InboxNotice{
			ID: notify.IDOf(c.User, &f.Fact, f.FoundAt), Cause: string(f.Kind.Cause()), LinkedNotice: linked(&f.Fact, who), Tag: OrNull(f.Tag),
			FoundAt: f.FoundAt, OverAt: Moment(f.GoneAt), Unread: f.FoundAt.After(read),
		}
	}
	return all, nil
}

func unreadOf(all []InboxNotice) (n int) {
	for i := range all {
		if all[i].Unread {
			n++
		}
	}
	return n
}

// viewerOf is the caller as a reader of facts. What they see of keys, budgets and models is looked up where a fact needs it.
func viewerOf(ctx context.Context, d Deps, c *operation.Call, all []notify.Noticed) (*notify.Viewer, error) {
	v := &notify.Viewer{Role: c.OrgRole, Whole: c.Sees.All()}
	has := func(causes ...notify.Cause) bool {
		return slices.ContainsFunc(all, func(n notify.Noticed) bool { return slices.Contains(causes, n.Kind.Cause()) })
	}
	if v.Whole {
		return v, nil
	}
	if has(notify.KeyLimit, notify.KeyExpiry) {
		keys, err := listKeys(ctx, d.Keys, c.User, c.Sees)
		if err != nil {
			return nil, err
		}
		v.Keys = setOf(keys, func(k *apikey.Key) string { return k.Hash })
		budgets, err := budgetsSeen(ctx, d, c, d.Budgets.List)
		if err != nil {
			return nil, err
		}
		v.Budgets = setOf(budgets, func(b *budget.Budget) string { return b.ID })
	}
	if has(notify.ModelRetiring) {
		used, err := d.Reports.Overview(ctx, c.Wallet, seenBy(c.User, c.Sees), c.At)
		if err != nil {
			return nil, err
		}
		v.Models = setOf(used.Models, func(slug *string) string { return *slug })
	}
	return v, nil
}

func setOf[T any](list []T, name func(*T) string) map[string]bool {
	set := make(map[string]bool, len(list))
	for i := range list {
		set[name(&list[i])] = true
	}
	return set
}
