-- +goose Up
-- Comparisons of what providers bill with the calls of the gateway. The files themselves are not kept.
CREATE TABLE reconciliations (
    id       TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    provider TEXT COLLATE "C" NOT NULL,
    actor    TEXT COLLATE "C" NOT NULL,
    at       BIGINT NOT NULL,
    head     TEXT COLLATE "C" NOT NULL, -- JSON: files, what was compared how, sums of the differences
    body     TEXT COLLATE "C" NOT NULL  -- JSON: days and models, and the differences
);
CREATE INDEX reconciliations_at ON reconciliations (at, id);

-- +goose Down
DROP TABLE reconciliations;
