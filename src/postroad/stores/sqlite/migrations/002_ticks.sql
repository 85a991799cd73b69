-- The timetables: how far each is decided, and what became of its ticks.

create table schedule (
  name       text primary key,
  cron       text not null,
  tz         text not null,
  decided_to integer not null
) strict, without rowid;

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
