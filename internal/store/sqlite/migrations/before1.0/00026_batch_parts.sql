-- +goose Up
-- Lines of batches that go to a provider as one of its batches. A row is written before the provider is asked.
CREATE TABLE batch_parts (
    id         TEXT    NOT NULL PRIMARY KEY,
    batch      TEXT    NOT NULL,
    endpoint   TEXT    NOT NULL,
    path       TEXT    NOT NULL,
    state      TEXT    NOT NULL CHECK (state IN ('intended', 'submitted', 'ended')),
    upstream   TEXT    NOT NULL, -- the provider's id. '': not known
    lines      INTEGER NOT NULL CHECK (lines > 0),
    created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX batch_parts_of ON batch_parts (batch);

-- The part of a line, '' none.
ALTER TABLE batch_items ADD COLUMN part TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE batch_items DROP COLUMN part;
DROP TABLE batch_parts;
