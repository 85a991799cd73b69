-- The timetables, and what became of their ticks.

-- A timetable, of a program (`code`) or made at run time, and up to when its ticks are decided: the row that
-- engines race for. Without a cron line it comes every so often. `look_at`: when a made one has to be looked at.
create table schedule (
  tenant     text not null,
  name       text not null,
  origin     text not null check (origin in ('code', 'made')),
  cron       text not null,
  tz         text not null,
  every_ms   integer not null,
  start_at   integer not null,
  decided_to integer not null,
  queue      text not null,
  body       blob not null,
  is_bytes   integer not null,
  missed     text not null check (missed in ('latest', 'all', 'skip')),
  paused     integer not null,
  look_at    integer not null,
  version    integer not null,
  changed_at integer not null,
  error      text not null,
  check ((cron = '') = (every_ms > 0)),
  check (paused = 0 or look_at = 4611686018427387904),
  primary key (tenant, name)
) strict, without rowid;
create index schedule_look on schedule (look_at);

-- A tick: it was sent as a message, or skipped.
create table tick (
  tenant     text not null,
  schedule   text not null,
  at         integer not null,
  fate       text not null check (fate in ('sent', 'skipped')),
  message_id integer not null,
  decided_at integer not null,
  check ((fate = 'sent') = (message_id > 0)),
  primary key (tenant, schedule, at)
) strict, without rowid;
create index tick_age on tick (decided_at);
