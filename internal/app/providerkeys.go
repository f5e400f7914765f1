package app

import (
	"context"
	"os"

	"weir/internal/adminapi"
	"weir/internal/catalog/builtin"
	"weir/internal/catalog/edit"
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
	if v.Origin == edit.FromFile {
		for _, key := range append([]string{v.Key}, v.Keys...) {
			if key != "" {
				list = append(list, adminapi.DeclaredKey{Key: key, Where: v.Where})
			}
		}
		return list
	}
	for _, name := range variables {
		if key, set := os.LookupEnv(name); set && key != "" {
			return []adminapi.DeclaredKey{{Key: key, Variable: name}}
		}
	}
	return nil
}
