-- +goose Up
-- Why calls failed, by hour and account, for operators: failed attempts, and calls that failed without one. Hours that nobody asks for any more are dropped.
CREATE TABLE call_failures (
    hour     INTEGER NOT NULL, -- Unix seconds
    code     TEXT    NOT NULL, -- error_type
    provider TEXT    NOT NULL, -- '': none was asked
    words    TEXT    NOT NULL, -- what the provider's texts have in common
    endpoint TEXT    NOT NULL,
    wallet   TEXT    NOT NULL,
    errors   INTEGER NOT NULL,
    reached  INTEGER NOT NULL, -- of them, clients
    first_at INTEGER NOT NULL, -- microseconds
    last_at  INTEGER NOT NULL,
    sample   TEXT    NOT NULL, -- the last call
    said     TEXT    NOT NULL, -- what the provider said of it
    PRIMARY KEY (hour, code, provider, words, endpoint, wallet)
) STRICT, WITHOUT ROWID;
-- Calls of all accounts: those that failed, by the second in their ids, and the days of a model and a provider.
CREATE INDEX generations_failed ON generations (substr(id, 5, 10)) WHERE error <> '' AND cancelled = 0;
CREATE INDEX usage_groups_models ON usage_groups (value, day) WHERE part = 'model';
CREATE INDEX usage_groups_providers ON usage_groups (beside, day) WHERE part = 'model';

-- +goose Down
DROP INDEX usage_groups_providers;
DROP INDEX usage_groups_models;
DROP INDEX generations_failed;
DROP TABLE call_failures;
