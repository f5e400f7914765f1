package accountapi

import (
	"context"
	"io"
	"time"

	"weir/internal/chat"
	"weir/internal/fault"
	"weir/internal/operation"
	"weir/internal/rawjson"
	"weir/internal/wire"
)

// Chat is a chat of the playground that an account keeps.
type Chat struct {
	ID        string        `json:"id"`
	Title     string        `json:"title"`
	Size      int64         `json:"size"` // bytes of the content
	CreatedAt time.Time     `json:"created_at"`
	UpdatedAt time.Time     `json:"updated_at"`
	ExpiresAt time.Time     `json:"expires_at"`       // as long after its last change as responses are stored (PUT /api/account/data: days)
	Content   operation.Raw `json:"content,omitzero"` // a JSON object, as it was kept; not in lists
}

func chatOf(c *chat.Chat) Chat {
	return Chat{ID: c.ID, Title: c.Title, Size: c.Size, CreatedAt: c.CreatedAt, UpdatedAt: c.UpdatedAt, ExpiresAt: c.ExpiresAt, Content: c.Content}
}

// ChatList is all chats that an account keeps.
type ChatList struct {
	Data []Chat         `json:"data"`
	Most int            `json:"most"` // how many chats an account may keep
	Next operation.Null `json:"next"`
}

type chatID struct {
	ID string `json:"-" path:"id" example:"k3v9x2p7q1m4" pattern:"^[a-z0-9]{8,40}$"` // chosen by who keeps it: it is one of the account alone
}

// ChatInput is a chat to keep.
type ChatInput struct {
	ID      string        `json:"-" path:"id" example:"k3v9x2p7q1m4" pattern:"^[a-z0-9]{8,40}$"` // chosen by who keeps it: it is one of the account alone
	Title   string        `json:"title" minLength:"1" maxLength:"200"`                           // one line
	Content operation.Raw `json:"content"`                                                       // any JSON object of at most 1 MiB; it is not interpreted
}

// Gone says how many there were of what is deleted.
type Gone struct {
	Deleted int `json:"deleted" minimum:"0"`
}

func chats(d Deps) []operation.Operation {
	return append(keptChats(d.Chats),
		operation.Of(operation.Operation{
			Method: "PUT", Path: "/api/chats/{id}", ID: "putChat", Access: operation.Management, Tag: "pages",
			Body: chat.MaxContent + 64<<10, // the title and white space have room beside a chat
			Form: rawjson.Limits{Depth: 66, Keys: 5000, Values: 200_100}, Summary: "Keep a chat, in place of what was kept of it before", Answer: "The chat without its content",
			Description: "403 where the account has not switched `chats` on, demands zero data retention, or stores nothing. Beyond 100 chats or 16 MiB of an account, the chats that " +
				"were changed least lately are deleted.",
			Example: `{"title": "What is a weir", "content": {"models": ["sim/chat"], "turns": {}}}`,
		}, func(ctx context.Context, c *operation.Call, in *ChatInput) (out operation.Data[Chat], err error) {
			days, err := daysOfChats(ctx, d, c)
			if err != nil {
				return out, err
			}
			if rawjson.KindOf(in.Content) != rawjson.Object {
				return out, fault.Field("accountapi.putChat", "content", "content must be a JSON object.").Coded("chat_content")
			}
			c.NoStore()
			kept, err := d.Chats.Keep(ctx, chat.Chat{User: c.User, ID: in.ID, Title: in.Title, Content: in.Content}, days)
			return operation.Data[Chat]{Data: chatOf(&kept)}, err
		}),
	)
}

// daysOfChats is how long the caller's chats are kept, 0: as long as the gateway keeps them. It reads the account as it is now: a page sends a
// chat once, right after the switch. It fails where they are not kept.
func daysOfChats(ctx context.Context, d Deps, c *operation.Call) (days int64, err error) {
	keeps := d.Chats.Keeps() && (c.Defaults == nil || !c.Defaults.Preferences.ZDR)
	if keeps {
		u, err := d.Accounts.ByID(ctx, c.User)
		if err != nil {
			return 0, err
		}
		if days, keeps, err = wire.KeepsChats(u.Preferences); err != nil {
			return 0, err
		}
	}
	if !keeps {
		return 0, fault.New(fault.PermissionDenied, "accountapi.putChat", "This account keeps no chats. Switch it on first (Settings, Data); zero data retention, or storing that is switched off, forbids it.")
	}
	return days, nil
}

