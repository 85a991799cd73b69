-- What is known of messages that a broker holds, where this database is the broker's state store.

-- hop: copies of the message up to this number are spent; the delivery of one is dropped. starts: tries
-- that were noted before they began and have not ended. done: no copy is under way. The other columns say
-- where the live copy waits. A message that was delivered by its first try has no row.
create table broker_message (
  id          bigint primary key,
  hop         bigint not null,
  starts      int not null default 0,
  done        int not null default 0,
  queue_id    bigint not null,
  lane_id     bigint not null,
  level       int not null,
  priority    int not null,
  attempts    int not null,
  due         bigint not null,
  accepted_at bigint not null,
  expires_at  bigint not null,
  noted_at    bigint not null
) with (fillfactor = 80);
create index broker_waiting on broker_message (queue_id, id) where done = 0;
create index broker_done on broker_message (noted_at) where done = 1;
