-- +goose Up
-- Pages with filters, under names.
CREATE TABLE views (
    user_id    TEXT COLLATE "C" NOT NULL,
    page       TEXT COLLATE "C" NOT NULL,
    name       TEXT COLLATE "C" NOT NULL,
    id         TEXT COLLATE "C" NOT NULL UNIQUE,
    query      TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (user_id, page, name)
);

-- +goose Down
DROP TABLE views;
