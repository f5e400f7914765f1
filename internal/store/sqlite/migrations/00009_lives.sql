-- +goose Up

-- The start of a node that may apply its journal: a copy of its data directory that starts later has another.
ALTER TABLE nodes ADD COLUMN life TEXT NOT NULL DEFAULT '';

-- Which books these are, so that no journal of others is posted into them. One row.
CREATE TABLE books (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    id  TEXT NOT NULL
) STRICT;

-- Records of journals that could not be posted, until somebody decides.
CREATE TABLE set_aside (
    id         INTEGER PRIMARY KEY,
    node       TEXT NOT NULL,
    position   INTEGER NOT NULL, -- in the node's journal
    generation TEXT NOT NULL,
    wallet     TEXT NOT NULL,
    cost       INTEGER NOT NULL,
    reason     TEXT NOT NULL, -- why it could not
    record     BLOB NOT NULL,
    at         INTEGER NOT NULL,
    state      TEXT NOT NULL DEFAULT 'open', -- open, posted, dismissed
    UNIQUE (node, position)
) STRICT;

-- +goose Down
DROP TABLE set_aside;
DROP TABLE books;
ALTER TABLE nodes DROP COLUMN life;
