-- What is known about messages that a broker holds, where this database is the state store beside it.

-- hop: copies of the message up to this one are used up, and a delivery of one is dropped. starts:
-- starts that were noted and have not ended. done: no copy is under way. The other columns tell where
-- the live copy waits. A message that was sent and delivered at once has no row.
create table broker_message (
  id          integer primary key,
  hop         integer not null,
  starts      integer not null default 0,
  done        integer not null default 0,
  queue_id    integer not null,
  lane_id     integer not null,
  level       integer not null,
  priority    integer not null,
  attempts    integer not null,
  due         integer not null,
  accepted_at integer not null,
  expires_at  integer not null,
  noted_at    integer not null
) strict;
create index broker_waiting on broker_message (queue_id, id) where done = 0;
create index broker_done on broker_message (noted_at) where done = 1;
