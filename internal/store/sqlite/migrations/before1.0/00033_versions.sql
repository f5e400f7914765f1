-- +goose Up
-- Which version of Weir first knew a migration, so that an older one that is started on newer tables can name the version that is needed.
CREATE TABLE schema_versions (
    number INTEGER PRIMARY KEY,
    weir   TEXT NOT NULL
) STRICT;

-- +goose Down
DROP TABLE schema_versions;
