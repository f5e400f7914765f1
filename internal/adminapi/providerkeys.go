package adminapi

import (
	"cmp"
	"context"
	"slices"
	"time"

	"weir/internal/accountapi"
	"weir/internal/audit"
	"weir/internal/catalog"
	"weir/internal/catalog/edit"
	"weir/internal/console"
	"weir/internal/fault"
	"weir/internal/operation"
)

// ProviderKeys change the keys of providers. *edit.Editor is one.
type ProviderKeys interface {
	AddKey(ctx context.Context, n edit.NewKey, by audit.Actor) (*edit.Built, string, error)
	MoveKey(ctx context.Context, m edit.KeyMove, by audit.Actor) (*edit.Built, error)
	ForgetKey(ctx context.Context, provider, id string, by audit.Actor) (*edit.Built, error)
}

// KeyTester calls a provider of a catalog once with a key. Without a model that it serves there are no calls.
type KeyTester func(ctx context.Context, b *edit.Built, provider, key string) ([]ProviderTest, error)

// DeclaredKey is a key of a provider that the configuration or the environment has.
type DeclaredKey struct {
	Key      string
	Variable string // that it is in, "" for one of the configuration
	Where    string // the position in the configuration
}

// AdminProviderKey is one of a provider's keys, and what it did at all nodes within the last hour.
type AdminProviderKey struct {
	ID     *string    `json:"id"`  // null: it is declared in the configuration or the environment, and cannot be changed here
	Tag    string     `json:"tag"` // made of its text, which it does not reveal: records of calls and bills name it so; "" where the key cannot be read
	State  string     `json:"state" enum:"in_use,draining,off"`
	Source string     `json:"source" enum:"database,variable,configuration"`
	Where  *string    `json:"where"` // name of the variable, or position in the configuration
	Last4  *string    `json:"last4"` // no other part is ever shown
	At     *time.Time `json:"added_at"`
	By     *string    `json:"added_by"`
	Note   *string    `json:"note"`
	KeyFigures
	Refusal *KeyRefusal `json:"refusal"` // the last one; null without any since the nodes started
	Nodes   []KeyAtNode `json:"nodes"`   // those that have used it
}

// KeyFigures are counts of attempts at the provider.
type KeyFigures struct {
	Calls   int64      `json:"calls"`         // within the last hour
	Failed  int64      `json:"failed"`        // of them, other than 429
	Limited int64      `json:"limited"`       // of them, 429
	Running int64      `json:"running"`       // under way
	Until   *time.Time `json:"resting_until"` // it gets no calls until then, because the provider has refused it; null: it does not rest
	Model   *string    `json:"resting_for"`   // the provider's id of the model that it rests for; null: for all
}

// KeyAtNode is what a key did at one node.
type KeyAtNode struct {
	Node string `json:"node"`
	KeyFigures
}

// KeyRefusal is what a provider said against a key.
type KeyRefusal struct {
	At     *time.Time `json:"at"`
	Status int        `json:"status"`
	Words  string     `json:"words"` // without secrets
}

// used are the counts of a credential at all nodes.
func (k *AdminProviderKey) used(nodes []console.Node, provider, tag string) {
	k.Nodes = []KeyAtNode{}
	var refused time.Time
	for i := range nodes {
		for j := range nodes[i].Keys {
			u := &nodes[i].Keys[j]
			if u.Provider != provider || u.Tag != tag || tag == "" {
				continue
			}
			f := KeyFigures{Calls: u.Calls, Failed: u.Failed, Limited: u.Limited, Running: u.Running, Until: accountapi.Moment(u.Until)}
			if f.Until != nil {
				f.Model = accountapi.OrNull(u.Model)
			}
			k.Nodes = append(k.Nodes, KeyAtNode{nodes[i].ID, f})
			k.add(&f)
			if u.RefusedAt.After(refused) {
				refused = u.RefusedAt
				k.Refusal = &KeyRefusal{At: accountapi.Moment(u.RefusedAt), Status: u.Status, Words: u.Words}
			}
		}
	}
}

