-- The tables of campaigns: recipients and results (campaign_message), what is queued or begun (campaign_op), jobs,
-- credentials.

create table credential (
  id            bigint generated always as identity primary key,
  tenant        text not null,
  name          text not null,
  kind          text not null,   -- the channel that sends with it
  spec          text not null,
  key           text not null,
  sealed        bytea not null,
  blocked_until bigint not null default 0,
  block_reason  text not null default '',
  block_streak  int not null default 0,
  created_at    bigint not null,
  unique (tenant, name)
);

create table campaign (
  id          bigint generated always as identity primary key,
  tenant      text not null,
  name        text not null,
  credential  bigint not null,
  spec        text not null,
  columns     text not null default '[]',
  state       text not null default 'draft'
              check (state in ('draft', 'scheduled', 'running', 'stopped', 'halted', 'cancelled', 'done')),
  reason      text not null default '',
  halts       int not null default 1,
  start_at    bigint not null default 0,
  place       bigint not null default 0,   -- up to this n all unsent recipients are in campaign_op
  last_n      bigint not null default 0,
  total       bigint not null default 0,
  sent        bigint not null default 0,
  failed      bigint not null default 0,
  uncertain   bigint not null default 0,
  undelivered bigint not null default 0,
  suppressed  bigint not null default 0,
  temporary   bigint not null default 0,   -- those of failed whose server said "later" until the last try
  created_at  bigint not null,
  started_at  bigint not null default 0,
  ended_at    bigint not null default 0,
  check (total >= sent + failed + uncertain + suppressed),
  unique (tenant, name)
) with (fillfactor = 30);

create table campaign_import (
  campaign_id bigint primary key,
  digest      text not null,
  columns     text not null,
  first_n     bigint not null,
  line        bigint not null,
  loaded      bigint not null,
  duplicates  bigint not null
);

-- Each page has room for another version of its rows: a result writes no index.
create table campaign_message (
  campaign_id bigint not null,
  n           bigint not null,
  line        int not null,
  recipient   text not null,
  fields      text not null,
  state       text not null default 'unsent'
              check (state in ('unsent', 'sent', 'failed', 'uncertain', 'suppressed')),
  tries       int not null default 0,
  provider_id text not null default '',
  error_code  text not null default '',
  sub_type    text not null default '',
  error       text not null default '',
  sent_at     bigint not null default 0,
  answered_at bigint not null default 0,
  status      text not null default '',
  status_at   bigint not null default 0,
  temporary   int not null default 0,   -- 1: it failed, and its server said "later" until the last try
  primary key (campaign_id, n)
) with (fillfactor = 60);
create unique index campaign_recipient on campaign_message (campaign_id, recipient);

create table job (
  id          bigint generated always as identity primary key,
  campaign_id bigint not null,
  state       text not null default 'READY'
              check (state in ('READY', 'ENQUEUED', 'SENDING', 'SENT', 'STOPPED', 'LOGGED')),
  owner       bigint,
  epoch       bigint not null default 0,
  lease_until bigint not null default 0,
  created_at  bigint not null,
  check (owner is null or state not in ('SENT', 'LOGGED'))
) with (fillfactor = 30);
create index job_of_campaign on job (campaign_id);

create table campaign_op (
  campaign_id bigint not null,
  n           bigint not null,
  job_id      bigint not null,
  state       text not null default 'queued' check (state in ('queued', 'intent')),
  tries       int not null,
  intent_at   bigint not null default 0,
  due         bigint not null default 0,   -- after a temporary answer: not before
  deferred    int not null default 0,   -- temporary answers
  primary key (campaign_id, n)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
create index campaign_op_job on campaign_op (job_id, n);
