-- +goose Up
-- Organizations: accounts in which several people act. An organization is a user of the kind "organization", who cannot sign in.
ALTER TABLE users ADD COLUMN kind TEXT NOT NULL DEFAULT ''; -- "organization"; empty: a person
-- For whom a key of an organization works: a person ("usr_...") or a service ("svc_..."); empty in a personal account.
ALTER TABLE api_keys ADD COLUMN member TEXT NOT NULL DEFAULT '';

CREATE TABLE organizations (
    id         TEXT NOT NULL PRIMARY KEY REFERENCES users (id),
    creator    TEXT NOT NULL, -- id of the person who made it
    sees       TEXT NOT NULL, -- what managers see: "team" or "all"
    created_at INTEGER NOT NULL,
    closed_at  INTEGER
) STRICT;
CREATE INDEX organizations_by_creator ON organizations (creator);

CREATE TABLE org_teams (
    id         TEXT NOT NULL PRIMARY KEY,
    org        TEXT NOT NULL REFERENCES organizations (id),
    name       TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    UNIQUE (org, name)
) STRICT;

CREATE TABLE org_members (
    org       TEXT NOT NULL REFERENCES organizations (id),
    user_id   TEXT NOT NULL REFERENCES users (id),
    role      TEXT NOT NULL,
    team      TEXT NOT NULL DEFAULT '', -- id; empty: none
    source    TEXT NOT NULL DEFAULT '', -- "oidc" or "scim": whose directory says role and team; empty: the organization's people
    web_key   TEXT NOT NULL DEFAULT '', -- hash of the key of their calls from the browser
    joined_at INTEGER NOT NULL,
    PRIMARY KEY (org, user_id)
) STRICT;
CREATE INDEX org_members_by_user ON org_members (user_id);

-- Programs that work for an organization, and not for one of its people.
CREATE TABLE org_services (
    id         TEXT NOT NULL PRIMARY KEY,
    org        TEXT NOT NULL REFERENCES organizations (id),
    name       TEXT NOT NULL,
    team       TEXT NOT NULL DEFAULT '',
    creator    TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    ended_at   INTEGER
) STRICT;
CREATE INDEX org_services_by_org ON org_services (org, created_at);

CREATE TABLE org_invitations (
    id         TEXT NOT NULL PRIMARY KEY,
    hash       TEXT NOT NULL UNIQUE, -- of the text of its link
    org        TEXT NOT NULL REFERENCES organizations (id),
    email      TEXT NOT NULL, -- whom it is for; empty: anybody with the link
    role       TEXT NOT NULL,
    team       TEXT NOT NULL DEFAULT '',
    note       TEXT NOT NULL DEFAULT '',
    places     INTEGER NOT NULL, -- how many people may use it
    taken      INTEGER NOT NULL DEFAULT 0,
    maker      TEXT NOT NULL, -- id of the person
    created_at INTEGER NOT NULL,
    sent_at    INTEGER,
    opened_at  INTEGER,
    expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX org_invitations_by_org ON org_invitations (org, created_at);

-- +goose Down
DROP TABLE org_invitations;
DROP TABLE org_services;
DROP TABLE org_members;
DROP TABLE org_teams;
DROP TABLE organizations;
ALTER TABLE api_keys DROP COLUMN member;
ALTER TABLE users DROP COLUMN kind;
