-- Queues that nobody used for long are deleted, with their rungs and the lanes that served nobody else.

-- Since when a queue is seen unused, and how often its rungs had been woken then.
create table unused_queue (
  queue_id integer primary key,
  since    integer not null,
  look     text not null
) strict;

-- How far the walk is, and when the next one may begin; the highest numbers that were deleted: no number
-- is given twice, since senders and finished work may still speak of its first holder.
create table queue_walk (
  one      integer primary key check (one = 1),
  after_id integer not null,
  next_at  integer not null,
  queue    integer not null,
  lane     integer not null,
  rung     integer not null
) strict;
insert into queue_walk values (1, 0, 0, 0, 0, 0);
