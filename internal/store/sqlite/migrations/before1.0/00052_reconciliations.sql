-- +goose Up
-- Comparisons of what providers bill with the calls of the gateway. The files themselves are not kept.
CREATE TABLE reconciliations (
    id       TEXT    NOT NULL PRIMARY KEY,
    provider TEXT    NOT NULL,
    actor    TEXT    NOT NULL,
    at       INTEGER NOT NULL,
    head     TEXT    NOT NULL, -- JSON: files, what was compared how, sums of the differences
    body     TEXT    NOT NULL  -- JSON: days and models, and the differences
) STRICT;
CREATE INDEX reconciliations_at ON reconciliations (at, id);

-- +goose Down
DROP TABLE reconciliations;
