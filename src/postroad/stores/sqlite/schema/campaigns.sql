-- The tables of campaigns: the recipients and what is known about each (the ground truth), the
-- operations that are queued or begun, the jobs that send them, and the credentials to send with.

-- Who sends at a provider: what is public, its secret sealed under the key of that name, and until
-- when it is blocked. Campaigns share it, and its limit.
create table credential (
  id            integer primary key,
  tenant        text not null,
  name          text not null,
  kind          text not null,   -- the channel that sends with it
  spec          text not null,
  key           text not null,
  sealed        blob not null,
  blocked_until integer not null default 0,
  block_reason  text not null default '',
  block_streak  integer not null default 0,
  created_at    integer not null,
  unique (tenant, name)
) strict;

-- A template, its state and its counts.
create table campaign (
  id          integer primary key,
  tenant      text not null,
  name        text not null,
  credential  integer not null,
  spec        text not null,
  columns     text not null default '[]',
  state       text not null default 'draft'
              check (state in ('draft', 'scheduled', 'running', 'stopped', 'halted', 'cancelled', 'done')),
  reason      text not null default '',
  halts       integer not null default 1,
  start_at    integer not null default 0,
  place       integer not null default 0,   -- up to this n all unsent recipients are in campaign_op
  last_n      integer not null default 0,
  total       integer not null default 0,
  sent        integer not null default 0,
  failed      integer not null default 0,
  uncertain   integer not null default 0,
  undelivered integer not null default 0,
  suppressed  integer not null default 0,
  temporary   integer not null default 0,   -- those of failed whose server said "later" until the last try
  created_at  integer not null,
  started_at  integer not null default 0,
  ended_at    integer not null default 0,
  check (total >= sent + failed + uncertain + suppressed),
  unique (tenant, name)
) strict;
create index campaign_live on campaign (state) where state in ('scheduled', 'running');

-- An import that is under way: its file, and up to which line it is stored.
create table campaign_import (
  campaign_id integer primary key,
  digest      text not null,
  columns     text not null,
  first_n     integer not null,
  line        integer not null,
  loaded      integer not null,
  duplicates  integer not null
) strict;

-- A recipient and everything that is known about it.
create table campaign_message (
  campaign_id integer not null,
  n           integer not null,
  line        integer not null,
  recipient   text not null,
  fields      text not null,
  state       text not null default 'unsent'
              check (state in ('unsent', 'sent', 'failed', 'uncertain', 'suppressed')),
  tries       integer not null default 0,
  provider_id text not null default '',
  error_code  text not null default '',
  sub_type    text not null default '',
  error       text not null default '',
  sent_at     integer not null default 0,
  answered_at integer not null default 0,
  status      text not null default '',
  status_at   integer not null default 0,
  temporary   integer not null default 0,   -- 1: it failed, and its server said "later" until the last try
  primary key (campaign_id, n)
) strict, without rowid;
create unique index campaign_recipient on campaign_message (campaign_id, recipient);

-- A sender's share of a campaign: state, owner, epoch, lease.
create table job (
  id          integer primary key,
  campaign_id integer not null,
  state       text not null default 'READY'
              check (state in ('READY', 'ENQUEUED', 'SENDING', 'SENT', 'STOPPED', 'LOGGED')),
  owner       integer,
  epoch       integer not null default 0,
  lease_until integer not null default 0,
  created_at  integer not null,
  check (owner is null or state not in ('SENT', 'LOGGED'))
) strict;
create index job_of_campaign on job (campaign_id);
create index job_live on job (state) where state <> 'LOGGED';

-- A recipient that is queued, or whose call has begun, for one job.
create table campaign_op (
  campaign_id integer not null,
  n           integer not null,
  job_id      integer not null,
  state       text not null default 'queued' check (state in ('queued', 'intent')),
  tries       integer not null,
  intent_at   integer not null default 0,
  due         integer not null default 0,   -- after a temporary answer: not before
  deferred    integer not null default 0,   -- temporary answers
  primary key (campaign_id, n)
) strict, without rowid;
create index campaign_op_job on campaign_op (job_id, n);
