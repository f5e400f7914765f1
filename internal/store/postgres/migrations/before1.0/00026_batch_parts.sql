-- +goose Up
-- Lines of batches that go to a provider as one of its batches. A row is written before the provider is asked.
CREATE TABLE batch_parts (
    id         TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    batch      TEXT COLLATE "C" NOT NULL,
    endpoint   TEXT COLLATE "C" NOT NULL,
    path       TEXT COLLATE "C" NOT NULL,
    state      TEXT COLLATE "C" NOT NULL CHECK (state IN ('intended', 'submitted', 'ended')),
    upstream   TEXT COLLATE "C" NOT NULL, -- the provider's id. '': not known
    lines      BIGINT NOT NULL CHECK (lines > 0),
    created_at BIGINT NOT NULL
);
CREATE INDEX batch_parts_of ON batch_parts (batch);

-- The part of a line, '' none.
ALTER TABLE batch_items ADD COLUMN part TEXT COLLATE "C" NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE batch_items DROP COLUMN part;
DROP TABLE batch_parts;