func (f *KeyFigures) add(more *KeyFigures) {
	f.Calls += more.Calls
	f.Failed += more.Failed
	f.Limited += more.Limited
	f.Running += more.Running
	if more.Until != nil && (f.Until == nil || more.Until.After(*f.Until)) {
		f.Until, f.Model = more.Until, more.Model
	}
}

type keyOperations struct {
	Editor
	*console.Console
	test     KeyTester
	declared func(*edit.ProviderView) []DeclaredKey
}

func (o keyOperations) keysOf(b *edit.Built, id string) ([]AdminProviderKey, error) {
	if b.Provider(id) == nil {
		return nil, fault.New(fault.NotFound, "adminapi.providerKeys", "There is no such provider.")
	}
	nodes := o.Console.Nodes()
	list := o.known(b, id)
	for i := range list {
		list[i].used(nodes, id, list[i].Tag)
	}
	return list, nil
}

// known are the keys of a provider, without what they did.
func (o keyOperations) known(b *edit.Built, id string) []AdminProviderKey {
	list := []AdminProviderKey{}
	v := b.Provider(id)
	if v == nil {
		return list
	}
	kept := v.Row != nil && v.Row.In(edit.KeyInUse) != nil
	for _, d := range o.declared(v) {
		k := AdminProviderKey{Tag: catalog.KeyTag(d.Key), State: string(edit.KeyInUse), Source: "configuration", Where: accountapi.OrNull(cmp.Or(d.Variable, d.Where)), Last4: accountapi.OrNull(edit.LastOf(d.Key))}
		if d.Variable != "" {
			k.Source = "variable"
		}
		if kept {
			k.State = string(edit.KeyOff)
		}
		list = append(list, k)
	}
	if v.Row == nil {
		return list
	}
	for i := range v.Row.Keys {
		key := &v.Row.Keys[i]
		k := AdminProviderKey{
			ID: &key.ID, Tag: v.KeyTags[key.ID], State: string(key.State), Source: "database", Last4: accountapi.OrNull(key.Last4), At: accountapi.Moment(key.At), By: accountapi.OrNull(key.By), Note: accountapi.OrNull(key.Note),
		}
		list = append(list, k)
	}
	return list
}

func (o keyOperations) list(ctx context.Context, _ *operation.Call, in *providerID) (out operation.Data[[]AdminProviderKey], err error) {
	b, err := o.Editor.Built(ctx)
	if err != nil {
		return out, err
	}
	out.Data, err = o.keysOf(b, in.ID)
	return out, err
}

// one answers with a key as it is after a change.
func (o keyOperations) one(b *edit.Built, provider, id string) (k AdminProviderKey, err error) {
	list, err := o.keysOf(b, provider)
	if err != nil {
		return k, err
	}
	if at := slices.IndexFunc(list, func(k AdminProviderKey) bool { return k.ID != nil && *k.ID == id }); at >= 0 {
		return list[at], nil
	}
	return k, fault.New(fault.NotFound, "adminapi.providerKeys", "There is no such key.").Coded("no_key")
}

type newProviderKey struct {
	ID   string `json:"-" path:"id"` // of the provider
	Key  string `json:"api_key" maxLength:"16384"`
	Note string `json:"note,omitempty" null:"none" maxLength:"200"`
	Sure bool   `json:"sure,omitempty"` // also one that the provider refuses now
}

// AddedAdminKey is a new key of a provider, and how its first call went.
type AddedAdminKey struct {
	Data  AdminProviderKey `json:"data"`
	Tests []ProviderTest   `json:"tests"` // empty for a provider that serves no model yet
}

