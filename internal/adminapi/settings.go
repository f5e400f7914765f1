package adminapi

import (
	"context"

	"weir/internal/accountapi"
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
}

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
func settingsRoutes(list func() ([]Setting, error), c *console.Console) []operation.Operation {
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
	}
}
