package accountapi

import (
	"context"
	"slices"
	"time"

	"weir/internal/apikey"
	"weir/internal/batch"
	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/operation"
	"weir/internal/video"
)

// ChildKeyInput is what a key asks for one of its own. All of it must lie within the key that asks.
type ChildKeyInput struct {
	Name     string                     `json:"name" minLength:"1" maxLength:"256"`
	Amount   money.Nano                 `json:"amount"`                                      // rubles: all that it may spend, with the keys that come from it
	Models   []string                   `json:"models,omitempty" null:"none" maxItems:"100"` // patterns; left out: as the key that asks
	Tools    []string                   `json:"tools,omitempty" null:"none" maxItems:"100"`  // names of tools that its requests may have, and types of those that providers run; left out: as the key that asks
	Deadline operation.Maybe[time.Time] `json:"deadline"`                                    // when it ends; left out: with the key that asks
	Depth    int                        `json:"depth,omitempty" minimum:"0" maximum:"7"`     // generations of keys that may come from it
}

// Agent is a key that another one made, and how it stands: amount = own + by_children + held + left.
type Agent struct {
	Hash       string     `json:"hash" pattern:"^[0-9a-f]{64}$"`
	ID         string     `json:"id"`
	Label      string     `json:"label"`
	Name       string     `json:"name"`
	Parent     string     `json:"parent"`                                          // id of the key that made it
	Tree       string     `json:"tree"`                                            // id of the first key of its tree
	State      string     `json:"state" enum:"running,out_of_money,ended,stopped"` // out_of_money: less than a hundredth is left; ended: its deadline has passed, or a key above it has ended
	Calls      int64      `json:"calls"`                                           // of its own
	Amount     money.Nano `json:"amount"`
	Own        money.Nano `json:"own"`         // spent by its own calls
	ByChildren money.Nano `json:"by_children"` // spent by the keys that come from it
	Held       money.Nano `json:"held"`        // reserved for calls that run, of those keys as well
	Left       money.Nano `json:"left"`        // below zero after an overrun
	Models     []string   `json:"models"`      // none: all
	Tools      []string   `json:"tools"`       // none: all
	Depth      int        `json:"depth"`
	Deadline   *time.Time `json:"deadline"`
	CreatedAt  time.Time  `json:"created_at"`
	EndedAt    *time.Time `json:"ended_at"` // when it was stopped
	Loop       *AgentLoop `json:"loop"`     // the last time that it repeated itself; null: it was not noticed to
}

// AgentLoop is a time at which an agent repeated itself: its answers asked for the same tools in the same order, at least in 20 calls in a row.
type AgentLoop struct {
	Tools []string  `json:"tools"` // in their order, once; those of one call are separated by spaces
	Times int64     `json:"times"` // how often
	Calls int64     `json:"calls"` // in which
	Since time.Time `json:"since"`
	Until time.Time `json:"until"`
}

// NewChildKey is a child key with its text.
type NewChildKey struct {
	Data Agent  `json:"data"`
	Key  string `json:"key" pattern:"^sk-weir-v1-[0-9A-Za-z]{49}$"` // shown only now
}

// AgentList is keys that other keys made.
type AgentList struct {
	Data []Agent        `json:"data"`
	Most int            `json:"most"` // so many are shown, the newest
	Next operation.Null `json:"next"`
}

// AgentTree is a tree of keys, each after the one that made it.
type AgentTree struct {
	Top  Agent   `json:"top"`  // the first key: its line has the sums of the tree
	Data []Agent `json:"data"` // all of them, the first one included
}

// StoppedTree is what a stop has ended.
type StoppedTree struct {
	Stopped   int        `json:"stopped"`   // keys that had not ended before
	Cancelled int        `json:"cancelled"` // videos and batches of these keys that were under way, and make nothing more
	GoOn      int        `json:"go_on"`     // those that their providers go on with: what these finish is charged. Stop again to have them asked again
	Left      money.Nano `json:"left"`      // of the amount, which the keys above may spend again
}

const mostAgents = 200

