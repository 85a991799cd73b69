-- The schedules, and what became of their ticks.

-- A schedule, and up to when its ticks are decided: the row that engines race for.
create table schedule (
  name       text primary key,
  cron       text not null,
  tz         text not null,
  decided_to integer not null
) strict, without rowid;

-- A tick: it was sent as a message, or skipped.
create table tick (
  schedule   text not null,
  at         integer not null,
  fate       text not null check (fate in ('sent', 'skipped')),
  message_id integer not null,
  decided_at integer not null,
  check ((fate = 'sent') = (message_id > 0)),
  primary key (schedule, at)
) strict, without rowid;
create index tick_age on tick (decided_at);
