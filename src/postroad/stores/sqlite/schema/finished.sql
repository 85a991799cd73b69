-- Where finished messages go.

-- A delivered or cancelled message, without its body.
create table history (
  id          integer primary key,
  queue_id    integer not null,
  state       text not null check (state in ('delivered', 'cancelled')),
  late        integer not null default 0,
  accepted_at integer not null,
  finished_at integer not null,
  level       integer not null,
  attempts    integer not null,
  took_ms     integer not null
) strict;

-- A dead message with its reason, its body, and everything else that a replay needs.
create table dead (
  id          integer primary key,
  queue_id    integer not null,
  lane_id     integer not null,
  reason      text not null check (reason in ('rejected', 'exhausted', 'expired', 'expired_quota',
                                              'expired_unreachable', 'expired_held', 'excess_held',
                                              'crash_loop')),
  died_at     integer not null,
  level       integer not null,
  attempts    integer not null,
  accepted_at integer not null,
  priority    integer not null,
  order_group        integer not null,
  order_key   text not null,
  error       text not null,
  status      integer not null,
  headers     blob not null,
  body        blob not null
) strict;
create index dead_queue on dead (queue_id, id);
create index dead_queue_died on dead (queue_id, died_at, id);
create index dead_died on dead (died_at, id, queue_id, reason);