func trees(d Deps) []operation.Operation {
	return []operation.Operation{
		operation.Of(operation.Operation{
			Method: "POST", Path: "/v1/keys/child", ID: "createChildKey", Org: operation.Workers, Access: operation.Inference, Fresh: true, Status: 201, Tag: "agents",
			Summary: "Make a key within the one that asks, for an agent; its text is only in this response", Answer: "The new key",
			Description: "What the new key spends counts in the key that asks and in all above it. Its amount is a ceiling and reserves nothing: what it does not spend, the others may. It ends with the key that asks.",
			Example:     `{"name": "planner", "amount": "5", "models": ["sim/*"], "tools": ["read_file", "edit_file"], "depth": 1}`,
		}, func(ctx context.Context, c *operation.Call, in *ChildKeyInput) (out NewChildKey, err error) {
			n := apikey.NewChild{Name: in.Name, Amount: in.Amount, Models: in.Models, Tools: in.Tools, Depth: in.Depth}
			if t := in.Deadline.Value; t != nil {
				if t.Year() > 9999 || t.Year() < 1970 {
					return out, fault.Field("accountapi.createChildKey", "deadline", "deadline must be a time such as 2030-01-31T00:00:00Z.").Coded("time")
				}
				n.ExpiresAt = t.UTC().Truncate(time.Microsecond)
			}
			k, text, err := d.Keys.CreateChild(ctx, c.Caller, n, c.Actor)
			if err != nil {
				return out, err
			}
			c.NoStore()
			return NewChildKey{Data: agentOf(&apikey.Branch{Key: k}, 0, c.At, false), Key: text}, nil
		}),
		operation.Of(operation.Operation{
			Method: "GET", Path: "/v1/keys/child", ID: "listChildKeys", Org: operation.Workers, Access: operation.Inference, Tag: "agents",
			Summary: "The keys that the key which asks has made, the newest first", Answer: "The keys, ended ones included",
		}, func(ctx context.Context, c *operation.Call, _ *operation.None) (l AgentList, err error) {
			l.Most = mostAgents
			all, err := d.Keys.Children(ctx, c.User, c.Key, mostAgents)
			if err != nil {
				return l, err
			}
			l.Data, err = agentsOf(ctx, d, c, all)
			return l, err
		}),
		operation.Of(operation.Operation{
			Method: "POST", Path: "/v1/keys/child/{hash}/stop", ID: "stopChildKey", Org: operation.Workers, Access: operation.Inference, Tag: "agents",
			Summary: "Stop a key that comes from the one that asks, with all that come from it", Answer: "They work no more",
			Description: "Its calls that run are cut off, and what they have answered is charged. Videos and batches under way are cancelled; what a provider goes on with is charged when it ends. The keys do not come back.",
		}, func(ctx context.Context, c *operation.Call, in *keyHash) (out operation.Data[StoppedTree], err error) {
			f, err := d.Keys.Of(ctx, in.Hash)
			if err != nil {
				return out, err
			}
			if f.User != c.User || !slices.ContainsFunc(f.Above, func(a apikey.Above) bool { return a.Key == c.Key }) {
				return out, apikey.NotFound("accountapi.stopChildKey")
			}
			return stopTree(ctx, d, c, &f.Key)
		}),
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/agents", ID: "listAgents", Org: operation.Workers, Access: operation.Management, Tag: "agents",
			Summary: "The trees of keys that keys of the account have made, the newest first", Answer: "The first key of each tree, ended ones included",
		}, func(ctx context.Context, c *operation.Call, _ *operation.None) (l AgentList, err error) {
			l.Most = mostAgents
			all, err := d.Keys.Tops(ctx, c.User, c.Sees, mostAgents)
			if err != nil {
				return l, err
			}
			l.Data, err = agentsOf(ctx, d, c, all)
			return l, err
		}),
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/agents/{hash}", ID: "getAgent", Org: operation.Workers, Access: operation.Management, Tag: "agents",
			Summary: "A tree of keys as a report", Answer: "The keys of the tree, each line of which adds up",
		}, func(ctx context.Context, c *operation.Call, in *keyHash) (out operation.Data[AgentTree], err error) {
			k, err := childByHash(ctx, d, c, in.Hash)
			if err != nil {
				return out, err
			}
			all, err := treeOf(ctx, d, c, &k)
			if err != nil {
				return out, err
			}
			out.Data.Data = all
			for i := range all {
				if all[i].ID == k.Child.Tree {
					out.Data.Top = all[i]
				}
			}
			return out, nil
		}),
		operation.Of(operation.Operation{
			Method: "POST", Path: "/api/agents/{hash}/stop", ID: "stopAgent", Org: operation.Workers, Access: operation.Management, Tag: "agents",
			Summary: "Stop a key that another one made, with all that come from it", Answer: "They work no more",
			Description: "Its calls that run are cut off, and what they have answered is charged. Videos and batches under way are cancelled; what a provider goes on with is charged when it ends. The keys do not come back.",
		}, func(ctx context.Context, c *operation.Call, in *keyHash) (out operation.Data[StoppedTree], err error) {
			k, err := childByHash(ctx, d, c, in.Hash)
			if err != nil {
				return out, err
			}
			return stopTree(ctx, d, c, &k)
		}),
	}
}

