-- +goose Up
-- Why the last attempt to send a mail of a notification failed.
ALTER TABLE notify_mails ADD COLUMN words TEXT COLLATE "C" NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE notify_mails DROP COLUMN words;
