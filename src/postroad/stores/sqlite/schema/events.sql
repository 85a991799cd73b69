-- Events and the bodies that their messages share; endpoints and event types.

-- What events of a tenant are sent to. spec: JSON with types, channels, filter, description, metadata.
-- The URL is for lists; what is called stands in the settings of its queue. failing_since: the first failure
-- after the last success. noticed_at: when the operator was told of that spell. spell_since: the start of the
-- spell that it was last disabled in. draining_since: since when what was held drains at a set rate.
-- secret_notice_at: when the operator is to be told that a secret ends. It is deleted when it expires.
create table endpoint (
  id               integer primary key,
  tenant           text not null,
  queue_id         integer not null,
  url              text not null,
  spec             blob not null,
  made_at          integer not null,
  version          integer not null,
  expires_at       integer not null,
  state            text not null default 'enabled' check (state in ('enabled', 'disabled', 'deleting')),
  disabled_by      text not null default '' check (disabled_by in ('', 'owner', 'operator', 'itself')),
  reason           text not null default '',
  changed_at       integer not null default 0,
  failing_since    integer not null default 0,
  failed_at        integer not null default 0,
  error            text not null default '',
  noticed_at       integer not null default 0,
  spell_since      integer not null default 0,
  draining_since   integer not null default 0,
  secret_notice_at integer not null default 0
) strict;
create index endpoint_expiry on endpoint (expires_at) where expires_at < 4611686018427387904;
create index endpoint_tenant on endpoint (tenant, id);
create unique index endpoint_queue on endpoint (queue_id);

-- How often the endpoints of a tenant, or ('') the event types, were changed. A publish is matched
-- against a version, and stored only while that is the version.
create table event_set (
  tenant  text primary key,
  version integer not null
) strict, without rowid;

-- The event types of all tenants.
create table event_type (
  name        text primary key,
  description text not null,
  schema      blob,
  warn        integer not null,
  archived    integer not null
) strict, without rowid;

-- A published event. Its messages have no body of their own; their ids are those from first_message to
-- last_message, 8192 apart. It goes when its retention is over and no message in that range needs it.
create table event (
  id            integer primary key,
  tenant        text not null,
  type          text not null,
  channels      blob not null,
  made_at       integer not null,
  first_message integer not null,
  last_message  integer not null,
  matched       integer not null,
  body          blob not null
) strict;
create index event_tenant on event (tenant, id);
create index event_unmatched on event (tenant, type, id) where matched = 0;

-- The first use of an idempotency key of a publish.
create table event_key (
  tenant     text not null,
  key        text not null,
  event_id   integer not null,
  digest     blob not null,
  expires_at integer not null,
  primary key (tenant, key)
) strict, without rowid;
create index event_key_expiry on event_key (expires_at);

-- A message of an event that a replay made; those of the publish are the event's range. It goes with its event.
create table event_message (
  event_id   integer not null,
  message_id integer not null,
  queue_id   integer not null,
  primary key (event_id, message_id)
) strict, without rowid;

-- A job that sends again: how far it is, who works at it, and when its next slice is due. spec: JSON with what it
-- sends. cursor: the last event that was looked at. waiting: those that were left because they still wait.
create table replay (
  id           integer primary key,
  tenant       text not null,
  queue        text not null,
  spec         blob not null,
  state        text not null check (state in ('running', 'paused', 'cancelled', 'done')),
  reason       text not null default '',
  asked_at     integer not null,
  ended_at     integer not null default 0,
  cursor       integer not null,
  total        integer not null,
  replayed     integer not null default 0,
  waiting      integer not null default 0,
  owner        integer not null default 0,
  leased_until integer not null default 0,
  next_at      integer not null default 0
) strict;
create index replay_tenant on replay (tenant, id);
create index replay_running on replay (next_at, id) where state = 'running';
