-- +goose Up
CREATE TABLE responses (
    account TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    parent TEXT COLLATE "C" NOT NULL,
    status TEXT COLLATE "C" NOT NULL,
    background BOOLEAN NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    stale_at BIGINT NOT NULL,
    size BIGINT NOT NULL,
    object BYTEA NOT NULL,
    input BYTEA NOT NULL,
    output BYTEA NOT NULL,
    PRIMARY KEY (account, id)
);
CREATE INDEX responses_by_expiry ON responses (expires_at);
CREATE INDEX responses_by_age ON responses (account, created_at, size);

CREATE TABLE response_items (
    account TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    response TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (account, id)
);
CREATE INDEX response_items_by_response ON response_items (account, response);

-- +goose Down
DROP TABLE response_items;
DROP TABLE responses;
