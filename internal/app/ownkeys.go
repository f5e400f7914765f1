package app

import (
	"context"
	"time"

	"weir/internal/catalog"
	"weir/internal/fault"
	"weir/internal/ownkey"
	"weir/internal/seal"
	"weir/internal/upstream"
)

// makeOwnKeys makes what keeps people's own keys of providers.
func (g *Gateway) makeOwnKeys(ring *seal.Ring) *ownkey.Manager {
	return ownkey.NewManager(g.store.Accounts, func() *seal.Ring { return ring }, g.clock, g.cfg.OwnKeys)
}

// keyTrialFor bounds how long a test of a key waits for its provider.
const keyTrialFor = 30 * time.Second

// triedTypes are the types of models that a key is tried with, the cheapest first. An image or a video would cost too much.
var triedTypes = []string{catalog.TypeChat, catalog.TypeEmbedding, catalog.TypeModeration, catalog.TypeRerank, catalog.TypeTranscription, catalog.TypeSpeech}

// keyTrial makes the shortest possible call of a provider with a key, over the transport of all calls. asked is false when the provider has
// no model for that. Nothing is charged.
func keyTrial(u *upstream.Client, snapshot func() *catalog.Snapshot) func(context.Context, string, func(*catalog.Endpoint) *catalog.Endpoint) (asked bool, err *fault.Error) {
	return func(ctx context.Context, provider string, own func(*catalog.Endpoint) *catalog.Endpoint) (bool, *fault.Error) {
		at := cheapestOf(snapshot(), provider)
		if at == nil {
			return false, nil
		}
		ep := own(at)
		if ep == nil {
			return false, nil
		}
		req, err := request(ep)
		if err != nil {
			return false, fault.From(err)
		}
		ctx, cancel := context.WithTimeout(ctx, keyTrialFor)
		defer cancel()
		for ev, err := range u.Complete(ctx, ep, req, nil) {
			if err != nil {
				return true, fault.From(err)
			}
			if ev.HasContent() {
				break // it is accepted: the rest is of no interest
			}
		}
		return true, nil
	}
}

// cheapestOf is an endpoint of a provider that a key can be tried with, or nil.
func cheapestOf(snap *catalog.Snapshot, provider string) *catalog.Endpoint {
	best := map[string][]*catalog.Endpoint{}
	for _, m := range snap.Models() {
		for _, ep := range m.Endpoints {
			if ep.Provider.ID == provider && ep.Tier != catalog.BatchTier {
				best[m.Type] = append(best[m.Type], ep)
			}
		}
	}
	for _, kind := range triedTypes {
		if ep := catalog.Cheapest(best[kind]); ep != nil {
			return ep
		}
	}
	return nil
}
