-- +goose Up
-- Keys of providers that people bring for their own calls, sealed. One without a secret was removed, and its order stays.
CREATE TABLE provider_keys (
    id             TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    user_id        TEXT COLLATE "C" NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    provider       TEXT COLLATE "C" NOT NULL,
    placement      TEXT COLLATE "C" NOT NULL, -- before, after or only
    off            BIGINT NOT NULL,
    sealed         BYTEA,
    last4          TEXT COLLATE "C" NOT NULL,
    created_at     BIGINT NOT NULL,
    changed_at     BIGINT NOT NULL, -- when the secret was given
    used_at        BIGINT,
    failure        TEXT COLLATE "C" NOT NULL DEFAULT '', -- code of the last use, '' when that was none
    failure_status BIGINT NOT NULL DEFAULT 0,
    failed_at      BIGINT,
    UNIQUE (user_id, provider)
);

-- +goose Down
DROP TABLE provider_keys;
