-- +goose Up
-- Changes of prices that take effect together: the draft that is edited, and what was scheduled and published.
CREATE TABLE catalog_drafts (
    id      INTEGER NOT NULL PRIMARY KEY,
    version INTEGER NOT NULL, -- number of times that it was changed
    state   TEXT    NOT NULL, -- open, scheduled, published, cancelled
    actor   TEXT    NOT NULL,
    at      INTEGER NOT NULL,
    from_at INTEGER,          -- when it takes effect; NULL: it is open
    catalog INTEGER NOT NULL, -- version of the catalog that its rows have; 0: it is open
    edits   TEXT    NOT NULL  -- JSON: endpoints with what is set and unset and, once published, their rows before and after
) STRICT;
CREATE UNIQUE INDEX catalog_drafts_open ON catalog_drafts (state) WHERE state = 'open';
CREATE INDEX catalog_drafts_scheduled ON catalog_drafts (from_at, id) WHERE state = 'scheduled';

-- +goose Down
DROP TABLE catalog_drafts;
