-- +goose Up
-- The time zones of accounts, each with the hour from which days are counted in it. Before the first one that is UTC.
CREATE TABLE wallet_zones (
    wallet TEXT    NOT NULL,
    since  INTEGER NOT NULL, -- Unix seconds
    zone   TEXT    NOT NULL, -- of the IANA database
    PRIMARY KEY (wallet, since)
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE wallet_zones;
