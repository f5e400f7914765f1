-- +goose Up
-- What all nodes together have let in: when the allowances of a name will be full again, in Unix nanoseconds. A row may be lost.
CREATE TABLE limit_uses (
    name       TEXT COLLATE "C" NOT NULL PRIMARY KEY, -- "key " and a key's id, or "free " and a user's
    changed_at BIGINT NOT NULL,
    full_a     BIGINT NOT NULL, -- requests
    full_b     BIGINT NOT NULL, -- tokens, or requests of a day
    full_c     BIGINT NOT NULL  -- rubles
);
CREATE INDEX limit_uses_changed ON limit_uses (changed_at);

-- +goose Down
DROP TABLE limit_uses;
