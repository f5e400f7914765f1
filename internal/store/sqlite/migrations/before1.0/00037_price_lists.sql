-- +goose Up
-- Price lists that were published: the one in use, the one before, and the one that an operator published last. catalog_changes says which.
CREATE TABLE price_lists (
    version TEXT NOT NULL PRIMARY KEY,
    data    BLOB NOT NULL
) STRICT;

-- What a node serves: versions, as a JSON object. Nodes and operators compare them.
ALTER TABLE nodes ADD COLUMN serving TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE nodes DROP COLUMN serving;
DROP TABLE price_lists;