func keptChats(m *chat.Manager) []operation.Operation {
	return []operation.Operation{
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/chats", ID: "listChats", Access: operation.Management, Private: true, Tag: "pages",
			Summary:     "The chats of the playground that the account keeps, the one that was changed last first, without their contents",
			Description: "Chats stay in the browser unless the account has switched `chats` on (PUT /api/account/data).", Answer: "All of them; there are at most 100",
		}, func(ctx context.Context, c *operation.Call, _ *operation.None) (ChatList, error) {
			c.NoStore()
			all, err := m.List(ctx, c.User)
			list := ChatList{Data: make([]Chat, len(all)), Most: m.Bounds().Chats}
			for i := range all {
				list.Data[i] = chatOf(&all[i])
			}
			return list, err
		}),
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/chats/{id}", ID: "getChat", Access: operation.Management, Private: true, Tag: "pages",
			Summary: "A kept chat with its content", Answer: "The chat",
		}, func(ctx context.Context, c *operation.Call, in *chatID) (out operation.Data[Chat], err error) {
			found, err := m.Find(ctx, c.User, in.ID)
			if err != nil {
				return out, err
			}
			c.NoStore()
			return operation.Data[Chat]{Data: chatOf(found)}, c.Charge(int64(len(found.Content)))
		}),
		operation.Of(operation.Operation{
			Method: "DELETE", Path: "/api/chats/{id}", ID: "deleteChat", Access: operation.Management, Tag: "pages",
			Summary: "Delete a kept chat", Answer: "It is deleted",
		}, func(ctx context.Context, c *operation.Call, in *chatID) (operation.Deleted, error) {
			return operation.Deleted{}, m.Delete(ctx, c.User, in.ID)
		}),
		operation.Of(operation.Operation{
			Method: "DELETE", Path: "/api/chats", ID: "deleteChats", Access: operation.Management, Fresh: true, Tag: "pages",
			Summary: "Delete all kept chats of the account", Answer: "How many there were",
		}, func(ctx context.Context, c *operation.Call, _ *operation.None) (operation.Data[Gone], error) {
			n, err := m.DeleteAll(ctx, c.User, c.Actor)
			return operation.Data[Gone]{Data: Gone{Deleted: n}}, err
		}),
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/chats.json", ID: "getChatsFile", Access: operation.Management, Private: true, Tag: "pages", Media: "application/json",
			Summary: "All kept chats of the account with their contents, as a file", Answer: "An object whose member chats lists them, the one that was changed last first",
		}, func(ctx context.Context, c *operation.Call, _ *operation.None) (f operation.File, err error) {
			if err := c.Charge(2 * chat.MaxContent); err != nil { // one, and its copy in the file
				return f, err
			}
			all, err := m.List(ctx, c.User)
			if err != nil {
				return f, err
			}
			name := "weir-chats-" + c.At.UTC().Format(time.DateOnly) + ".json"
			return operation.File{Name: name, MediaType: "application/json", Write: func(w io.Writer) error { return writeChats(ctx, w, m, all) }}, nil
		}),
	}
}

// writeChats writes a file of chats, which are read one by one.
func writeChats(ctx context.Context, w io.Writer, m *chat.Manager, all []chat.Chat) error {
	before := `{"chats":[` + "\n"
	for i := range all {
		c, err := m.Find(ctx, all[i].User, all[i].ID)
		if fault.Is(err, fault.NotFound) {
			continue // deleted meanwhile
		}
		if err != nil {
			return err
		}
		b, err := operation.JSON(chatOf(c))
		if err != nil {
			return err
		}
		for _, part := range [][]byte{[]byte(before), b} {
			if _, err := w.Write(part); err != nil {
				return err
			}
		}
		before = ",\n"
	}
	end := "\n]}\n"
	if before != ",\n" {
		end = before + "]}\n"
	}
	_, err := io.WriteString(w, end)
	return err
}