// childByHash finds a key of the caller's account that another one made and that the caller sees, ended ones included.
func childByHash(ctx context.Context, d Deps, c *operation.Call, hash string) (apikey.Key, error) {
	f, err := d.Keys.Of(ctx, hash)
	if err == nil && (f.User != c.User || f.Child.Parent == "" || !c.Sees.Of(f.Member, f.Team)) {
		err = apikey.NotFound("accountapi.childByHash")
	}
	return f.Key, err
}

func stopTree(ctx context.Context, d Deps, c *operation.Call, k *apikey.Key) (out operation.Data[StoppedTree], err error) {
	ids, err := d.Keys.StopTree(ctx, c.User, k, c.Actor)
	if err != nil {
		return out, err
	}
	if err := d.StopCalls(ctx, k.ID); err != nil { // once more where a stop is repeated: it may have failed here before
		return out, err
	}
	if out.Data.Cancelled, out.Data.GoOn, err = cancelBelow(ctx, d, c.User, k.ID); err != nil {
		return out, err
	}
	all, err := treeOf(ctx, d, c, k)
	for i := range all {
		if all[i].ID == k.ID {
			out.Data.Left = all[i].Left
		}
	}
	out.Data.Stopped = len(ids)
	return out, err
}

// cancelBelow cancels the videos and batches under way of a key and of those that come from it. What a provider does not cancel goes on, and is
// charged when it has ended.
func cancelBelow(ctx context.Context, d Deps, user, key string) (cancelled, goOn int, err error) {
	count := func(err error) error {
		switch {
		case err == nil:
			cancelled++
		case fault.Is(err, fault.ProviderUnavailable), fault.Is(err, fault.Conflict):
			goOn++
		case !fault.Is(err, fault.NotFound): // it was deleted meanwhile
			return err
		}
		return nil
	}
	if d.Videos != nil {
		for _, s := range []video.State{video.Pending, video.InProgress} {
			list, _, err := d.Videos.List(ctx, video.Query{User: user, Below: key, State: s, Limit: mostJobs})
			for i := range list {
				if err == nil {
					_, e := d.Videos.Delete(ctx, user, list[i].ID)
					err = count(e)
				}
			}
			if err != nil {
				return cancelled, goOn, err
			}
		}
	}
	if d.Batches == nil {
		return cancelled, goOn, nil
	}
	list, _, err := d.Batches.List(ctx, batch.Query{User: user, Below: key, Active: true, Limit: mostJobs})
	for i := range list {
		if b := &list[i]; err == nil && b.State != batch.Cancelling {
			_, e := d.Batches.Cancel(ctx, user, b.ID, b.Shape)
			err = count(e)
		}
	}
	return cancelled, goOn, err
}

