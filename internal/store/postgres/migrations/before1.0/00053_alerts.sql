-- +goose Up
-- What operators are alerted of. Rules are those that are not as the program has them.
CREATE TABLE alert_rules (
    kind    TEXT COLLATE "C"    NOT NULL PRIMARY KEY,
    enabled BOOLEAN NOT NULL,
    most    BIGINT NOT NULL, -- percent, days, MiB or minutes
    minutes BIGINT NOT NULL, -- in which attempts count
    calls   BIGINT NOT NULL, -- fewer say nothing
    version BIGINT NOT NULL
);

-- Where alerts go. One node at a time sends to a channel.
CREATE TABLE alert_channels (
    id           TEXT COLLATE "C"    NOT NULL PRIMARY KEY,
    way          TEXT COLLATE "C"    NOT NULL,
    address      TEXT COLLATE "C"    NOT NULL,
    language     TEXT COLLATE "C"    NOT NULL,
    enabled      BOOLEAN NOT NULL,
    sealed       BYTEA    NOT NULL,
    last4        TEXT COLLATE "C"    NOT NULL,
    version      BIGINT NOT NULL,
    failed       TEXT COLLATE "C"    NOT NULL, -- what the receiver said when it refused for good
    words        TEXT COLLATE "C"    NOT NULL, -- the last trouble
    sent_at      BIGINT,
    attempts     BIGINT NOT NULL DEFAULT 0,
    next_at      BIGINT NOT NULL DEFAULT 0,
    leased_until BIGINT NOT NULL DEFAULT 0,
    fence        BIGINT NOT NULL DEFAULT 0
);

CREATE TABLE alert_incidents (
    id       TEXT COLLATE "C"    NOT NULL PRIMARY KEY, -- in the order of their beginnings
    kind     TEXT COLLATE "C"    NOT NULL,
    subject  TEXT COLLATE "C"    NOT NULL,
    began_at BIGINT NOT NULL,
    seen_at  BIGINT NOT NULL,
    fine_at  BIGINT,
    said_at  BIGINT NOT NULL,
    ended_at BIGINT,
    why      TEXT COLLATE "C"    NOT NULL,
    value    BIGINT NOT NULL,
    most     BIGINT NOT NULL,
    failed   BIGINT NOT NULL,
    calls    BIGINT NOT NULL,
    minutes  BIGINT NOT NULL,
    detail   TEXT COLLATE "C"    NOT NULL
);
CREATE UNIQUE INDEX alert_incidents_open ON alert_incidents (kind, subject) WHERE ended_at IS NULL;
CREATE INDEX alert_incidents_ended ON alert_incidents (ended_at) WHERE ended_at IS NOT NULL;

CREATE TABLE alert_messages (
    incident   TEXT COLLATE "C"    NOT NULL,
    channel    TEXT COLLATE "C"    NOT NULL,
    what       TEXT COLLATE "C"    NOT NULL, -- began, lasts, over
    written_at BIGINT NOT NULL,
    state      TEXT COLLATE "C"    NOT NULL, -- waiting, sent, summed, dropped
    sent_at    BIGINT,
    PRIMARY KEY (incident, channel, what, written_at)
);
CREATE INDEX alert_messages_waiting ON alert_messages (channel, written_at) WHERE state = 'waiting';
CREATE INDEX alert_messages_sent ON alert_messages (channel, sent_at) WHERE sent_at IS NOT NULL;

-- +goose Down
DROP TABLE alert_messages;
DROP TABLE alert_incidents;
DROP TABLE alert_channels;
DROP TABLE alert_rules;
