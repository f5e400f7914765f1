package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"

	"weir/internal/store/sqldb"
)

// tell is the statement that Listen hears. The channel belongs to the database, so notes of another Weir in it are heard, too: each is a
// reason to look, and no more.
const tell = "SELECT pg_notify('weir', $1)"

const (
	joinFor   = 5 * time.Second // longest time to connect and begin to listen
	quietFor  = 3 * time.Second // without a note for so long the server is asked whether it is there
	answerFor = 2 * time.Second // and must answer within this time
)

// listen implements hint.Source.Listen on a connection of its own: one of the pool would be missing there.
func (e *engine) listen(ctx context.Context, joined func(), heard func(note string)) error {
	cfg := e.pool.Config().ConnConfig
	// Waiting is ended by a deadline alone. There is no query to cancel.
	cfg.BuildContextWatcherHandler = func(conn *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.DeadlineContextWatcherHandler{Conn: conn.Conn()}
	}
	soon, cancel := context.WithTimeout(ctx, joinFor)
	defer cancel()
	conn, err := pgx.ConnectConfig(soon, cfg)
	if err != nil {
		return sqldb.Unavailable("postgres.Listen", err)
	}
	defer func() {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = conn.Close(last)
	}()
	if _, err := conn.Exec(soon, "LISTEN weir"); err != nil {
		return sqldb.Unavailable("postgres.Listen", err)
	}
	joined()
	for {
		if err := next(ctx, conn, heard); err != nil {
			return err
		}
	}
}

// next waits for a note. After a quiet while it asks the server for an answer: a connection that was cut off without a word would
// wait for ever.
func next(ctx context.Context, conn *pgx.Conn, heard func(note string)) error {
	quiet, cancel := context.WithTimeout(ctx, quietFor)
	defer cancel()
	n, err := conn.WaitForNotification(quiet)
	switch {
	case n != nil:
		heard(n.Payload)
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil && quiet.Err() == nil || conn.IsClosed():
		return sqldb.Unavailable("postgres.Listen", err)
	}
	if err == nil {
		return nil
	}
	soon, cancel := context.WithTimeout(ctx, answerFor)
	defer cancel()
	if err := conn.Ping(soon); err != nil {
		return sqldb.Unavailable("postgres.Listen", err)
	}
	return nil
}
