-- +goose Up
CREATE TABLE users (
    id         TEXT    NOT NULL PRIMARY KEY,
    name       TEXT    NOT NULL,
    wallet     TEXT    NOT NULL UNIQUE REFERENCES wallets (id),
    disabled   INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;

CREATE TABLE api_keys (
    id          TEXT    NOT NULL PRIMARY KEY,
    hash        TEXT    NOT NULL UNIQUE,
    label       TEXT    NOT NULL,
    name        TEXT    NOT NULL,
    user_id     TEXT    NOT NULL REFERENCES users (id),
    creator     TEXT    NOT NULL,
    management  INTEGER NOT NULL,
    disabled    INTEGER NOT NULL DEFAULT 0,
    limit_nano  INTEGER,
    limit_reset TEXT    NOT NULL DEFAULT '',
    strict      INTEGER NOT NULL DEFAULT 0,
    expires_at  INTEGER,
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    deleted_at  INTEGER
) STRICT;

CREATE INDEX api_keys_by_user ON api_keys (user_id, created_at DESC, id DESC);

-- Each row has the hash of the previous one, so that a check of the chain finds removed and edited rows.
CREATE TABLE audit (
    seq       INTEGER NOT NULL PRIMARY KEY,
    at        INTEGER NOT NULL,
    actor     TEXT    NOT NULL,
    from_addr TEXT    NOT NULL,
    action    TEXT    NOT NULL,
    target    TEXT    NOT NULL,
    before    TEXT    NOT NULL,
    after     TEXT    NOT NULL,
    prev      TEXT    NOT NULL,
    hash      TEXT    NOT NULL UNIQUE
) STRICT;

-- +goose StatementBegin
CREATE TRIGGER audit_keep_rows BEFORE UPDATE ON audit
BEGIN
    SELECT RAISE(ABORT, 'audit rows are never changed');
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER audit_keep_all BEFORE DELETE ON audit
BEGIN
    SELECT RAISE(ABORT, 'audit rows are never removed');
END;
-- +goose StatementEnd

-- +goose Down
DROP TABLE audit;
DROP TABLE api_keys;
DROP TABLE users;
