package app

import (
	"context"
	"os"

	"weir/internal/adminapi"
	"weir/internal/catalog/builtin"
	"weir/internal/catalog/edit"
	"weir/internal/console"
)

// testProviderKey calls a provider of a catalog once with a key: the key is what is to be known, not each of the models.
func (g *Gateway) testProviderKey(ctx context.Context, b *edit.Built, id, key string) ([]adminapi.ProviderTest, error) {
	ctx, stop := context.WithTimeout(ctx, longestProviderTest)
	defer stop()
	list := []adminapi.ProviderTest{}
	_ = trying{cfg: g.cfg, dialer: g.dialer, snap: b.Snapshot, only: &key}.provider(ctx, id, func(t Trial) bool { // it fails for a provider without models
		list = append(list, testOf(&t))
		return t.Skipped != ""
	})
	return list, nil
}

// declaredKeys are the keys of a provider that the environment or the configuration has.
func declaredKeys(v *edit.ProviderView) (list []adminapi.DeclaredKey) {
	variables, _ := builtin.KeyVariables(&v.Provider)
	if v.Row != nil && v.Row.Spec["api_key_env"] != "" {
		variables = []string{v.Row.Spec["api_key_env"]}
	}
	at := map[string]string{} // key -> its variable
	for _, name := range variables {
		key, set := os.LookupEnv(name)
		if !set || key == "" {
			continue
		}
		if v.Origin != edit.FromFile {
			return []adminapi.DeclaredKey{{Key: key, Variable: name}}
		}
		at[key] = name
	}
	if v.Origin != edit.FromFile && v.Row != nil { // its keys are those of the row
		return nil
	}
	for _, key := range append([]string{v.Key}, v.Keys...) {
		if key != "" {
			list = append(list, adminapi.DeclaredKey{Key: key, Variable: at[key], Where: v.Where})
		}
	}
	return list
}

// KeyUses are what the nodes have reported of a provider's keys, by catalog.KeyTag, added up. Only nodes that share a database report.
func (o *Admin) KeyUses(ctx context.Context, provider string) (map[string]console.KeyUse, error) {
	all, err := o.Store.Nodes.AllServing(ctx)
	if err != nil {
		return nil, err
	}
	out := map[string]console.KeyUse{}
	for i := range all {
		for _, k := range readServing(all[i].What).node().Keys {
			if k.Provider == provider {
				sum := out[k.Tag]
				sum.Calls, sum.Failed, sum.Limited, sum.Running = sum.Calls+k.Calls, sum.Failed+k.Failed, sum.Limited+k.Limited, sum.Running+k.Running
				out[k.Tag] = sum
			}
		}
	}
	return out, nil
}
