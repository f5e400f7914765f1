-- +goose Up
-- Ceilings and rules of accounts, teams, members, keys, tags and sessions. What they have spent is in key_spend.
CREATE TABLE budgets (
    id              TEXT    NOT NULL PRIMARY KEY,
    account         TEXT    NOT NULL REFERENCES users (id),
    scope           TEXT    NOT NULL, -- its kind
    scope_id        TEXT    NOT NULL, -- id of the team, member or key, tag or session; empty: the account, or each session
    name            TEXT    NOT NULL,
    amount          INTEGER NOT NULL CHECK (amount >= 0),
    reset           TEXT    NOT NULL,
    hard            INTEGER NOT NULL,
    alarms          TEXT    NOT NULL, -- per cents, separated by spaces
    models          TEXT    NOT NULL, -- patterns, separated by spaces; empty: all
    providers       TEXT    NOT NULL, -- slugs, separated by spaces; empty: all
    deny_collection INTEGER NOT NULL,
    zdr             INTEGER NOT NULL,
    created_at      INTEGER NOT NULL,
    updated_at      INTEGER NOT NULL,
    UNIQUE (account, scope, scope_id, reset)
) STRICT;

-- Keys that other keys made.
ALTER TABLE api_keys ADD COLUMN parent TEXT NOT NULL DEFAULT ''; -- id of the key that made it; empty: none
ALTER TABLE api_keys ADD COLUMN tree TEXT NOT NULL DEFAULT '';   -- id of the first such key above it
ALTER TABLE api_keys ADD COLUMN depth INTEGER NOT NULL DEFAULT 0;
ALTER TABLE api_keys ADD COLUMN tools TEXT NOT NULL DEFAULT '';  -- names, separated by spaces; empty: all
CREATE INDEX api_keys_tree ON api_keys (tree) WHERE tree <> '';
CREATE INDEX api_keys_parent ON api_keys (parent, created_at) WHERE parent <> '';

-- The last time that an agent repeated itself.
CREATE TABLE agent_loops (
    key_id     TEXT    NOT NULL PRIMARY KEY,
    tools      TEXT    NOT NULL, -- names in their order, once, separated by line breaks between calls
    times      INTEGER NOT NULL,
    calls      INTEGER NOT NULL,
    since      INTEGER NOT NULL,
    until      INTEGER NOT NULL
) STRICT;

-- +goose Down
DROP TABLE agent_loops;
DROP INDEX api_keys_parent;
DROP INDEX api_keys_tree;
ALTER TABLE api_keys DROP COLUMN tools;
ALTER TABLE api_keys DROP COLUMN depth;
ALTER TABLE api_keys DROP COLUMN tree;
ALTER TABLE api_keys DROP COLUMN parent;
DROP TABLE budgets;
