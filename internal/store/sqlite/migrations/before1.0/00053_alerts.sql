-- +goose Up
-- What operators are alerted of. Rules are those that are not as the program has them.
CREATE TABLE alert_rules (
    kind    TEXT    NOT NULL PRIMARY KEY,
    enabled INTEGER NOT NULL,
    most    INTEGER NOT NULL, -- percent, days, MiB or minutes
    minutes INTEGER NOT NULL, -- in which attempts count
    calls   INTEGER NOT NULL, -- fewer say nothing
    version INTEGER NOT NULL
) STRICT;

-- Where alerts go. One node at a time sends to a channel.
CREATE TABLE alert_channels (
    id           TEXT    NOT NULL PRIMARY KEY,
    way          TEXT    NOT NULL,
    address      TEXT    NOT NULL,
    language     TEXT    NOT NULL,
    enabled      INTEGER NOT NULL,
    sealed       BLOB    NOT NULL,
    last4        TEXT    NOT NULL,
    version      INTEGER NOT NULL,
    failed       TEXT    NOT NULL, -- what the receiver said when it refused for good
    words        TEXT    NOT NULL, -- the last trouble
    sent_at      INTEGER,
    attempts     INTEGER NOT NULL DEFAULT 0,
    next_at      INTEGER NOT NULL DEFAULT 0,
    leased_until INTEGER NOT NULL DEFAULT 0,
    fence        INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE alert_incidents (
    id       TEXT    NOT NULL PRIMARY KEY, -- in the order of their beginnings
    kind     TEXT    NOT NULL,
    subject  TEXT    NOT NULL,
    began_at INTEGER NOT NULL,
    seen_at  INTEGER NOT NULL,
    fine_at  INTEGER,
    said_at  INTEGER NOT NULL,
    ended_at INTEGER,
    why      TEXT    NOT NULL,
    value    INTEGER NOT NULL,
    most     INTEGER NOT NULL,
    failed   INTEGER NOT NULL,
    calls    INTEGER NOT NULL,
    minutes  INTEGER NOT NULL,
    detail   TEXT    NOT NULL
) STRICT;
CREATE UNIQUE INDEX alert_incidents_open ON alert_incidents (kind, subject) WHERE ended_at IS NULL;
CREATE INDEX alert_incidents_ended ON alert_incidents (ended_at) WHERE ended_at IS NOT NULL;

CREATE TABLE alert_messages (
    incident   TEXT    NOT NULL,
    channel    TEXT    NOT NULL,
    what       TEXT    NOT NULL, -- began, lasts, over
    written_at INTEGER NOT NULL,
    state      TEXT    NOT NULL, -- waiting, sent, summed, dropped
    sent_at    INTEGER,
    PRIMARY KEY (incident, channel, what, written_at)
) STRICT, WITHOUT ROWID;
CREATE INDEX alert_messages_waiting ON alert_messages (channel, written_at) WHERE state = 'waiting';
CREATE INDEX alert_messages_sent ON alert_messages (channel, sent_at) WHERE sent_at IS NOT NULL;

-- +goose Down
DROP TABLE alert_messages;
DROP TABLE alert_incidents;
DROP TABLE alert_channels;
DROP TABLE alert_rules;
