-- +goose Up
-- Changes of prices that take effect together: the draft that is edited, and what was scheduled and published.
CREATE TABLE catalog_drafts (
    id      BIGINT NOT NULL PRIMARY KEY,
    version BIGINT NOT NULL, -- number of times that it was changed
    state   TEXT COLLATE "C" NOT NULL, -- open, scheduled, published, cancelled
    actor   TEXT COLLATE "C" NOT NULL,
    at      BIGINT NOT NULL,
    from_at BIGINT,          -- when it takes effect; NULL: it is open
    catalog BIGINT NOT NULL, -- version of the catalog that its rows have; 0: it is open
    edits   TEXT COLLATE "C" NOT NULL  -- JSON: endpoints with what is set and unset and, once published, their rows before and after
);
CREATE UNIQUE INDEX catalog_drafts_open ON catalog_drafts (state) WHERE state = 'open';
CREATE INDEX catalog_drafts_scheduled ON catalog_drafts (from_at, id) WHERE state = 'scheduled';

-- +goose Down
DROP TABLE catalog_drafts;
