-- +goose Up
-- Which version of Weir first knew a migration, so that an older one that is started on newer tables can name the version that is needed.
CREATE TABLE schema_versions (
    number BIGINT PRIMARY KEY,
    weir   TEXT COLLATE "C" NOT NULL
);

-- +goose Down
DROP TABLE schema_versions;
