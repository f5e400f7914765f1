-- +goose Up
-- Ceilings and rules of accounts, teams, members, keys, tags and sessions. What they have spent is in key_spend.
CREATE TABLE budgets (
    id              TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    account         TEXT COLLATE "C" NOT NULL REFERENCES users (id),
    scope           TEXT COLLATE "C" NOT NULL, -- its kind
    scope_id        TEXT COLLATE "C" NOT NULL, -- id of the team, member or key, tag or session; empty: the account, or each session
    name            TEXT COLLATE "C" NOT NULL,
    amount          BIGINT NOT NULL CHECK (amount >= 0),
    reset           TEXT COLLATE "C" NOT NULL,
    hard            BOOLEAN NOT NULL,
    alarms          TEXT COLLATE "C" NOT NULL, -- per cents, separated by spaces
    models          TEXT COLLATE "C" NOT NULL, -- patterns, separated by spaces; empty: all
    providers       TEXT COLLATE "C" NOT NULL, -- slugs, separated by spaces; empty: all
    deny_collection BOOLEAN NOT NULL,
    zdr             BOOLEAN NOT NULL,
    created_at      BIGINT NOT NULL,
    updated_at      BIGINT NOT NULL,
    UNIQUE (account, scope, scope_id, reset)
);

-- Keys that other keys made.
ALTER TABLE api_keys ADD COLUMN parent TEXT COLLATE "C" NOT NULL DEFAULT ''; -- id of the key that made it; empty: none
ALTER TABLE api_keys ADD COLUMN tree TEXT COLLATE "C" NOT NULL DEFAULT '';   -- id of the first such key above it
ALTER TABLE api_keys ADD COLUMN depth BIGINT NOT NULL DEFAULT 0;
ALTER TABLE api_keys ADD COLUMN tools TEXT COLLATE "C" NOT NULL DEFAULT '';  -- names, separated by spaces; empty: all
CREATE INDEX api_keys_tree ON api_keys (tree) WHERE tree <> '';
CREATE INDEX api_keys_parent ON api_keys (parent, created_at) WHERE parent <> '';

-- The last time that an agent repeated itself.
CREATE TABLE agent_loops (
    key_id     TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    tools      TEXT COLLATE "C" NOT NULL, -- names in their order, once, separated by line breaks between calls
    times      BIGINT NOT NULL,
    calls      BIGINT NOT NULL,
    since      BIGINT NOT NULL,
    until      BIGINT NOT NULL
);

-- +goose Down
DROP TABLE agent_loops;
DROP INDEX api_keys_parent;
DROP INDEX api_keys_tree;
ALTER TABLE api_keys DROP COLUMN tools;
ALTER TABLE api_keys DROP COLUMN depth;
ALTER TABLE api_keys DROP COLUMN tree;
ALTER TABLE api_keys DROP COLUMN parent;
DROP TABLE budgets;
