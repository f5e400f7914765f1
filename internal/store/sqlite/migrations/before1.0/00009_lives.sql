-- +goose Up

-- The life of a node that may apply its journal. A copy of its data directory that starts later has another one.
ALTER TABLE nodes ADD COLUMN life TEXT NOT NULL DEFAULT '';

-- The identity of this ledger, so that no journal of another ledger is posted. One row.
CREATE TABLE books (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    id  TEXT NOT NULL
) STRICT;

-- Journal records that could not be posted, for a decision of the operator.
CREATE TABLE set_aside (
    id         INTEGER PRIMARY KEY,
    node       TEXT NOT NULL,
    position   INTEGER NOT NULL, -- in the node's journal
    generation TEXT NOT NULL,
    wallet     TEXT NOT NULL,
    cost       INTEGER NOT NULL,
    reason     TEXT NOT NULL, -- the reason
    record     BLOB NOT NULL,
    at         INTEGER NOT NULL,
    state      TEXT NOT NULL DEFAULT 'open', -- open, posted, dismissed
    UNIQUE (node, position)
) STRICT;

-- +goose Down
DROP TABLE set_aside;
DROP TABLE books;
ALTER TABLE nodes DROP COLUMN life;
