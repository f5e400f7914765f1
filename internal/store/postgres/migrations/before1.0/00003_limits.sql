-- +goose Up
-- Limits per minute of a single key. NULL: the operator's limit, 0: no limit.
ALTER TABLE api_keys ADD COLUMN rate_requests BIGINT;
ALTER TABLE api_keys ADD COLUMN rate_tokens BIGINT;
ALTER TABLE api_keys ADD COLUMN rate_nano BIGINT;

-- Answers of requests with an idempotency key. A body is the text of an answer. It is deleted when it has expired.
CREATE TABLE idempotency (
    user_id    TEXT COLLATE "C" NOT NULL,
    name       TEXT COLLATE "C" NOT NULL,
    hash       TEXT COLLATE "C" NOT NULL,
    generation TEXT COLLATE "C" NOT NULL,
    owner      TEXT COLLATE "C" NOT NULL,
    created_at BIGINT  NOT NULL,
    stale_at   BIGINT  NOT NULL,
    expires_at BIGINT  NOT NULL,
    finished   BOOLEAN NOT NULL,
    status     BIGINT  NOT NULL,
    type       TEXT COLLATE "C" NOT NULL,
    size       BIGINT  NOT NULL,
    body       BYTEA,
    PRIMARY KEY (user_id, name)
);

CREATE INDEX idempotency_by_age ON idempotency (user_id, created_at, size);
CREATE INDEX idempotency_by_end ON idempotency (expires_at);

-- +goose Down
DROP TABLE idempotency;
ALTER TABLE api_keys DROP COLUMN rate_nano;
ALTER TABLE api_keys DROP COLUMN rate_tokens;
ALTER TABLE api_keys DROP COLUMN rate_requests;
