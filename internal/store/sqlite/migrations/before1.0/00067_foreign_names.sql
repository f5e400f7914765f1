-- +goose Up
-- What programs written for other gateways call things of an account, and say of them.
CREATE TABLE foreign_names (
    account    TEXT NOT NULL,
    kind       TEXT NOT NULL, -- key, team, user
    name       TEXT NOT NULL,
    id         TEXT NOT NULL, -- ours
    fields     TEXT NOT NULL, -- a JSON object
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (account, kind, name),
    UNIQUE (account, id)
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE foreign_names;
