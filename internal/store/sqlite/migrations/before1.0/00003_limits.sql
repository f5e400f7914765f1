-- +goose Up
-- Limits per minute of a single key. NULL: the operator's limit, 0: no limit.
ALTER TABLE api_keys ADD COLUMN rate_requests INTEGER;
ALTER TABLE api_keys ADD COLUMN rate_tokens INTEGER;
ALTER TABLE api_keys ADD COLUMN rate_nano INTEGER;

-- Answers of requests with an idempotency key. A body is the text of an answer. It is deleted when it has expired.
CREATE TABLE idempotency (
    user_id    TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    hash       TEXT    NOT NULL,
    generation TEXT    NOT NULL,
    owner      TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    stale_at   INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    finished   INTEGER NOT NULL,
    status     INTEGER NOT NULL,
    type       TEXT    NOT NULL,
    size       INTEGER NOT NULL,
    body       BLOB,
    PRIMARY KEY (user_id, name)
) STRICT;

CREATE INDEX idempotency_by_age ON idempotency (user_id, created_at, size);
CREATE INDEX idempotency_by_end ON idempotency (expires_at);

-- +goose Down
DROP TABLE idempotency;
ALTER TABLE api_keys DROP COLUMN rate_nano;
ALTER TABLE api_keys DROP COLUMN rate_tokens;
ALTER TABLE api_keys DROP COLUMN rate_requests;
