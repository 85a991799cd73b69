-- The timetables: up to when each has been decided, and what became of its ticks.

create table schedule (
  name       text primary key,
  cron       text not null,
  tz         text not null,
  decided_to bigint not null
);

create table tick (
  schedule   text not null,
  at         bigint not null,
  fate       text not null check (fate in ('sent', 'skipped')),
  message_id bigint not null,
  decided_at bigint not null,
  check ((fate = 'sent') = (message_id > 0)),
  primary key (schedule, at)
);
create index tick_age on tick (decided_at);
