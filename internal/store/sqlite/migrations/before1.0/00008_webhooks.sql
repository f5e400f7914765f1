-- +goose Up
-- Events to be sent to callback addresses. A claim has leased_until in the future. Its fence distinguishes it from later claims.
CREATE TABLE webhook_deliveries (
    id           TEXT    NOT NULL PRIMARY KEY,
    account      TEXT    NOT NULL,
    url          TEXT    NOT NULL,
    event        TEXT    NOT NULL,
    payload      BLOB    NOT NULL,
    state        TEXT    NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'delivered', 'failed')),
    created_at   INTEGER NOT NULL,
    next_at      INTEGER NOT NULL,
    attempts     INTEGER NOT NULL DEFAULT 0,
    fence        INTEGER NOT NULL DEFAULT 0,
    leased_until INTEGER NOT NULL DEFAULT 0,
    last_status  INTEGER NOT NULL DEFAULT 0,
    last_error   TEXT    NOT NULL DEFAULT '',
    ended_at     INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (next_at) WHERE state = 'pending';
CREATE INDEX webhook_deliveries_leased ON webhook_deliveries (account, leased_until) WHERE state = 'pending';
CREATE INDEX webhook_deliveries_ended ON webhook_deliveries (ended_at) WHERE ended_at IS NOT NULL;

-- The secrets that sign the events of an account, encrypted.
CREATE TABLE webhook_secrets (
    account        TEXT    NOT NULL PRIMARY KEY,
    secret         BLOB    NOT NULL,
    previous       BLOB,
    previous_until INTEGER NOT NULL DEFAULT 0,
    created_at     INTEGER NOT NULL,
    updated_at     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE webhook_secrets;
DROP TABLE webhook_deliveries;
