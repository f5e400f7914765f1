-- +goose Up
-- Whether the client of a job may have been informed that it was accepted. A job that was never accepted ends without a start.
ALTER TABLE video_jobs ADD COLUMN accepted BOOLEAN NOT NULL DEFAULT TRUE;
-- Ended jobs without remaining work, for their deletion.
CREATE INDEX video_jobs_old ON video_jobs (completed_at) WHERE completed_at IS NOT NULL AND due_at IS NULL;

-- +goose Down
DROP INDEX video_jobs_old;
ALTER TABLE video_jobs DROP COLUMN accepted;