func (o keyOperations) add(ctx context.Context, c *operation.Call, in *newProviderKey) (out AddedAdminKey, err error) {
	if err := c.Gates.KeyTest(); err != nil {
		return out, err
	}
	n := edit.NewKey{Provider: in.ID, Key: in.Key, Note: in.Note, Dry: true}
	b, _, err := o.AddKey(ctx, n, c.Actor)
	if err != nil {
		return out, err
	}
	if out.Tests, err = o.test(ctx, b, in.ID, in.Key); err != nil {
		return out, err
	}
	for i := range out.Tests {
		if t := &out.Tests[i]; t.Wrong != nil && *t.Wrong == "key" && !in.Sure {
			words := ""
			if t.Detail != nil {
				words = *t.Detail
			}
			return out, fault.Field("adminapi.addProviderKey", "api_key", "The provider refuses this key: %s", words).Coded("key_refused", "words", words)
		}
	}
	n.Dry = false
	b, id, err := o.AddKey(ctx, n, c.Actor)
	if err != nil {
		return out, err
	}
	out.Data, err = o.one(b, in.ID, id)
	return out, err
}

type movedProviderKey struct {
	ID    string `json:"-" path:"id"`  // of the provider
	Key   string `json:"-" path:"key"` // id of the key
	State string `json:"state" enum:"in_use,draining,off"`
	Sure  bool   `json:"sure,omitempty"` // although no key is left for new calls
}

func (o keyOperations) move(ctx context.Context, c *operation.Call, in *movedProviderKey) (out operation.Data[AdminProviderKey], err error) {
	b, err := o.MoveKey(ctx, edit.KeyMove{Provider: in.ID, ID: in.Key, To: edit.KeyState(in.State), Sure: in.Sure}, c.Actor)
	if err != nil {
		return out, err
	}
	out.Data, err = o.one(b, in.ID, in.Key)
	return out, err
}

type providerKeyID struct {
	ID  string `json:"-" path:"id"`  // of the provider
	Key string `json:"-" path:"key"` // id of the key
}

func providerKeyRoutes(d Deps) []operation.Operation {
	o := keyOperations{d.Editor, d.Console, d.TestKey, d.DeclaredKeys}
	return []operation.Operation{
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/admin/providers/{id}/keys", ID: "listAdminProviderKeys", Access: operation.Operating, Tag: "administration",
			Summary: "List the keys of a provider, with what they did within the last hour at all nodes", Answer: "The keys, those of the configuration and the environment first, then the oldest",
			Description: "Calls go to the oldest key in use. One that the provider refuses rests, and the next ones get its calls. A key of the environment is used while none here is in use.",
		}, o.list),
		operation.Of(operation.Operation{
			Method: "POST", Path: "/api/admin/providers/{id}/keys", ID: "addAdminProviderKey", Access: operation.Administration, Fresh: true, Asks: true, Status: 201, Tag: "administration",
			Summary: "Add a key beside those that a provider has, after one call with it", Answer: "The key, and how the call went", Example: `{"api_key": "sk-example-2", "note": "project two"}`,
			Description: "A key that the provider refuses is not stored, unless `sure` is set. All nodes use a new one within 5 seconds.",
		}, o.add),
		operation.Of(operation.Operation{
			Method: "PATCH", Path: "/api/admin/providers/{id}/keys/{key}", ID: "changeAdminProviderKey", Access: operation.Operating, Tag: "administration",
			Summary: "Drain a key of a provider, take it out, or bring it back", Answer: "The key", Example: `{"state": "off"}`,
			Description: "`draining`: no new call gets it; calls under way end, and videos and batches that were begun with it are still asked for with it. `off`: nothing gets it; calls that are running end. `in_use`: new calls get it again. The last one in use only goes with `sure`. All nodes follow within 5 seconds.",
		}, o.move),
		operation.Of(operation.Operation{
			Method: "DELETE", Path: "/api/admin/providers/{id}/keys/{key}", ID: "forgetAdminProviderKey", Access: operation.Administration, Fresh: true, Tag: "administration",
			Summary: "Delete a key of a provider that is off", Answer: "It is deleted, and cannot be brought back",
		}, func(ctx context.Context, c *operation.Call, in *providerKeyID) (operation.Deleted, error) {
			_, err := o.ForgetKey(ctx, in.ID, in.Key, c.Actor)
			return operation.Deleted{}, err
		}),
	}
}
