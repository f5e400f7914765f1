-- +goose Up
-- Pages with filters, under names.
CREATE TABLE views (
    user_id    TEXT    NOT NULL,
    page       TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    id         TEXT    NOT NULL UNIQUE,
    query      TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (user_id, page, name)
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE views;
