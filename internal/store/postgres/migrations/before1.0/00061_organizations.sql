-- +goose Up
-- Organizations: accounts in which several people act. An organization is a user of the kind "organization", who cannot sign in.
ALTER TABLE users ADD COLUMN kind TEXT COLLATE "C" NOT NULL DEFAULT ''; -- "organization"; empty: a person
-- For whom a key of an organization works: a person ("usr_...") or a service ("svc_..."); empty in a personal account.
ALTER TABLE api_keys ADD COLUMN member TEXT COLLATE "C" NOT NULL DEFAULT '';

CREATE TABLE organizations (
    id         TEXT COLLATE "C" NOT NULL PRIMARY KEY REFERENCES users (id),
    creator    TEXT COLLATE "C" NOT NULL, -- id of the person who made it
    sees       TEXT COLLATE "C" NOT NULL, -- what managers see: "team" or "all"
    created_at BIGINT NOT NULL,
    closed_at  BIGINT
);
CREATE INDEX organizations_by_creator ON organizations (creator);

CREATE TABLE org_teams (
    id         TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    org        TEXT COLLATE "C" NOT NULL REFERENCES organizations (id),
    name       TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    UNIQUE (org, name)
);

CREATE TABLE org_members (
    org       TEXT COLLATE "C" NOT NULL REFERENCES organizations (id),
    user_id   TEXT COLLATE "C" NOT NULL REFERENCES users (id),
    role      TEXT COLLATE "C" NOT NULL,
    team      TEXT COLLATE "C" NOT NULL DEFAULT '', -- id; empty: none
    source    TEXT COLLATE "C" NOT NULL DEFAULT '', -- "oidc" or "scim": whose directory says role and team; empty: the organization's people
    web_key   TEXT COLLATE "C" NOT NULL DEFAULT '', -- hash of the key of their calls from the browser
    joined_at BIGINT NOT NULL,
    PRIMARY KEY (org, user_id)
);
CREATE INDEX org_members_by_user ON org_members (user_id);

-- Programs that work for an organization, and not for one of its people.
CREATE TABLE org_services (
    id         TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    org        TEXT COLLATE "C" NOT NULL REFERENCES organizations (id),
    name       TEXT COLLATE "C" NOT NULL,
    team       TEXT COLLATE "C" NOT NULL DEFAULT '',
    creator    TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    ended_at   BIGINT
);
CREATE INDEX org_services_by_org ON org_services (org, created_at);

CREATE TABLE org_invitations (
    id         TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    hash       TEXT COLLATE "C" NOT NULL UNIQUE, -- of the text of its link
    org        TEXT COLLATE "C" NOT NULL REFERENCES organizations (id),
    email      TEXT COLLATE "C" NOT NULL, -- whom it is for; empty: anybody with the link
    role       TEXT COLLATE "C" NOT NULL,
    team       TEXT COLLATE "C" NOT NULL DEFAULT '',
    note       TEXT COLLATE "C" NOT NULL DEFAULT '',
    places     BIGINT NOT NULL, -- how many people may use it
    taken      BIGINT NOT NULL DEFAULT 0,
    maker      TEXT COLLATE "C" NOT NULL, -- id of the person
    created_at BIGINT NOT NULL,
    sent_at    BIGINT,
    opened_at  BIGINT,
    expires_at BIGINT NOT NULL
);
CREATE INDEX org_invitations_by_org ON org_invitations (org, created_at);

-- +goose Down
DROP TABLE org_invitations;
DROP TABLE org_services;
DROP TABLE org_members;
DROP TABLE org_teams;
DROP TABLE organizations;
ALTER TABLE api_keys DROP COLUMN member;
ALTER TABLE users DROP COLUMN kind;
