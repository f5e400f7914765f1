-- +goose Up
-- What programs written for other gateways call things of an account, and say of them.
CREATE TABLE foreign_names (
    account    TEXT COLLATE "C" NOT NULL,
    kind       TEXT COLLATE "C" NOT NULL, -- key, team, user
    name       TEXT COLLATE "C" NOT NULL,
    id         TEXT COLLATE "C" NOT NULL, -- ours
    fields     TEXT COLLATE "C" NOT NULL, -- a JSON object
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (account, kind, name),
    UNIQUE (account, id)
);

-- +goose Down
DROP TABLE foreign_names;
