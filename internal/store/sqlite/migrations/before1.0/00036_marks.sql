-- +goose Up
-- What a ledger is: a demo's, or one that was moved to another database.
CREATE TABLE marks (
    name  TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) STRICT;

-- +goose Down
DROP TABLE marks;
