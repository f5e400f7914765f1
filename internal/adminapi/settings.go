package adminapi

import (
	"context"
	"time"

	"weir/internal/accountapi"
	"weir/internal/audit"
	"weir/internal/catalog/edit"
	"weir/internal/console"
	"weir/internal/operation"
)

// Setting is a setting of the node that answers, as it is in use. Secrets are not in it.
type Setting struct {
	Key     string  `json:"key"`     // such as server.listen
	Section string  `json:"section"` // the first part of the key
	Type    string  `json:"type"`    // in a word or two
	Value   *string `json:"value"`   // as the file would have it; null for a secret and for a list
	Count   *int    `json:"count"`   // elements of a list of sections, such as providers; null for others
	Secret  bool    `json:"secret"`
	Set     *bool   `json:"set"` // of a secret: there is one; null for others
	From    string  `json:"from" enum:"default,file,environment,flag,database"`
	Where   *string `json:"where"`   // the file with its line, or the name of the variable
	Live    bool    `json:"live"`    // a running node applies a change of the file; else it needs a restart
	Pending bool    `json:"pending"` // the file has another value, which needs a restart
	Means   string  `json:"means"`
	Default *string `json:"default"`

	Values []string   `json:"values"` // what it may be set to for a while on all nodes; empty for those that are changed elsewhere
	Until  *time.Time `json:"until"`  // when the configuration holds again; null: it does
}

// Overrides give settings other values for a while. *edit.Editor is one.
type Overrides interface {
	SetFor(ctx context.Context, key, value string, long time.Duration, by audit.Actor) (*edit.Built, error)
	Reset(ctx context.Context, key string, by audit.Actor) (*edit.Built, error)
}

// OneSetting is a setting that has another value for a while.
type OneSetting struct {
	Key   string     `json:"key"`
	Value string     `json:"value"`
	Until *time.Time `json:"until"` // when the configuration holds again
}

type (
	settingPath struct {
		Key string `json:"-" path:"key" example:"log.level"`
	}
	settingInput struct {
		Key     string `json:"-" path:"key" example:"log.level"`
		Value   string `json:"value"`
		Seconds int64  `json:"seconds" minimum:"1" maximum:"86400"` // after which the configuration holds again
	}
)

// SettingsNode is a node, and whether it has the settings of the node that answers.
type SettingsNode struct {
	ID      string  `json:"id"`
	Self    bool    `json:"self"`
	Version string  `json:"version"`
	Differs *string `json:"differs"` // in which respects it serves something else; null in none
}

// SettingsPage is all settings, and the nodes.
type SettingsPage struct {
	Data  []Setting      `json:"data"`
	Nodes []SettingsNode `json:"nodes"` // the one that answers first
}

// settingsRoutes are the operations with which operators read the settings.
func settingsRoutes(list func() ([]Setting, error), e Overrides, c *console.Console) []operation.Operation {
	return []operation.Operation{
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/admin/settings", ID: "listSettings", Access: operation.Operating, Tag: "administration",
			Summary: "All settings of the node with their values, and where each is set; for operators", Answer: "The settings, and the nodes that differ",
			Description: "Of a secret it says only whether it is set.",
		}, func(context.Context, *operation.Call, *operation.None) (out SettingsPage, err error) {
			if out.Data, err = list(); err != nil {
				return out, err
			}
			nodes := c.Nodes()
			for i := range nodes {
				out.Nodes = append(out.Nodes, SettingsNode{ID: nodes[i].ID, Self: i == 0, Version: nodes[i].Version, Differs: accountapi.OrNull(nodes[i].Differs)})
			}
			return out, nil
		}),
		operation.Of(operation.Operation{
			Method: "PUT", Path: "/api/admin/settings/{key}", ID: "setForAWhile", Access: operation.Operating, Tag: "administration",
			Summary: "Give a setting another value for a while, on all nodes", Answer: "It holds on all nodes within 5 seconds", Example: `{"value": "debug", "seconds": 3600}`,
			Description: "For `log.level`: a day at most, then the configuration holds again. `values` in the list of settings says which settings this is for. Rate, margin, prices and providers, which a running node applies as well, have operations of their own.",
		}, func(ctx context.Context, c *operation.Call, in *settingInput) (out operation.Data[OneSetting], err error) {
			b, err := e.SetFor(ctx, in.Key, in.Value, time.Duration(in.Seconds)*time.Second, c.Actor)
			if err != nil {
				return out, err
			}
			if t := b.Temporary(in.Key, c.At); t != nil {
				out.Data = OneSetting{Key: t.Key, Value: t.Value, Until: accountapi.Moment(t.Until)}
			}
			return out, nil
		}),
		operation.Of(operation.Operation{
			Method: "DELETE", Path: "/api/admin/settings/{key}", ID: "resetSetting", Access: operation.Operating, Tag: "administration",
			Summary: "Have the configuration hold again for a setting", Answer: "It does on all nodes within 5 seconds",
		}, func(ctx context.Context, c *operation.Call, in *settingPath) (operation.Deleted, error) {
			_, err := e.Reset(ctx, in.Key, c.Actor)
			return operation.Deleted{}, err
		}),
	}
}
