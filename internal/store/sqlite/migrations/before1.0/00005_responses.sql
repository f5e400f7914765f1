-- +goose Up
CREATE TABLE responses (
    account TEXT NOT NULL,
    id TEXT NOT NULL,
    parent TEXT NOT NULL,
    status TEXT NOT NULL,
    background INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    stale_at INTEGER NOT NULL,
    size INTEGER NOT NULL,
    object BLOB NOT NULL,
    input BLOB NOT NULL,
    output BLOB NOT NULL,
    PRIMARY KEY (account, id)
) STRICT;
CREATE INDEX responses_by_expiry ON responses (expires_at);
CREATE INDEX responses_by_age ON responses (account, created_at, size);

CREATE TABLE response_items (
    account TEXT NOT NULL,
    id TEXT NOT NULL,
    response TEXT NOT NULL,
    PRIMARY KEY (account, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX response_items_by_response ON response_items (account, response);

-- +goose Down
DROP TABLE response_items;
DROP TABLE responses;
