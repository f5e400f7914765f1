package ledger

import (
	"context"
	"errors"
	"slices"

	"weir/internal/fault"
)

// errSuperseded is the reason why a node takes no new calls when another one has its identity.
var errSuperseded = errors.New("another node began with a copy of this data directory, and has its identity now")

// identify determines the identity of this node and starts a new life. Where the store has a life of the node that this folder never had,
// the folder is a copy of another's, or older than the store: its position means nothing then, so the node takes another identity, under
// which it applies all records of its journal again. Records that the store already has are skipped.
func (b *Book) identify(ctx context.Context) (position int64, err error) {
	if position, err = b.store.Position(ctx, b.claim.Node); err != nil {
		return 0, err
	}
	former, err := b.store.Life(ctx, b.claim.Node)
	if err != nil {
		return 0, err
	}
	if former != "" && !slices.Contains(b.claim.Lives, former) {
		old := b.claim.Node
		if position, err = b.rename(ctx); err != nil {
			return 0, err
		}
		b.log.Warn("the data directory is a copy of another node's, or was restored from one: this node goes on under an identity of its own", "former", old, "node", b.claim.Node)
		former = ""
	}
	b.node, b.writer = b.claim.Node, b.claim.Node
	return position, b.begin(ctx, former)
}

// rename gives the folder a new identity and registers it with the store.
func (b *Book) rename(ctx context.Context) (position int64, err error) {
	if err := b.claim.Rename(); err != nil {
		return 0, err
	}
	return b.store.Position(ctx, b.claim.Node)
}

// begin gives the node its new life. The folder notes it first: if the node dies in between, the folder has the life that the store has.
func (b *Book) begin(ctx context.Context, former string) error {
	if err := b.claim.SetLives(b.life, former); err != nil {
		return err
	}
	ok, err := b.store.Live(ctx, b.claim.Node, former, b.life)
	if err == nil && !ok {
		err = fault.New(fault.Conflict, "ledger.Start", "Another process began at the same moment with a copy of this data directory. Start again.")
	}
	return err
}

// mostIdentities bounds the further identities of a life: one for each time that its folder was copied and served while it ended.
const mostIdentities = 8

// ours checks whether an error reports that the node has another life now. Then no new calls are taken, and the journal is applied under
// another identity: its calls were delivered, so they are charged. The caller holds the applying token.
func (b *Book) ours(ctx context.Context, err error) error {
	if !fault.Is(err, fault.Conflict) {
		return err
	}
	b.supersede()
	if b.identities++; b.identities > mostIdentities {
		return err
	}
	position, err := b.rename(ctx)
	if err == nil {
		err = b.begin(ctx, "")
	}
	if err != nil {
		return err
	}
	b.writer = b.claim.Node
	b.applied.Store(position)
	return nil
}

// supersede ends the taking of calls for good, and says so once.
func (b *Book) supersede() {
	if b.superseded.Swap(true) {
		return
	}
	b.log.Error("another node began with a copy of this data directory and has its identity now; this one takes no new calls and ends. "+
		"What it delivered is charged. Started again it has an identity of its own", "node", b.Node())
	if b.cfg.OnSuperseded != nil {
		b.cfg.OnSuperseded()
	}
}

// sameLife reports whether the node still has this start's life; when it does not, the node has been superseded.
func (b *Book) sameLife(ctx context.Context) (bool, error) {
	life, err := b.store.Life(ctx, b.Node())
	if err != nil {
		return false, err
	}
	if life != b.life {
		b.supersede()
		return false, storeAway("ledger.beat", errSuperseded)
	}
	return true, nil
}
