-- +goose Up
-- Texts that the records of calls refer to, instead of having them themselves. Never changed: records cannot be read without them.
CREATE TABLE record_words (
    id    INTEGER PRIMARY KEY,
    words BLOB    NOT NULL,
    at    INTEGER NOT NULL
) STRICT;
-- +goose StatementBegin
CREATE TRIGGER record_words_fixed BEFORE UPDATE ON record_words BEGIN SELECT RAISE(ABORT, 'words of records are never changed'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER record_words_kept BEFORE DELETE ON record_words BEGIN SELECT RAISE(ABORT, 'words of records are never deleted'); END;
-- +goose StatementEnd

-- Nothing reads an hour of all wallets, and a day of all is read through the groups of each.
DROP INDEX usage_hourly_hour;
DROP INDEX usage_daily_day;

-- +goose Down
CREATE INDEX usage_daily_day ON usage_daily (day);
CREATE INDEX usage_hourly_hour ON usage_hourly (hour);
DROP TABLE record_words;
