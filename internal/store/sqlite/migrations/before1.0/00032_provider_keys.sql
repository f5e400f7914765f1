-- +goose Up
-- Keys of providers that people bring for their own calls, sealed. One without a secret was removed, and its order stays.
CREATE TABLE provider_keys (
    id             TEXT    NOT NULL PRIMARY KEY,
    user_id        TEXT    NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    provider       TEXT    NOT NULL,
    placement      TEXT    NOT NULL, -- before, after or only
    off            INTEGER NOT NULL,
    sealed         BLOB,
    last4          TEXT    NOT NULL,
    created_at     INTEGER NOT NULL,
    changed_at     INTEGER NOT NULL, -- when the secret was given
    used_at        INTEGER,
    failure        TEXT    NOT NULL DEFAULT '', -- code of the last use, '' when that was none
    failure_status INTEGER NOT NULL DEFAULT 0,
    failed_at      INTEGER,
    UNIQUE (user_id, provider)
) STRICT;

-- +goose Down
DROP TABLE provider_keys;
