-- +goose Up
-- Operators who look at the interface as another person sees it. A row may outlive its session until it is swept: its end is in the audit chain, too.
CREATE TABLE seeing (
    session  TEXT COLLATE "C" NOT NULL PRIMARY KEY, -- hash of the operator's session
    viewer   TEXT COLLATE "C" NOT NULL REFERENCES users (id),
    user_id  TEXT COLLATE "C" NOT NULL REFERENCES users (id),
    began_at BIGINT NOT NULL,
    until_at BIGINT NOT NULL
);
CREATE INDEX seeing_over ON seeing (until_at);

-- What does not count against a key's limit, because its spending was reset: spent is what calls cost, and stays.
ALTER TABLE key_spend ADD COLUMN forgiven BIGINT NOT NULL DEFAULT 0;

-- When each key of an account was last used.
CREATE INDEX usage_groups_keys ON usage_groups (wallet, value, day) WHERE part = 'key';

-- +goose Down
DROP INDEX usage_groups_keys;
ALTER TABLE key_spend DROP COLUMN forgiven;
DROP TABLE seeing;
