package accountapi

import (
	"context"
	"strings"

	"weir/internal/apikey"
	"weir/internal/organization"
)

// CallKey is the key of a call.
type CallKey struct {
	ID      string  `json:"id"`
	Hash    *string `json:"hash"`
	Name    *string `json:"name"`
	Deleted bool    `json:"deleted"`
}

// namedKeys is how many keys are known by name, deleted ones included, the newest first.
const namedKeys = 2 * apikey.MostPerUser

// keyNames are the keys of an account by their ids.
type keyNames map[string]*apikey.Key

func namesOfKeys(ctx context.Context, keys *apikey.Manager, user string) (keyNames, error) {
	list, err := listKeys(ctx, keys, user, apikey.Sight{})
	return namesOf(list), err
}

// listKeys are the keys that are known by name, the newest first.
func listKeys(ctx context.Context, keys *apikey.Manager, user string, sees apikey.Sight) ([]apikey.Key, error) {
	return keys.List(ctx, apikey.Filter{User: user, Sees: sees, IncludeDisabled: true, IncludeDeleted: true, Children: true, Count: namedKeys})
}

func namesOf(list []apikey.Key) keyNames {
	names := make(keyNames, len(list))
	for i := range list {
		names[list[i].ID] = &list[i]
	}
	return names
}

// of is the key with an id; nil for "".
func (n keyNames) of(id string) *CallKey {
	if id == "" {
		return nil
	}
	k := n[id]
	if k == nil {
		return &CallKey{ID: id, Deleted: true}
	}
	return &CallKey{ID: id, Hash: &k.Hash, Name: &k.Name, Deleted: !k.DeletedAt.IsZero()}
}

// byHash is the id of the key with a hash, which may be that of its former text.
func (n keyNames) byHash(hash string) (string, error) {
	for id, k := range n {
		if k.Hash == hash || k.Previous.Hash == hash {
			return id, nil
		}
	}
	return "", apikey.NotFound("accountapi.keyNames")
}

// orgNames are the members, services and teams of an organization by their ids.
type orgNames map[string]organization.Named

// namesInOrg are those of an account; none in a person's own.
func namesInOrg(ctx context.Context, d Deps, account string) (orgNames, error) {
	if d.Organizations == nil || !strings.HasPrefix(account, organization.Prefix) {
		return nil, nil
	}
	return d.Organizations.Names(ctx, account)
}

// name is what somebody is called, nil for who is not known.
func (n orgNames) name(id string) *string { return OrNull(n[id].Name) }

// named is who has an id, nil for "".
func (n orgNames) named(id string) *NamedID {
	if id == "" {
		return nil
	}
	return &NamedID{ID: id, Name: n.name(id)}
}
