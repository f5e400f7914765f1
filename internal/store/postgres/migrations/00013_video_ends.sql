-- +goose Up
-- Whether the client of a job can have been told that it was accepted. One that never is ends without having been begun.
ALTER TABLE video_jobs ADD COLUMN accepted BOOLEAN NOT NULL DEFAULT TRUE;
-- Those that have ended and of which nothing is left to do, to be forgotten one day.
CREATE INDEX video_jobs_old ON video_jobs (completed_at) WHERE completed_at IS NOT NULL AND due_at IS NULL;

-- +goose Down
DROP INDEX video_jobs_old;
ALTER TABLE video_jobs DROP COLUMN accepted;
