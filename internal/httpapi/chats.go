package httpapi

import (
	"time"

	"weir/internal/chat"
	"weir/internal/fault"
	"weir/internal/rawjson"
	"weir/internal/wire"
)

// maxChatBody leaves room for the title and for white space around a chat.
const maxChatBody = chat.MaxContent + 64<<10

// keepsChats reports whether a user's chats are kept, and for how many days, 0 as long as the gateway keeps them: the account has switched it on,
// and nothing forbids it. It reads the account as it is now: a page sends a chat once, right after the switch.
func (x *exchange) keepsChats(user string) (days int64, keeps bool, err error) {
	if !x.api.Chats.Keeps() {
		return 0, false, nil
	}
	u, err := x.api.Accounts.ByID(x.context(), user)
	if err != nil || u.Preferences == "" {
		return 0, false, err
	}
	s, err := wire.ReadStoring(rawjson.Find([]byte(u.Preferences), wire.StoringOfAccount))
	if err != nil || !s.Chats || s.Responses == wire.StoreNever {
		return 0, false, err
	}
	p, err := wire.Defaults([]byte(u.Preferences))
	return s.Days, err == nil && !p.ZDR, err
}

// listChats serves GET /api/chats: all of them, since there are few, without their contents.
func (x *exchange) listChats() error {
	all, err := x.api.Chats.List(x.context(), x.caller.User)
	if err != nil {
		return err
	}
	o := newObject(256 * (1 + len(all)))
	o.Object()
	o.Name("data").Array()
	for i := range all {
		o.Object()
		appendChat(&o, &all[i])
		o.EndObject()
	}
	o.EndArray()
	o.integer("most", int64(x.api.Chats.Bounds().Chats))
	o.null("next")
	o.EndObject()
	x.w.Header()["Cache-Control"] = noStore
	return x.reply(&o)
}

func appendChat(o *object, c *chat.Chat) {
	o.text("id", c.ID)
	o.text("title", c.Title)
	o.integer("size", c.Size)
	o.moment("created_at", c.CreatedAt)
	o.moment("updated_at", c.UpdatedAt)
	o.moment("expires_at", c.ExpiresAt)
}

func (x *exchange) replyChat(c *chat.Chat) error {
	o := newObject(512 + len(c.Content))
	o.Object()
	o.Name("data").Object()
	appendChat(&o, c)
	if c.Content != nil {
		o.raw("content", string(c.Content))
	}
	o.EndObject()
	o.EndObject()
	x.w.Header()["Cache-Control"] = noStore
	return x.reply(&o)
}

// getChat serves GET /api/chats/{id}.
func (x *exchange) getChat() error {
	c, err := x.api.Chats.Find(x.context(), x.caller.User, x.values[0])
	if err != nil {
		return err
	}
	if err := x.charge(int64(len(c.Content))); err != nil {
		return err
	}
	return x.replyChat(c)
}

// putChat serves PUT /api/chats/{id}: the whole chat, as it is now.
func (x *exchange) putChat() error {
	const op = "httpapi.putChat"
	body, err := x.readBody()
	if err != nil {
		return err
	}
	days, keeps, err := x.keepsChats(x.caller.User)
	if err != nil {
		return err
	}
	if !keeps || x.caller.Defaults != nil && x.caller.Defaults.Preferences.ZDR {
		return fault.New(fault.PermissionDenied, op, "This account keeps no chats. Switch it on first (Settings, Data); zero data retention, or storing that is switched off, forbids it.")
	}
	if err := rawjson.Check(body, rawjson.Limits{Depth: 66, Keys: 5000, Values: 200_100}); err != nil {
		return err
	}
	if rawjson.KindOf(body) != rawjson.Object {
		return fault.New(fault.Invalid, op, "The body must be a JSON object.")
	}
	c := chat.Chat{User: x.caller.User, ID: x.values[0]}
	for m := rawjson.MembersOf(body); m.Next(); {
		switch name := string(m.Name); name {
		case "title":
			if kind := rawjson.KindOf(m.Value); kind != rawjson.String {
				return wrongKind(name, kind)
			}
			c.Title = rawjson.Text(m.Value)
		case "content":
			if rawjson.KindOf(m.Value) != rawjson.Object {
				return fault.Field(op, name, "content must be a JSON object.").Coded("chat_content")
			}
			c.Content = m.Value
		default:
			return fault.Field(op, clip(name), "This route has no field of this name.").Coded("unknown_field")
		}
	}
	if c.Content == nil {
		return fault.Field(op, "content", "content must be a JSON object.").Coded("chat_content")
	}
	kept, err := x.api.Chats.Keep(x.context(), c, days)
	if err != nil {
		return err
	}
	return x.replyChat(&kept)
}

// deleteChat serves DELETE /api/chats/{id}.
func (x *exchange) deleteChat() error {
	if err := x.api.Chats.Delete(x.context(), x.caller.User, x.values[0]); err != nil {
		return err
	}
	var o object
	o.Object()
	o.boolean("deleted", true)
	o.EndObject()
	return x.reply(&o)
}

// deleteChats serves DELETE /api/chats: all of the account.
func (x *exchange) deleteChats() error {
	n, err := x.api.Chats.DeleteAll(x.context(), x.caller.User, x.actor())
	if err != nil {
		return err
	}
	var o object
	o.Object()
	o.Name("data").Object()
	o.integer("deleted", int64(n))
	o.EndObject()
	o.EndObject()
	return x.reply(&o)
}

// exportChats serves GET /api/chats.json: all chats of the account as one file, the one that was changed last first. They are read one by one.
func (x *exchange) exportChats() error {
	if err := x.charge(2 * chat.MaxContent); err != nil { // one, and its copy in the file
		return err
	}
	all, err := x.api.Chats.List(x.context(), x.caller.User)
	if err != nil {
		return err
	}
	return x.exportAs("weir-chats-"+x.at.UTC().Format(time.DateOnly)+".json", "json", func(e *exporting) error {
		e.Bytes = append(e.Bytes, `{"chats":[`...)
		first := true
		for i := range all {
			c, err := x.api.Chats.Find(x.context(), x.caller.User, all[i].ID)
			if fault.Is(err, fault.NotFound) {
				continue // deleted meanwhile
			}
			if err != nil {
				return err
			}
			if !first {
				e.Bytes = append(e.Bytes, ',')
			}
			first = false
			o := newObject(512 + len(c.Content))
			o.Object()
			appendChat(&o, c)
			o.raw("content", string(c.Content))
			o.EndObject()
			e.Bytes = append(append(e.Bytes, '\n'), o.B...)
			if e.flush(); e.err != nil {
				return nil
			}
		}
		e.Bytes = append(e.Bytes, "\n]}\n"...)
		return nil
	})
}