// agentsOf shows keys with what they have spent.
func agentsOf(ctx context.Context, d Deps, c *operation.Call, list []apikey.Key) ([]Agent, error) {
	known := map[string][]Agent{}
	out := make([]Agent, 0, len(list))
	for i := range list {
		k := &list[i]
		tree, ok := known[k.Child.Tree]
		if !ok {
			var err error
			if tree, err = treeOf(ctx, d, c, k); err != nil {
				return nil, err
			}
			known[k.Child.Tree] = tree
		}
		for j := range tree {
			if tree[j].ID == k.ID {
				out = append(out, tree[j])
			}
		}
	}
	return out, nil
}

// treeOf is the tree of a key, each key after the one that made it. What this node has charged is posted first.
func treeOf(ctx context.Context, d Deps, c *operation.Call, k *apikey.Key) ([]Agent, error) {
	if _, err := d.Books.KeySpend(ctx, k.ID); err != nil {
		return nil, err
	}
	branches, err := d.Keys.Tree(ctx, c.User, k.Child.Tree)
	if err != nil {
		return nil, err
	}
	if err := readHeld(ctx, d, c, branches); err != nil {
		return nil, err
	}
	dead := map[string]bool{}
	if len(branches) > 0 { // the key that made the first one is no part of the tree
		f, err := d.Keys.Of(ctx, branches[0].ID)
		if err != nil {
			return nil, err
		}
		dead[branches[0].Child.Parent] = f.UserDisabled || !f.AboveEnds.IsZero() && !c.At.Before(f.AboveEnds)
	}
	byParent, sums := map[string][]int{}, map[string]money.Nano{}
	for i := range branches {
		b := &branches[i]
		byParent[b.Child.Parent] = append(byParent[b.Child.Parent], i)
		sums[b.Child.Parent] += b.Spent
		dead[b.ID] = dead[b.Child.Parent] || b.State(c.At) != apikey.Active // a parent is older
	}
	out := make([]Agent, 0, len(branches))
	var add func(at int)
	add = func(at int) {
		b := &branches[at]
		out = append(out, agentOf(b, sums[b.ID], c.At, dead[b.Child.Parent]))
		for _, child := range byParent[b.ID] {
			add(child)
		}
	}
	if len(branches) > 0 {
		add(0)
	}
	return out, nil
}

// readHeld reads what is held of keys that have not ended.
func readHeld(ctx context.Context, d Deps, c *operation.Call, branches []apikey.Branch) error {
	var funds []ledger.Fund
	var of []*apikey.Branch
	for i := range branches {
		if b := &branches[i]; b.State(c.At) == apikey.Active {
			funds, of = append(funds, ledger.Fund{Wallet: c.Wallet, Key: b.ID, Period: ledger.Never.Period(c.At)}), append(of, b)
		}
	}
	states, err := d.Books.FundStates(ctx, funds)
	for i := range states {
		of[i].Held = states[i].Held
	}
	return err
}

func agentOf(b *apikey.Branch, byChildren money.Nano, at time.Time, orphan bool) Agent {
	a := Agent{
		Hash: b.Hash, ID: b.ID, Label: b.Label, Name: b.Name, Parent: b.Child.Parent, Tree: b.Child.Tree, State: "running", Calls: b.Calls, Own: b.Spent - byChildren, ByChildren: byChildren, Held: b.Held,
		Models: append([]string{}, b.Models...), Tools: append([]string{}, b.Child.Tools...), Depth: b.Child.Depth, Deadline: Moment(b.ExpiresAt), CreatedAt: b.CreatedAt, EndedAt: Moment(b.DeletedAt),
	}
	if b.Limit != nil {
		a.Amount = b.Limit.Amount
	}
	a.Left = a.Amount - b.Spent - b.Held
	if l := b.Loop; l != nil {
		a.Loop = &AgentLoop{Tools: l.Tools, Times: l.Times, Calls: l.Calls, Since: l.Since, Until: l.Until}
	}
	switch {
	case !b.DeletedAt.IsZero():
		a.State = "stopped"
	case orphan || b.State(at) != apikey.Active:
		a.State = "ended"
	case a.Left <= a.Amount/100:
		a.State = "out_of_money"
	}
	return a
}
