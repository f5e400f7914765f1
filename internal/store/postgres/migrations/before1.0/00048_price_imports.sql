-- +goose Up
-- The price list that was made last of the public ones, which is not in use.
CREATE TABLE price_imports (
    id      BIGINT NOT NULL PRIMARY KEY, -- 1: there is one
    list    TEXT COLLATE "C" NOT NULL, -- its version
    as_of   TEXT COLLATE "C" NOT NULL,
    at      BIGINT NOT NULL,
    actor   TEXT COLLATE "C" NOT NULL,
    notes   TEXT COLLATE "C" NOT NULL, -- what happened to the public lists, in lines
    sources TEXT COLLATE "C" NOT NULL, -- JSON: offers with the lists that their prices are from
    differs BIGINT NOT NULL,
    refused BIGINT NOT NULL,
    data    BYTEA   NOT NULL
);

-- The price list that a draft brings; the data only until it is in use, when price_lists has it. prices_list '': the draft leaves the list as it is.
ALTER TABLE catalog_drafts ADD COLUMN prices_list TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE catalog_drafts ADD COLUMN prices_as_of TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE catalog_drafts ADD COLUMN prices_previous TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE catalog_drafts ADD COLUMN prices_approved TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE catalog_drafts ADD COLUMN prices_data BYTEA;

-- +goose Down
ALTER TABLE catalog_drafts DROP COLUMN prices_data;
ALTER TABLE catalog_drafts DROP COLUMN prices_approved;
ALTER TABLE catalog_drafts DROP COLUMN prices_previous;
ALTER TABLE catalog_drafts DROP COLUMN prices_as_of;
ALTER TABLE catalog_drafts DROP COLUMN prices_list;
DROP TABLE price_imports;
