-- +goose Up
-- What a ledger is: a demo's, or one that was moved to another database.
CREATE TABLE marks (
    name  TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    value TEXT COLLATE "C" NOT NULL
);

-- +goose Down
DROP TABLE marks;
