-- +goose Up
-- Calls by the second in their ids, for a call whose account is not known. It is added to at its end alone, and takes a few bytes per call.
CREATE INDEX generations_by_second ON generations (substr(id, 5, 10));

-- +goose Down
DROP INDEX generations_by_second;
