-- The timetables, of programs (`code`) or made at run time: up to when each has been decided, and what became of its ticks.
-- Without a cron line it comes every so often. look_at: when a made one has to be looked at.

create table schedule (
  tenant     text not null,
  name       text collate "C" not null,
  origin     text not null check (origin in ('code', 'made')),
  cron       text not null,
  tz         text not null,
  every_ms   bigint not null,
  start_at   bigint not null,
  decided_to bigint not null,
  queue      text not null,
  body       bytea not null,
  is_bytes   boolean not null,
  missed     text not null check (missed in ('latest', 'all', 'skip')),
  paused     boolean not null,
  look_at    bigint not null,
  version    bigint not null,
  changed_at bigint not null,
  error      text not null,
  check ((cron = '') = (every_ms > 0)),
  check (not paused or look_at = 4611686018427387904),
  primary key (tenant, name)
);
create index schedule_look on schedule (look_at);

create table tick (
  tenant     text not null,
  schedule   text not null,
  at         bigint not null,
  fate       text not null check (fate in ('sent', 'skipped')),
  message_id bigint not null,
  decided_at bigint not null,
  check ((fate = 'sent') = (message_id > 0)),
  primary key (tenant, schedule, at)
);
create index tick_age on tick (decided_at);
