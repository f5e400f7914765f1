package httpapi

import (
	"weir/internal/apikey"
)

// keyNames knows the keys of an account by their ids. They are read when the first name is asked for.
type keyNames struct {
	x    *request
	list []*apikey.Key // the newest first
	keys map[string]*apikey.Key
}

// namedKeys is how many keys are known by name, deleted ones included, the newest first.
const namedKeys = 1000

func (n *keyNames) read() error {
	if n.keys != nil {
		return nil
	}
	list, err := n.x.api.Keys.List(n.x.context(), apikey.Filter{User: n.x.caller.User, IncludeDisabled: true, IncludeDeleted: true, Count: namedKeys})
	if err != nil {
		return err
	}
	n.keys = make(map[string]*apikey.Key, len(list))
	for i := range list {
		n.keys[list[i].ID], n.list = &list[i], append(n.list, &list[i])
	}
	return nil
}

// append writes the key of a call, null for "".
func (n *keyNames) append(o *object, name, id string) {
	if id == "" {
		o.null(name)
		return
	}
	o.Name(name).Object()
	o.text("id", id)
	k := n.keys[id]
	if k == nil {
		o.null("hash")
		o.null("name")
		o.boolean("deleted", true)
	} else {
		o.text("hash", k.Hash)
		o.text("name", k.Name)
		o.boolean("deleted", !k.DeletedAt.IsZero())
	}
	o.EndObject()
}
